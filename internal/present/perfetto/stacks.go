package perfetto

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"iocause/internal/sample"
)

// stackOwner is a thread.
type stackOwner struct {
	pid, tid int
}

// Stacks writes where threads spent their time: a lane for each thread, in it its
// functions inside those that called them, as wide as their time, the longest first.
// A profile has sums and no instants, so they lie end to end from 0 on; the document
// and each process say so.
func Stacks(to io.Writer, program string, p *sample.Profile) error {
	w, err := New(to, program, p.Begin)
	if err != nil {
		return err
	}
	by := map[stackOwner][]*sample.Stack{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		by[stackOwner{s.PID, s.TID}] = append(by[stackOwner{s.PID, s.TID}], s)
	}
	owners := make([]stackOwner, 0, len(by))
	for k := range by {
		owners = append(owners, k)
	}
	slices.SortFunc(owners, func(a, b stackOwner) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid)) })
	for _, k := range owners {
		first := by[k][0]
		if !w.names[k.pid] {
			label := event{Name: "process_labels", Phase: "M", PID: k.pid, Args: map[string]any{"labels": "sums laid end to end, not in their order of time"}}
			if err := w.event(&label); err != nil {
				return err
			}
		}
		if err := w.name(k.pid, plain(first.Process)); err != nil {
			return err
		}
		lane, err := w.thread(k.pid, plain(fmt.Sprintf("%s %d", first.Thread, k.tid)))
		if err != nil {
			return err
		}
		if err := w.nest(treeOf(by[k]), p, k.pid, lane, 0); err != nil {
			return err
		}
	}
	return w.Close()
}

// call is a function as it was reached by those above it.
type call struct {
	name string
	kids []*call
	time time.Duration // with all below it
}

// treeOf puts stacks of one thread together; the innermost call of each is what it
// waited for, or where it ran.
func treeOf(all []*sample.Stack) *call {
	root := &call{}
	for _, s := range all {
		at := root
		at.time += s.Time
		for _, f := range s.Frames {
			at = at.kid(plain(cmp.Or(f.Name, "?")))
			at.time += s.Time
		}
		at = at.kid("[" + plain(s.State) + "]")
		at.time += s.Time
	}
	return root
}

func (c *call) kid(name string) *call {
	for _, k := range c.kids {
		if k.name == name {
			return k
		}
	}
	k := &call{name: name}
	c.kids = append(c.kids, k)
	return k
}

// nest writes what a function called, from an instant on.
func (w *Writer) nest(c *call, p *sample.Profile, pid, lane int, at time.Duration) error {
	slices.SortStableFunc(c.kids, func(a, b *call) int { return cmp.Compare(b.time, a.time) })
	for _, k := range c.kids {
		if err := w.event(&event{Name: k.name, Category: p.Counts, Phase: "X", At: micros(at), Length: micros(k.time), PID: pid, TID: lane}); err != nil {
			return err
		}
		if err := w.nest(k, p, pid, lane, at); err != nil {
			return err
		}
		at += k.time
	}
	return nil
}
