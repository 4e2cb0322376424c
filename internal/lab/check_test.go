package lab

import (
	"math"
	"strings"
	"testing"

	"iocause/internal/lab/load"
)

func TestVerify(t *testing.T) {
	x, err := ParseExperiment("x.yaml", []byte(goodExperiment+`  - name: two
    loads: [{name: l, do: {kind: randread, path: "{data}"}}]
checks:
  - {phase: two, against: one, rate: "> 100", because: it fits}
  - {phase: one, against: two, rate: "< 0.001"}
  - {phase: two, against: one, faster: "> 90"}
`))
	if err != nil {
		t.Fatal(err)
	}
	var results []PhaseResult
	for i, rates := range [][2]int64{{10, 2000}, {30, 9000}, {20, 2400}} {
		for k, name := range []string{"one", "two"} {
			results = append(results, PhaseResult{Phase: name, Repeat: i + 1, Loads: map[string]*load.Result{
				"l": {Calls: rates[k], Seconds: 1, P50: []float64{4e-4, 4e-6}[k]},
			}})
		}
	}
	got := x.Verify(results)
	got[2].Value = math.Round(got[2].Value)
	for i, want := range []Checked{
		{"two", "one", "rate", 120, "> 100", "it fits", true, true},
		{"one", "two", "rate", 20. / 2400, "< 0.001", "", true, false},
		{"two", "one", "median call", 100, "> 90", "", true, true},
	} {
		if got[i] != want {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
	for _, c := range x.Verify(results[:1]) {
		if c.Measured || c.Holds || c.Value != 0 {
			t.Errorf("of one phase alone: %+v", c)
		}
	}
	for _, c := range []struct{ check, says string }{
		{`{phase: three, against: one, rate: "> 1"}`, `x.yaml:11: checks: there is no phase "three"`},
		{`{phase: one, rate: "> 1"}`, `x.yaml:11: checks: there is no phase ""`},
		{`{phase: one, against: one}`, `x.yaml:11: checks: it needs either`},
		{`{phase: one, against: one, rate: "> 1", faster: "> 1"}`, `x.yaml:11: checks: it needs either`},
		{`{phase: one, against: one, rate: "about 5"}`, "is not a condition"},
	} {
		if _, err := ParseExperiment("x.yaml", []byte(goodExperiment+"checks:\n  - "+c.check)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.check, err, c.says)
		}
	}
}
