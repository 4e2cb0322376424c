package sample

import "time"

// Frame is one function of a call stack.
type Frame struct {
	Name   string // function, or module+offset where there is no symbol; any bytes
	Module string // file name of the program or library, "kernel", or ""
	File   string // path of the module; any bytes
	Kernel bool
	Note   bool // no function but a remark of ours, in brackets
}

// Stack is the time of one thread in one place.
type Stack struct {
	PID     int           `json:"pid"`
	Process string        `json:"-"` // any bytes
	TID     int           `json:"tid"`
	Thread  string        `json:"-"`     // any bytes
	State   string        `json:"state"` // what it waited for, or where it ran
	Frames  []*Frame      `json:"-"`     // outermost first; shared, not to be changed
	Time    time.Duration `json:"time_ns"`
	Count   uint64        `json:"count"` // waits, or samples
}

// Profile is where threads spent their time, by stack. Who writes it as JSON adds
// the stacks, with a FrameList.
type Profile struct {
	Title  string        `json:"-"`
	Counts string        `json:"counts"` // what Count counts: "waits", "samples"
	Unit   string        `json:"-"`      // the event that Count counts where there is no Time; else ""
	Begin  time.Time     `json:"begin"`
	Length time.Duration `json:"length_ns"`
	States []string      `json:"-"` // all that occur, in the order of legends
	Stacks []Stack       `json:"-"`
	Notes  []string      `json:"notes"` // what a reader must know: losses, gaps, caveats
}

// Total is the time of all stacks.
func (p *Profile) Total() time.Duration {
	var sum time.Duration
	for i := range p.Stacks {
		sum += p.Stacks[i].Time
	}
	return sum
}

// Weight is what a stack of the profile weighs: nanoseconds, or events where
// these were counted and no time.
func (p *Profile) Weight(s *Stack) int64 {
	if p.Unit != "" {
		const most = 1 << 62
		return int64(min(s.Count, most))
	}
	return s.Time.Nanoseconds()
}
