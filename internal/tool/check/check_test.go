package check

import (
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
