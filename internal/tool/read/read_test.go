package read

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/parse"
	"iocause/internal/sample"
)

// reading is a case of ten seconds in which a disk answered so many reads in so long.
func reading(primary diagnose.ID, reads, seconds, cold float64) Case {
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	sda := sample.Entity{Device: "sda"}
	r.Put(sample.DiskReads, sda, reads, "f:1")
	r.Put(sample.DiskReadTime, sda, seconds, "f:1")
	r.Put(sample.DiskBusy, sda, 8, "f:2")
	r.Put(sample.DiskBusy, sample.Entity{Device: "aaa"}, 3, "f:3")
	r.Put(sample.CacheAccesses, sample.Entity{}, 100, "f:4")
	r.Put(sample.CacheMisses, sample.Entity{}, cold, "f:4")
	w := r.Window(time.Unix(1700000010, 0))
	return Case{&parse.Case{Window: w, Blocks: []*parse.Block{{Tool: "iostat", File: "f", First: 1, Last: 4}}},
		&diagnose.Report{Primary: primary}}
}

func TestFigures(t *testing.T) {
	c := reading("x", 40, 2, 25)
	by := map[string]Figure{}
	for _, f := range c.Figures() {
		by[f.Key] = f
	}
	for key, want := range map[string]float64{"hit_ratio": 0.75, "read_latency": 0.05, "busy": 0.8} {
		if got, ok := by[key]; !ok || got.Value != want || got.Source == "" {
			t.Errorf("%s is %+v, want %g", key, got, want)
		}
	}
	if _, ok := by["write_latency"]; ok {
		t.Error("the latency of no write")
	}
}

func TestCasesBesideEachOther(t *testing.T) {
	all := []Case{reading("a", 40, 2, 25), reading("b", 40, 8, 25)}
	cases, difference := CasesTable(all), DifferenceTable(&all[0], &all[1])
	if len(cases.Rows) != 2 || cases.Rows[1][3].Text != "b" || cases.Rows[0][1].Text != "1-4" {
		t.Errorf("%+v", cases.Rows)
	}
	if len(difference.Rows) != 1 || difference.Rows[0][0].Text != "latency of a read" {
		t.Errorf("%+v", difference.Rows)
	}
}

// Lists are never null.
func TestDocument(t *testing.T) {
	empty := Case{&parse.Case{Window: sample.NewRecorder(time.Unix(0, 0)).Window(time.Unix(1, 0))}, &diagnose.Report{}}
	texts := []*parse.Text{{File: "f", Lines: 3, Blocks: []*parse.Block{{Tool: "dd", File: "f", First: 2, Last: 2}}}}
	b, err := json.Marshal(NewDocument(texts, []Case{empty}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"figures":[]`, `"outputs":[]`, `"faults":[]`, `"notes":[]`, `"first_line":2`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	if rows := OutputsTable(texts).Rows; len(rows) != 1 || rows[0][2].Text != "2" {
		t.Errorf("%+v", rows)
	}
}
