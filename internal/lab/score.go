package lab

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Score is what `iocause lab score` has counted, and where.
type Score struct {
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // all in all
	Repeat  int       `json:"repeat"`
	Kernel  string    `json:"kernel,omitempty"`
	CPUs    int       `json:"cpus,omitempty"`
	CPU     string    `json:"cpu_model,omitempty"`
	Memory  uint64    `json:"memory_bytes,omitempty"`
	Runs    []Scored  `json:"runs"`
	Tally   *Tally    `json:"tally"`
}

// Scored is how one run of a scenario ended.
type Scored struct {
	Scenario string   `json:"scenario"`
	Want     []string `json:"want"` // any of these is right
	Got      string   `json:"got"`  // the primary cause; "" when it could not be run
	Healthy  bool     `json:"healthy"`
	Asked    bool     `json:"culprit_asked"`
	Culprit  []string `json:"culprit_wrong,omitempty"` // what is not right about it
	Wrong    []string `json:"wrong,omitempty"`         // what is not right about the causes
	Unreal   []string `json:"unreal,omitempty"`        // how the situation did not come about
	Failed   string   `json:"failed,omitempty"`        // why it could not be run
	Skipped  string   `json:"skipped,omitempty"`       // what this host lacks for it
	Kernel   string   `json:"kernel,omitempty"`        // of a virtual machine
	// Report is what iocause diagnose printed, where that is not right.
	Report  json.RawMessage `json:"report,omitempty"`
	Seconds float64         `json:"verdict_seconds"` // from the start of the diagnosis to its verdict
}

// healthy is the verdict where nothing is wrong.
const healthy = "healthy"

// Score is one run of a scenario as a line of the account. What went wrong
// with running it is err.
func (s *Scenario) Score(out *Outcome, err error) Scored {
	x := Scored{
		Scenario: s.Name, Want: s.Expect.Primary, Asked: len(s.Expect.Culprit) > 0,
		Healthy: slices.Contains(s.Expect.Primary, healthy),
	}
	if err != nil {
		x.Failed = err.Error()
		return x
	}
	x.Got, x.Wrong, x.Culprit, x.Unreal, x.Seconds = out.Verdict.Primary, out.Wrong, out.Culprit, out.Unreal, out.Looked.Seconds()
	if len(x.Wrong)+len(x.Culprit)+len(x.Unreal) > 0 && json.Valid(out.Report) {
		x.Report = out.Report
	}
	return x
}

// Right tells whether the primary cause is one of those that are true.
func (s *Scored) Right() bool { return s.Got != "" && slices.Contains(s.Want, s.Got) }

// counts tells whether a run says anything about the verdicts: the situation
// was there, and iocause looked at it.
func (s *Scored) counts() bool { return s.Skipped == "" && s.Failed == "" && len(s.Unreal) == 0 }

// Share is a part of a number of runs.
type Share struct {
	Part int `json:"part"`
	Of   int `json:"of"`
}

// Ratio is 0 to 1, and false when there is nothing to divide by.
func (s Share) Ratio() (float64, bool) {
	if s.Of == 0 {
		return 0, false
	}
	return float64(s.Part) / float64(s.Of), true
}

// Tally is the account of all runs.
type Tally struct {
	Primary   Share        `json:"primary"`                          // runs with a right primary cause
	Culprits  Share        `json:"culprit"`                          // runs with a right culprit, of those that ask for one
	Alarms    Share        `json:"false_alarms"`                     // healthy runs with a cause
	Unreal    int          `json:"unreal"`                           // runs whose situation did not come about: in no other figure
	Failed    int          `json:"failed"`                           // runs that could not be run: in no other figure
	Skipped   int          `json:"skipped"`                          // scenarios that this host cannot run
	Seconds   float64      `json:"median_verdict_seconds,omitempty"` // of the runs that count
	Causes    []CauseTally `json:"causes"`
	Confusion []Confused   `json:"confusion"` // every pair that occurred, right ones included
}

// CauseTally is how often one cause was named, and how often that was right.
// A scenario that allows several causes stands under the first of them.
type CauseTally struct {
	Cause     string `json:"cause"`
	Precision Share  `json:"precision"` // of the runs that named it, those in which it is true
	Recall    Share  `json:"recall"`    // of the runs in which it is true, those that named it (or another true one)
}

// Confused is how often one cause was named where another is the true one.
type Confused struct {
	Want string `json:"want"`
	Got  string `json:"got"`
	Runs int    `json:"runs"`
}

// NewTally counts runs.
func NewTally(runs []Scored) *Tally {
	t := &Tally{Causes: []CauseTally{}, Confusion: []Confused{}}
	causes, pairs := map[string]*CauseTally{}, map[[2]string]int{}
	cause := func(id string) *CauseTally {
		if causes[id] == nil {
			causes[id] = &CauseTally{Cause: id}
		}
		return causes[id]
	}
	var seconds []float64
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Skipped != "":
			t.Skipped++
		case r.Failed != "":
			t.Failed++
		case len(r.Unreal) > 0:
			t.Unreal++
		}
		if !r.counts() {
			continue
		}
		right := r.Right()
		want := r.Want[0]
		if right {
			want = r.Got
		}
		t.Primary.add(right)
		if r.Asked {
			t.Culprits.add(len(r.Culprit) == 0)
		}
		if r.Healthy {
			t.Alarms.add(!right)
		}
		cause(want).Recall.add(right)
		cause(r.Got).Precision.add(right)
		pairs[[2]string{want, r.Got}]++
		seconds = append(seconds, r.Seconds)
	}
	if len(seconds) > 0 {
		slices.Sort(seconds)
		t.Seconds = seconds[len(seconds)/2]
	}
	for _, id := range slices.Sorted(maps.Keys(causes)) {
		t.Causes = append(t.Causes, *causes[id])
	}
	for pair, n := range pairs {
		t.Confusion = append(t.Confusion, Confused{pair[0], pair[1], n})
	}
	slices.SortFunc(t.Confusion, func(a, b Confused) int {
		return cmp.Or(cmp.Compare(a.Want, b.Want), cmp.Compare(a.Got, b.Got))
	})
	return t
}

func (s *Share) add(yes bool) {
	s.Of++
	if yes {
		s.Part++
	}
}

// Ended is how a run ended in one word, and what is to be said of that.
func (s *Scored) Ended() (ended string, why []string) {
	why = append(append([]string{}, s.Wrong...), s.Culprit...)
	switch {
	case s.Skipped != "":
		return "skipped", []string{s.Skipped}
	case s.Failed != "":
		return "failed", []string{s.Failed}
	case len(s.Unreal) > 0:
		return "unreal", s.Unreal
	case !s.Right():
		return "WRONG", why
	case len(why) > 0:
		return "partly", why
	}
	return "right", nil
}
