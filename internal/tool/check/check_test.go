package check

import (
	"slices"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

func TestCheckVerdictsNeedOneOfEach(t *testing.T) {
	causes := []diagnose.Cause{{ID: "x", Needs: [][]sample.Metric{{"a", "b"}, {"c"}}}}
	for _, c := range []struct {
		has     []sample.Metric
		missing string
	}{
		{[]sample.Metric{"a", "c"}, ""},
		{[]sample.Metric{"b", "c"}, ""},
		{[]sample.Metric{"c"}, "a or b"},
		{[]sample.Metric{"a", "b"}, "c"},
		{nil, "a or b,c"},
	} {
		has := map[sample.Metric]bool{}
		for _, m := range c.has {
			has[m] = true
		}
		v := verdicts(causes, has)[0]
		if got := strings.Join(v.Missing, ","); got != c.missing || v.Possible != (c.missing == "") {
			t.Errorf("with %v: %+v, want missing %q", c.has, v, c.missing)
		}
	}
}

func TestCheckSaysWhatALackCosts(t *testing.T) {
	causes := []diagnose.Cause{
		{ID: "alone", Needs: [][]sample.Metric{{"a"}, {"z"}}},
		{ID: "either", Needs: [][]sample.Metric{{"a", "b"}}},
		{ID: "other", Needs: [][]sample.Metric{{"b"}}},
		{ID: "elsewhere", Needs: [][]sample.Metric{{"y"}}}, // the lack of another source
	}
	has := map[sample.Metric]bool{"b": true, "z": true}
	impossible, replaced := costs(causes, []sample.Metric{"a", "b"}, has)
	if !slices.Equal(impossible, []diagnose.ID{"alone"}) || !slices.Equal(replaced, []diagnose.ID{"either"}) {
		t.Errorf("costs %v, replaced %v", impossible, replaced)
	}
}
