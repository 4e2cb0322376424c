// Package profile answers in which code threads wait or run: observed, kept
// with an incident, and as a table.
package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/table"
)

// Profile is where threads spent their time. Its JSON is what an incident
// keeps; times are in nanoseconds there.
type Profile struct {
	Version int            `json:"version"`
	Of      sample.RawName `json:"of"` // processes of this name alone; "" for all
	sample.Profile
	Sampling *Sampling `json:"sampling,omitempty"` // nil: every wait was measured
}

// form is how a Profile is written: each function of its stacks once.
type form struct {
	*fields
	Frames []sample.Frame `json:"frames"`
	Stacks []stackForm    `json:"stacks"`
}

type fields Profile

// stackForm is how a stack is written.
type stackForm struct {
	sample.Stack
	Process sample.RawName `json:"process"`
	Thread  sample.RawName `json:"thread"`
	Frames  []int          `json:"frames"` // places in frames, the outermost first
}

// MarshalJSON implements json.Marshaler.
func (p *Profile) MarshalJSON() ([]byte, error) {
	out := form{fields: (*fields)(p)}
	var frames sample.FrameList
	for _, s := range p.Stacks {
		out.Stacks = append(out.Stacks, stackForm{s, sample.RawName(s.Process), sample.RawName(s.Thread), frames.Places(s.Frames)})
	}
	out.Frames = frames.All
	return json.Marshal(&out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Profile) UnmarshalJSON(b []byte) error {
	in := form{fields: (*fields)(p)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	stack := sample.StacksOf(in.Frames)
	p.Stacks = nil
	for _, s := range in.Stacks {
		s.Stack.Process, s.Stack.Thread, s.Stack.Frames = string(s.Process), string(s.Thread), stack(s.Frames)
		p.Stacks = append(p.Stacks, s.Stack)
	}
	return nil
}

// Filter narrows what is shown. Empty fields narrow nothing.
type Filter struct {
	PID  int
	Comm string // of the process or of the thread
}

// Keep leaves out the stacks of others.
func (p *Profile) Keep(f *Filter) {
	p.Stacks = slices.DeleteFunc(p.Stacks, func(s sample.Stack) bool {
		return f.PID != 0 && s.PID != f.PID || f.Comm != "" && s.Process != f.Comm && s.Thread != f.Comm
	})
}

// Only leaves out the stacks of other states. The note says how the rest was
// sampled, or how much was left out; "" for nothing.
func (p *Profile) Only(states map[string]bool) (note string) {
	left := map[string]time.Duration{}
	p.Stacks = slices.DeleteFunc(p.Stacks, func(s sample.Stack) bool {
		if states[s.State] {
			return false
		}
		left[s.State] += s.Time
		return true
	})
	for _, state := range stacks.States() {
		if slices.ContainsFunc(p.Stacks, func(s sample.Stack) bool { return s.State == string(state) }) {
			p.States = append(p.States, string(state))
		}
	}
	if p.Sampling != nil {
		return p.Sampling.note(&p.Profile)
	}
	return leftOut(left)
}

// Replay makes of what an incident keeps what is asked for: the stacks of some, in some
// states. It fails where none was taken of them.
func (p *Profile) Replay(f *Filter, states map[string]bool) error {
	of := "all processes"
	if p.Of != "" {
		of = fmt.Sprintf("%q", string(p.Of))
		p.Notes = append([]string{fmt.Sprintf("stacks were taken of %s alone, the one that waited most", of)}, p.Notes...)
	}
	all := len(p.Stacks)
	p.Keep(f)
	if len(p.Stacks) == 0 && all > 0 {
		return fmt.Errorf("no stack was taken of the selected processes; of %s there are %d", of, all)
	}
	if note := p.Only(states); note != "" {
		p.Notes = append(p.Notes, note)
	}
	return nil
}

// leftOut says what was left out, largest first.
func leftOut(left map[string]time.Duration) string {
	states := slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(cmp.Compare(left[b], left[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, state := range states {
		parts = append(parts, state+" "+table.Duration(left[state].Seconds()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left out: " + strings.Join(parts, ", ") + "; --state all shows all"
}
