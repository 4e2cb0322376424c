package lab

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestTally(t *testing.T) {
	scenario := func(name, culprit string, want ...string) *Scenario {
		s := &Scenario{Name: name, Expect: Expect{Primary: want}}
		if culprit != "" {
			s.Expect.Culprit = map[string]string{"comm": culprit}
		}
		return s
	}
	outcome := func(got string, culprit ...string) *Outcome {
		return &Outcome{Verdict: Verdict{Primary: got}, Culprit: culprit, Looked: 5 * time.Second}
	}
	busy, idle, either := scenario("busy", "^a$", "cold-cache"), scenario("idle", "", "healthy"), scenario("either", "", "device-queueing", "device-bandwidth-limit")
	unreal := outcome("healthy")
	unreal.Unreal = []string{"no bytes were read"}
	x := NewTally([]Scored{
		busy.Score(outcome("cold-cache"), nil),
		busy.Score(outcome("cold-cache", `culprit's comm is "b"`), nil),
		busy.Score(outcome("cannot-tell", `culprit's comm is ""`), nil),
		busy.Score(nil, errors.New("no room")),
		busy.Score(unreal, nil),
		idle.Score(outcome("healthy"), nil),
		idle.Score(outcome("cold-cache"), nil),
		either.Score(outcome("device-bandwidth-limit"), nil),
		{Scenario: "vm", Want: []string{"healthy"}, Skipped: "no guest"},
	})
	if x.Primary != (Share{4, 6}) || x.Culprits != (Share{1, 3}) || x.Alarms != (Share{1, 2}) {
		t.Errorf("primary %v, culprits %v, alarms %v", x.Primary, x.Culprits, x.Alarms)
	}
	if x.Unreal != 1 || x.Failed != 1 || x.Skipped != 1 || x.Seconds != 5 {
		t.Errorf("%+v", x)
	}
	want := []CauseTally{
		{"cannot-tell", Share{0, 1}, Share{}},
		{"cold-cache", Share{2, 3}, Share{2, 3}},
		{"device-bandwidth-limit", Share{1, 1}, Share{1, 1}},
		{"healthy", Share{1, 1}, Share{1, 2}},
	}
	if !slices.Equal(x.Causes, want) {
		t.Errorf("causes %v", x.Causes)
	}
	if !slices.Equal(x.Confusion, []Confused{
		{"cold-cache", "cannot-tell", 1}, {"cold-cache", "cold-cache", 2},
		{"device-bandwidth-limit", "device-bandwidth-limit", 1},
		{"healthy", "cold-cache", 1}, {"healthy", "healthy", 1},
	}) {
		t.Errorf("confusion %v", x.Confusion)
	}
	if _, known := (Share{}).Ratio(); known {
		t.Error("nothing of nothing is no ratio")
	}
}
