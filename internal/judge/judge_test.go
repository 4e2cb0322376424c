package judge

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"iocause/internal/diagnose"
)

func TestTidyLeavesNothingThatJSONCannotHold(t *testing.T) {
	r := &diagnose.Report{
		Gaps: []string{"twice", "twice"},
		Findings: []diagnose.Finding{{Cause: "x", Evidence: []diagnose.Evidence{
			{Name: "good", Value: 1}, {Name: "bad", Value: math.NaN()}, {Name: "worse", Value: math.Inf(1)},
		}}},
	}
	Tidy(r)
	if e := r.Findings[0].Evidence; len(e) != 1 || e[0].Name != "good" {
		t.Errorf("evidence %v", e)
	}
	if len(r.Gaps) != 3 || !strings.HasPrefix(r.Gaps[1], "bad, evidence of x") {
		t.Errorf("gaps %q", r.Gaps)
	}
	out, err := json.Marshal(r)
	if err != nil || strings.Contains(string(out), "null") {
		t.Errorf("%v: %s", err, out)
	}
}
