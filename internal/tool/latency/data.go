// Package latency answers what the time of system calls is made of: observed,
// kept with an incident, and as tables.
package latency

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
)

// Calls is what processes spent in system calls in an interval. Its JSON is
// what an incident keeps; times are in nanoseconds there.
type Calls struct {
	Version    int            `json:"version"`
	Begin      time.Time      `json:"begin"`
	Length     time.Duration  `json:"length_ns"`
	Slow       time.Duration  `json:"slow_ns"`  // calls from this length on have stacks; 0: none has
	Without    []string       `json:"left_out"` // calls that were not looked at
	Calls      []probe.Call   `json:"calls"`
	Frames     []sample.Frame `json:"frames"`      // of the stacks; in JSON only
	Notes      []string       `json:"notes"`       // what is missing
	StackNotes []string       `json:"stack_notes"` // what is missing of the stacks
	Left       int            `json:"calls_left"`  // rows that are not here: those with less time

	names *slowNames  // of the stacks that have none yet; nil: all have
	rows  map[row]int // places in Calls, once something was added
}

// row is one call of one process.
type row struct{ pid, number int }

// MarshalJSON writes each function of the stacks once.
func (c *Calls) MarshalJSON() ([]byte, error) {
	type plain Calls
	out := plain(*c)
	var frames sample.FrameList
	for i := range out.Calls {
		for j := range out.Calls[i].Slowest {
			s := &out.Calls[i].Slowest[j]
			s.Places = frames.Places(s.Stack)
		}
	}
	out.Frames = frames.All
	return json.Marshal(&out)
}

// UnmarshalJSON gives the slow calls their stacks back.
func (c *Calls) UnmarshalJSON(b []byte) error {
	type plain Calls
	if err := json.Unmarshal(b, (*plain)(c)); err != nil {
		return err
	}
	stack := sample.StacksOf(c.Frames)
	for i := range c.Calls {
		of := &c.Calls[i]
		for j := range of.Slowest {
			s := &of.Slowest[j]
			s.PID, s.Number, s.Stack = of.PID, of.Number, stack(s.Places)
		}
	}
	return nil
}

// Filter narrows what is shown. Empty fields narrow nothing.
type Filter struct {
	PID   int
	Comm  string
	Calls []string      // names or numbers
	Slow  time.Duration // only stacks of calls that took so long
}

// Keep leaves out the calls that are not asked for.
func (c *Calls) Keep(f *Filter) {
	c.Calls = slices.DeleteFunc(c.Calls, func(of probe.Call) bool {
		return f.PID != 0 && of.PID != f.PID || f.Comm != "" && string(of.Process) != f.Comm ||
			f.Calls != nil && !slices.Contains(f.Calls, of.Name) && !slices.Contains(f.Calls, strconv.Itoa(of.Number))
	})
	for i := range c.Calls {
		of := &c.Calls[i]
		of.Slowest = slices.DeleteFunc(of.Slowest, func(s probe.SlowCall) bool { return s.Wall < f.Slow })
	}
}

// Add adds what another interval saw.
func (c *Calls) Add(o *Calls) {
	if c.rows == nil {
		c.rows = map[row]int{}
	}
	c.names = o.names
	for i := range o.Calls {
		of := o.Calls[i]
		at, ok := c.rows[row{of.PID, of.Number}]
		if ok {
			c.Calls[at].Add(&of)
			continue
		}
		c.rows[row{of.PID, of.Number}] = len(c.Calls)
		c.Calls = append(c.Calls, of)
	}
}

// without are the names of the calls that wait for something to happen:
// probe.DefaultCalls has all others.
func without() []string {
	names := probe.CallNames()
	for _, nr := range probe.DefaultCalls() {
		delete(names, nr)
	}
	return slices.Sorted(maps.Values(names))
}
