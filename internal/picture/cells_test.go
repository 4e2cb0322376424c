package picture

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// Every I/O of the maps is in one cell, with the time and the latency that it had.
func TestCells(t *testing.T) {
	start := time.Unix(1700000000, 0).UTC()
	var ios []sample.IO
	for i := range 1301 { // a millisecond each
		ios = append(ios, sample.IO{Start: time.Duration(i) * time.Millisecond, Queue: -1, Device: time.Millisecond, Disk: "vda", PID: 1, Comm: "db", Bytes: 4096})
	}
	ios = append(ios, sample.IO{Queue: -1, Device: 70 * time.Millisecond, Disk: "vda", PID: 1, Comm: "db", Bytes: 4096})
	all := Cells([]*Set{Traced("Every I/O", "made", start, ios), taken(windows(3)).Set("course", Victim{})})
	var traced, slow, course float64
	for _, r := range all.Rows {
		begin, err := time.Parse(time.RFC3339Nano, r[0].Text)
		if err != nil {
			t.Fatal(err)
		}
		end, err := time.Parse(time.RFC3339Nano, r[1].Text)
		if err != nil || !end.After(begin) || begin.Before(start) || r[5].Number >= r[6].Number {
			t.Errorf("from %v to %v, %v to %v: %v", begin, end, r[5].Number, r[6].Number, err)
		}
		latency := 1e-3
		switch {
		case r[4].Text != "total":
			course += r[7].Number
		case r[5].Number > .05:
			slow, latency = slow+r[7].Number, 70e-3
			if at := start.Add(70 * time.Millisecond); at.Before(begin) || !at.Before(end) {
				t.Errorf("the slow one is in %v to %v", begin, end)
			}
		default:
			traced += r[7].Number
		}
		if latency < r[5].Number*(1-1e-9) || latency > r[6].Number*(1+1e-9) || r[2].Text != "vda" || r[3].Text != "read" {
			t.Errorf("%v in a cell of %v to %v: %+v", latency, r[5].Number, r[6].Number, r)
		}
	}
	if traced != 1301 || slow != 1 || course != 10+11+12 {
		t.Errorf("%v fast and %v slow of 1301 and 1, %v of the course's 33", traced, slow, course)
	}
}
