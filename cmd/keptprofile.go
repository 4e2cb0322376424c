package cmd

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
	Version int           `json:"version"`
	Of      rawName       `json:"of"` // processes of this name alone; "" for all
	PID     int           `json:"pid,omitempty"`
	Counts  string        `json:"counts"`
	Begin   time.Time     `json:"begin"`
	Length  time.Duration `json:"length_ns"`
	Frames  []keptFrame   `json:"frames"`
	Stacks  []keptStack   `json:"stacks"`
	Notes   []string      `json:"notes"`
}

type keptFrame struct {
	Name   rawName `json:"name"`
	Module rawName `json:"module,omitempty"`
	File   rawName `json:"file,omitempty"`
	Kernel bool    `json:"kernel,omitempty"`
	Note   bool    `json:"note,omitempty"`
}

type keptStack struct {
	PID     int           `json:"pid"`
	Process rawName       `json:"process"`
	TID     int           `json:"tid"`
	Thread  rawName       `json:"thread"`
	State   string        `json:"state"`
	Frames  []int         `json:"frames"` // places in frames, the outermost first
	Time    time.Duration `json:"time_ns"`
	Count   uint64        `json:"count"`
}

// keepWaits takes the stacks of waits, of processes of a name or of all.
func (a *app) keepWaits(ctx context.Context, comm string, length time.Duration) ([]byte, error) {
	o := &profileOptions{duration: length}
	p, err := a.profile(ctx, o, stacks.Options{Min: time.Millisecond, Comm: comm}, func(seen *profiled, names *symbol.Resolver) (*sample.Profile, error) {
		return newResolver(names).resolveWaits(seen), nil
	})
	if err != nil {
		return nil, err
	}
	out := &keptProfile{Version: 1, Of: rawName(comm), Counts: p.Counts, Begin: p.Begin, Length: p.Length, Notes: p.Notes}
	places := map[*sample.Frame]int{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		k := keptStack{PID: s.PID, Process: rawName(s.Process), TID: s.TID, Thread: rawName(s.Thread), State: s.State, Frames: []int{}, Time: s.Time, Count: s.Count}
		for _, f := range s.Frames {
			at, ok := places[f]
			if !ok {
				at = len(out.Frames)
				places[f] = at
				out.Frames = append(out.Frames, keptFrame{rawName(f.Name), rawName(f.Module), rawName(f.File), f.Kernel, f.Note})
			}
			k.Frames = append(k.Frames, at)
		}
		out.Stacks = append(out.Stacks, k)
	}
	return keepJSON(out)
}

// profile is the evidence as it was made. Places that are not there are left
// out: the file may be damaged.
func (k *keptProfile) profile() *sample.Profile {
	p := &sample.Profile{Title: "Where threads wait", Counts: k.Counts, Begin: k.Begin, Length: k.Length, Notes: k.Notes}
	frames := make([]*sample.Frame, len(k.Frames))
	for i, f := range k.Frames {
		frames[i] = &sample.Frame{Name: string(f.Name), Module: string(f.Module), File: string(f.File), Kernel: f.Kernel, Note: f.Note}
	}
	for i := range k.Stacks {
		s := &k.Stacks[i]
		one := sample.Stack{PID: s.PID, Process: string(s.Process), TID: s.TID, Thread: string(s.Thread), State: s.State, Time: s.Time, Count: s.Count}
		for _, at := range s.Frames {
			if at >= 0 && at < len(frames) {
				one.Frames = append(one.Frames, frames[at])
			}
		}
		p.Stacks = append(p.Stacks, one)
	}
	return p
}

// playWaits shows the stacks of an incident.
func (a *app) playWaits(c *cobra.Command, o *profileOptions, data []byte, keep map[string]bool) error {
	if err := onlyLive(c, "the stacks of an incident are as they were taken", "duration", "min", "wakers", "cgroup"); err != nil {
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
	was, err := keptAs[keptProfile](data, sectionOffCPU)
	if err != nil {
		return err
	}
	p := was.profile()
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
	if note := leftOut(keepStates(p, keep)); note != "" {
		p.Notes = append(p.Notes, note)
	}
	return a.showProfile(p, o)
}

func whose(comm string) string {
	if comm == "" {
		return "all processes"
	}
	return fmt.Sprintf("%q", comm)
}
