package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// waiters lists the programs that were held up longest.
func (p *page) waiters(all []diagnose.Waiter, d detail) {
	p.section("Who waits")
	for i := range all {
		if i == d.waiters {
			p.more(len(all)-i, "program")
			break
		}
		p.wrap(program(&all[i])+" · "+waiting(&all[i]), 2, 0, plain)
	}
}

// victim names who waits, and for how long in what.
func (p *page) victim(r *diagnose.Report) {
	p.culprit("Who waits", &r.Victim)
	if r.VictimWaits != nil && r.VictimWaits.Share >= 0.005 {
		p.wrap(waiting(r.VictimWaits), 0, 0, plain)
	}
	if w := r.When; w != nil && !w.Steady {
		p.wrap(fmt.Sprintf("mostly from %s to %s of the time watched", table.Duration(w.From), table.Duration(w.To)), 0, 0, plain)
	}
}

// others are those that wait beside the victim.
func (p *page) others(all []diagnose.Other, d detail) {
	p.section("Also waits")
	for i := range all {
		if i == d.contributing {
			p.more(len(all)-i, "program")
			break
		}
		o := &all[i]
		cause := "its cause could not be shown"
		if o.Cause != diagnose.Unknown {
			cause = Escape(string(o.Cause)) + ", confidence " + percent(o.Confidence)
		}
		p.wrap(program(&o.Waiter)+" · "+cause+" · "+waiting(&o.Waiter), 2, 0, plain)
	}
}

// calls says what the victim's own calls took.
func (p *page) calls(all []diagnose.CallTime) {
	p.section("Calls")
	for i := range all {
		c := &all[i]
		p.wrap(fmt.Sprintf("%s that waited: %s, mean %s, half within %s, 99 %% within %s", orElse(callWords()[c.Class], Escape(c.Class)),
			table.Value(c.PerSec, "count/s"), table.Duration(c.Mean), table.Duration(c.P50), table.Duration(c.P99)), 2, 0, plain)
	}
}

func callWords() map[string]string { return map[string]string{"sync": "syncs", "read": "reads"} }

// commits is what a sync of the victim took, for the first screen.
func commits(r *diagnose.Report, f *diagnose.Finding) string {
	if f.Cause != diagnose.SyncWrites && f.Cause != diagnose.JournalCommit {
		return ""
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Class == sample.ClassSync {
			return fmt.Sprintf("It syncs %s: half within %s, 99 %% within %s. ", table.Value(c.PerSec, "count/s"), table.Duration(c.P50), table.Duration(c.P99))
		}
	}
	return ""
}

// operations says what requests took: the kind that most time goes to.
func (p *page) operations(all []diagnose.Operation) {
	p.section("Requests")
	if len(all) == 0 {
		return
	}
	o := &all[0]
	p.wrap(fmt.Sprintf("%s to %s: %s, mean %s, half within %s, 99 %% within %s", orElse(requestWords()[o.Class], Escape(o.Class)), Middle(Escape(o.Device), 20),
		table.Value(o.PerSec, "count/s"), table.Duration(o.Mean), table.Duration(o.P50), table.Duration(o.P99)), 2, 0, plain)
}

// layers says how much of the time of an I/O each of them takes, the most first.
func (p *page) layers(all []diagnose.LayerTime) {
	p.section("Layers")
	if len(all) == 0 {
		return
	}
	most := slices.SortedStableFunc(slices.Values(all), func(a, b diagnose.LayerTime) int { return cmp.Compare(b.Share, a.Share) })
	parts := make([]string, len(most))
	for i := range most {
		parts[i] = Middle(Escape(most[i].Name()), 32) + " " + percent(most[i].Share)
	}
	p.wrap(fmt.Sprintf("an I/O of %s takes %s: %s", Middle(Escape(all[0].Device), 20), table.Duration(all[0].Each), strings.Join(parts, ", ")), 2, 0, plain)
}

// slowest is the layer that takes most of the time of an I/O, for the first screen.
func slowest(all []diagnose.LayerTime) string {
	if len(all) == 0 {
		return ""
	}
	most := slices.MaxFunc(all, func(a, b diagnose.LayerTime) int { return cmp.Compare(a.Share, b.Share) })
	return fmt.Sprintf("%s takes %s of the time of an I/O of %s. ", Middle(Escape(most.Name()), 32), percent(most.Share), Middle(Escape(all[0].Device), 20))
}

func requestWords() map[string]string {
	return map[string]string{"read": "reads", "write": "writes", "flush": "flushes"}
}

// memory says who holds it: the largest kind, and the largest programs.
func (p *page) memory(all []diagnose.Holder) {
	p.section("Memory")
	var parts []string
	for i := range all {
		h := &all[i]
		switch {
		case h.Kind == "process" && h.Who.Comm != "":
			parts = append(parts, fmt.Sprintf("%s (pid %d) %s", Middle(Escape(h.Who.Comm), 20), h.Who.PID, table.Value(h.Bytes, "bytes")))
		case h.Kind == "cgroup", h.Kind == "process":
		default:
			parts = append(parts, Escape(h.Kind)+" "+table.Value(h.Bytes, "bytes"))
		}
	}
	if len(parts) > 0 {
		p.wrap(strings.Join(parts, ", "), 2, 0, plain)
	}
}

// program names a waiter.
func program(w *diagnose.Waiter) string {
	name := Middle(Escape(w.Who.Comm), 32)
	switch {
	case w.Processes > 1:
		return fmt.Sprintf("%s (%d processes)", name, w.Processes)
	case w.Who.PID == 0:
		return orElse(name, "the host")
	}
	return fmt.Sprintf("%s (pid %d)", name, w.Who.PID)
}

// waiting is for how long a program was held up, and in what.
func waiting(w *diagnose.Waiter) string {
	out := fmt.Sprintf("waits %s of its time awake, %s in all", percent(w.Share), table.Duration(w.Seconds))
	if in := waitsIn(w); in != "" {
		out += ": " + in
	}
	if w.Waiting >= 0.95 && w.Threads > 1 {
		out += fmt.Sprintf("; %s of %s threads at any time", table.Digits(w.Waiting), table.Digits(w.Threads))
	}
	return out
}

// waitsIn is what a program is held up in, the longest first.
func waitsIn(w *diagnose.Waiter) string {
	var in []string
	for _, part := range w.In[:min(3, len(w.In))] {
		if part.Seconds >= 0.01*w.Seconds {
			in = append(in, orElse(inWords()[part.What], Escape(part.What))+" "+percent(part.Seconds/w.Seconds))
		}
	}
	return strings.Join(in, ", ")
}

// inWords are the classes of waiting whose names are not plain words.
func inWords() map[string]string {
	return map[string]string{"fault": "page faults", "other": "other calls", "lock": "locks", "dirty pause": "pauses of writers"}
}
