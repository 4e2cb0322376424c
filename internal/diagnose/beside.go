package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// Other is a program beside the victim that is held up enough to matter.
type Other struct {
	Waiter     Waiter  `json:"waiter"`
	Cause      ID      `json:"cause"` // "cannot-tell" where none could be shown
	Title      string  `json:"title"`
	Confidence float64 `json:"confidence"`
	Weight     float64 `json:"weight"` // share of its own waiting that the cause explains, 0 to 1
	Culprit    Culprit `json:"culprit"`
}

// mostOthers bounds how many victims are judged beside the first one: each costs
// as much as the first.
const mostOthers = 3

// beside adds to a report who else waits, and what for.
func (c *Case) beside(r *Report) {
	r.Waiters = c.waiters()
	if r.Victim.PID != 0 {
		w := c.waiter(&c.victim)
		r.VictimWaits = &w
	}
	if c.w.Told || r.Primary == Healthy {
		return
	}
	if c.held() {
		r.When, r.Calls, r.Operations, r.Layers = c.when(), c.calls(), c.operations(), c.layers()
	}
	if holdsMemory(r.Primary) {
		r.Memory = c.holders()
	}
	name := func(v *victim) program { return program{v.process.Comm, v.process.MemoryCgroup} }
	seen := map[program]bool{name(&c.victim): true}
	for i := range c.asked {
		v := &c.asked[i]
		if len(r.Others) == mostOthers || c.notable(v) == 0 {
			break
		}
		if v.pid == c.victim.pid || seen[name(v)] {
			continue
		}
		seen[name(v)] = true
		r.Others = append(r.Others, c.other(v))
	}
}

// other judges the same window for another victim.
func (c *Case) other(v *victim) Other {
	k := *c
	k.lookAt(*v)
	out := Other{Waiter: k.waiter(v), Cause: Unknown, Title: "no known cause could be shown"}
	if j := k.askAll(); len(j.found) > 0 {
		f := &j.found[0]
		out.Cause, out.Title, out.Confidence, out.Weight, out.Culprit = f.Cause, f.Title, f.Confidence, f.Weight, f.Culprit
	}
	return out
}

// title is the answer in one line.
func (c *Case) title(r *Report) string {
	switch {
	case len(r.Findings) > 0:
		return r.Findings[0].Title
	case c.held():
		return "something waits, but no known cause could be shown"
	case len(r.Doubts) > 0 && c.tasksKnown():
		return "no program was seen to wait long, but other figures show waiting"
	case len(r.Doubts) > 0:
		return "something may be waiting for I/O; which program is not known"
	case !c.w.Told && !c.tasksKnown() && (c.w.Has(sample.PSISome) || c.w.Has(sample.WaitSnapshots)):
		return fmt.Sprintf("no problem seen, %s unchecked", sample.Counted(len(r.CannotTell), "cause"))
	}
	return "too little was measured to name a cause or to rule all of them out"
}
