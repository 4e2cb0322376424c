package lab

import (
	"errors"
	"fmt"
	"slices"

	"iocause/internal/lab/load"
)

// Check holds the outcome of an experiment to what must be so on any machine. It
// has one condition.
type Check struct {
	Phase   string    `yaml:"phase"`
	Against string    `yaml:"against"` // another phase
	Rate    Condition `yaml:"rate"`    // its calls a second by those of the other
	// Faster is how many times as fast its median call is: others on the machine,
	// who may take the processor away now and then, have no part in that.
	Faster  Condition `yaml:"faster"`
	Because string    `yaml:"because"`
}

// Checked is the answer.
type Checked struct {
	Phase     string  `json:"phase"`
	Against   string  `json:"against"`
	Of        string  `json:"of"` // "rate" or "median call"
	Value     float64 `json:"ratio"`
	Condition string  `json:"condition"`
	Because   string  `json:"because,omitempty"`
	Measured  bool    `json:"measured"` // false: a phase is missing, and Value says nothing
	Holds     bool    `json:"holds"`
}

// check refuses a check of what is not measured.
func (c *Check) check(phases []Phase) error {
	for _, name := range []string{c.Phase, c.Against} {
		if !slices.ContainsFunc(phases, func(p Phase) bool { return p.Name == name }) {
			return fmt.Errorf("there is no phase %q", name)
		}
	}
	if (c.Rate == Condition{}) == (c.Faster == Condition{}) {
		return errors.New(`it needs either a rate or a faster, such as "> 100"`)
	}
	return nil
}

// Verify holds what was measured to the experiment's checks: of each phase the
// median, over the repeats, of its first load's figure.
func (x *Experiment) Verify(results []PhaseResult) []Checked {
	all := []Checked{}
	for _, c := range x.Checks {
		a, is := Checked{Phase: c.Phase, Against: c.Against, Of: "rate", Because: c.Because}, c.Rate
		figure := (*load.Result).Rate
		if c.Faster != (Condition{}) {
			a.Of, is = "median call", c.Faster
			figure = func(r *load.Result) float64 { return 1 / max(r.P50, 1e-9) }
		}
		a.Condition = is.String()
		one, other := x.median(c.Phase, results, figure), x.median(c.Against, results, figure)
		if one > 0 && other > 0 {
			a.Value, a.Measured, a.Holds = one/other, true, is.holds(one/other)
		}
		all = append(all, a)
	}
	return all
}

// median is 0 for a phase that was not measured.
func (x *Experiment) median(phase string, results []PhaseResult, figure func(*load.Result) float64) float64 {
	at := slices.IndexFunc(x.Phases, func(p Phase) bool { return p.Name == phase })
	var all []float64
	for i := range results {
		if l := results[i].Loads[x.Phases[at].Loads[0].Name]; results[i].Phase == phase && l != nil && l.Calls > 0 {
			all = append(all, figure(l))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[len(all)/2] + all[(len(all)-1)/2]) / 2
}
