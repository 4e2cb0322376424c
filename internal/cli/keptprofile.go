package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
)

// keptProfile is where threads spent their time, as evidence.
type keptProfile struct {
	Version int            `json:"version"`
	Of      sample.RawName `json:"of"` // processes of this name alone; "" for all
	PID     int            `json:"pid,omitempty"`
	Counts  string         `json:"counts"`
	Begin   time.Time      `json:"begin"`
	Length  time.Duration  `json:"length_ns"`
	Rate    *sampling      `json:"sampling,omitempty"` // of samples
	Frames  []keptFrame    `json:"frames"`
	Stacks  []keptStack    `json:"stacks"`
	Notes   []string       `json:"notes"`
}

type keptFrame struct {
	Name   sample.RawName `json:"name"`
	Module sample.RawName `json:"module,omitempty"`
	File   sample.RawName `json:"file,omitempty"`
	Kernel bool           `json:"kernel,omitempty"`
	Note   bool           `json:"note,omitempty"`
}

// keptFrames gives functions their places in a list that has each once.
type keptFrames struct {
	all []keptFrame
	at  map[*sample.Frame]int
}

func (k *keptFrames) places(frames []*sample.Frame) []int {
	out := []int{}
	for _, f := range frames {
		at, ok := k.at[f]
		if !ok {
			if k.at == nil {
				k.at = map[*sample.Frame]int{}
			}
			at = len(k.all)
			k.at[f] = at
			k.all = append(k.all, keptFrame{sample.RawName(f.Name), sample.RawName(f.Module), sample.RawName(f.File), f.Kernel, f.Note})
		}
		out = append(out, at)
	}
	return out
}

// framesAt gives back the functions at places of a kept list. Places that are
// not there are left out: the file may be damaged.
func framesAt(all []keptFrame) func(places []int) []*sample.Frame {
	frames := make([]*sample.Frame, len(all))
	for i, f := range all {
		frames[i] = &sample.Frame{Name: string(f.Name), Module: string(f.Module), File: string(f.File), Kernel: f.Kernel, Note: f.Note}
	}
	return func(places []int) []*sample.Frame {
		var out []*sample.Frame
		for _, at := range places {
			if at >= 0 && at < len(frames) {
				out = append(out, frames[at])
			}
		}
		return out
	}
}

type keptStack struct {
	PID     int            `json:"pid"`
	Process sample.RawName `json:"process"`
	TID     int            `json:"tid"`
	Thread  sample.RawName `json:"thread"`
	State   string         `json:"state"`
	Frames  []int          `json:"frames"` // places in frames, the outermost first
	Time    time.Duration  `json:"time_ns"`
	Count   uint64         `json:"count"`
}

// keepWaits takes the stacks of waits, of processes of a name or of all.
func (a *app) keepWaits(ctx context.Context, comm string, length time.Duration) ([]byte, error) {
	return a.keepStacks(ctx, length, stacks.Options{Min: time.Millisecond, Comm: comm}, func(seen *profiled, names *symbol.Resolver) *sample.Profile {
		return newResolver(names).resolveWaits(seen)
	})
}

// keepRuns samples the stacks of what runs, of all processes: who has the
// processors may be another than who waits.
func (a *app) keepRuns(ctx context.Context, length time.Duration) ([]byte, error) {
	return a.keepStacks(ctx, length, stacks.Options{OnCPU: true, Hz: usualHz}, func(seen *profiled, names *symbol.Resolver) *sample.Profile {
		return newResolver(names).resolveRuns(seen)
	})
}

func (a *app) keepStacks(ctx context.Context, length time.Duration, ask stacks.Options, build func(*profiled, *symbol.Resolver) *sample.Profile) ([]byte, error) {
	out := &keptProfile{Version: 1, Of: sample.RawName(ask.Comm)}
	p, err := a.profile(ctx, &profileOptions{duration: length}, ask, func(seen *profiled, names *symbol.Resolver) (*sample.Profile, error) {
		if ask.OnCPU {
			out.Rate = samplingOf(seen, ask.Hz)
		}
		return build(seen, names), nil
	})
	if err != nil {
		return nil, err
	}
	out.Counts, out.Begin, out.Length, out.Notes = p.Counts, p.Begin, p.Length, p.Notes
	var frames keptFrames
	for i := range p.Stacks {
		s := &p.Stacks[i]
		out.Stacks = append(out.Stacks, keptStack{PID: s.PID, Process: sample.RawName(s.Process), TID: s.TID, Thread: sample.RawName(s.Thread),
			State: s.State, Frames: frames.places(s.Frames), Time: s.Time, Count: s.Count})
	}
	out.Frames = frames.all
	return keepJSON(out)
}

// profile is the evidence as it was made.
func (k *keptProfile) profile(title string) *sample.Profile {
	p := &sample.Profile{Title: title, Counts: k.Counts, Begin: k.Begin, Length: k.Length, Notes: k.Notes}
	at := framesAt(k.Frames)
	for i := range k.Stacks {
		s := &k.Stacks[i]
		p.Stacks = append(p.Stacks, sample.Stack{PID: s.PID, Process: string(s.Process), TID: s.TID, Thread: string(s.Thread),
			State: s.State, Frames: at(s.Frames), Time: s.Time, Count: s.Count})
	}
	return p
}

// playStacks shows the stacks of an incident that are of these states.
func (a *app) playStacks(c *cobra.Command, o *profileOptions, section, title string, data []byte, keep map[string]bool) error {
	if err := onlyLive(c, "the stacks of an incident are as they were taken", "duration", "min", "wakers", "hz", "cgroup"); err != nil {
		return err
	}
	if err := o.show.args(nil); err != nil {
		return err
	}
	if err := checkOutput(o.output); err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(o.filter.given(c))
	if err != nil {
		return err
	}
	was, err := keptAs[keptProfile](data, section)
	if err != nil {
		return err
	}
	p := was.profile(title)
	if was.Of != "" {
		p.Notes = append([]string{fmt.Sprintf("stacks were taken of %q alone, the one that waited most", string(was.Of))}, p.Notes...)
	}
	some := p.Stacks[:0]
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if (len(target.PIDs) == 0 || target.PIDs[0] == s.PID) && (target.Comm == "" || target.Comm == s.Process || target.Comm == s.Thread) {
			some = append(some, *s)
		}
	}
	if p.Stacks = some; len(some) == 0 && len(was.Stacks) > 0 {
		return fmt.Errorf("playing %s: no stack was taken of those that are asked for; of %s there are %d", text.Escape(o.playback.file), whose(string(was.Of)), len(was.Stacks))
	}
	if note := leftOut(keepStates(p, keep)); note != "" && was.Rate == nil {
		p.Notes = append(p.Notes, note)
	}
	if was.Rate != nil {
		p.Notes = append(p.Notes, was.Rate.note(p))
	}
	return a.showProfile(p, o)
}

func whose(comm string) string {
	if comm == "" {
		return "all processes"
	}
	return fmt.Sprintf("%q", comm)
}
