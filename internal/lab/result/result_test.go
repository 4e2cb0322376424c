package result

import (
	"testing"
	"time"

	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/table"
)

func TestSummary(t *testing.T) {
	x := &lab.Experiment{Title: "t", Phases: []lab.Phase{
		{Name: "a", Duration: time.Second, Loads: []lab.Load{{Name: "l"}}, Before: &lab.Reference{Rate: 7, By: "somebody"}},
		{Name: "never", Loads: []lab.Load{{Name: "l"}}},
	}}
	r := &Result{}
	for i, calls := range []int64{30, 10, 20, 40} {
		r.Phases = append(r.Phases, lab.PhaseResult{Phase: "a", Repeat: i + 1, Primary: []string{"x", "x", "y", "x"}[i],
			Loads: map[string]*load.Result{"l": {Calls: calls, Seconds: 1}}})
	}
	shown := r.Summary(x)
	if len(shown.Rows) != 1 || len(shown.Notes) != 1 {
		t.Fatalf("%+v", shown)
	}
	row := shown.Rows[0]
	if row[2].Number != 25 || row[3].Number != 10 || row[4].Number != 40 || row[7] != table.Num(7) || row[8].Text != "x, y" {
		t.Errorf("%+v", row)
	}
}
