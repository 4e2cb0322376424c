package detect

import (
	"math"
	"slices"

	"iocause/internal/sample"
)

// held is how many slots wait before they are learned: as long as an incident
// can still claim them.
func (w *Watch) held() int64 { return int64(w.rule.Within) + int64(w.rule.Join/slotLength) + 1 }

// learn takes the slots that no later incident can claim.
func (w *Watch) learn(d *Decision) {
	n := 0
	for n < len(w.pending) && w.pending[n].slot <= w.slot-w.held() {
		w.take(d, &w.pending[n])
		n++
	}
	if n > 0 {
		w.pending = slices.Delete(w.pending, 0, n)
	}
	if len(w.pending) > 0 {
		first := w.pending[0].slot
		w.claims = slices.DeleteFunc(w.claims, func(c claim) bool { return c.to < first })
	}
}

// take adds one slot to its hour.
func (w *Watch) take(d *Decision, l *learned) {
	at := timeOf(l.slot)
	if hour := hourStart(at, w.loc); !hour.Equal(w.hour) {
		w.endHour(d)
		w.hour = hour
		for i := range w.signals {
			w.sum[i].recurs = w.history.recurs(w.signals[i].Name, hour)
		}
	}
	alarmed := w.claimed(l.slot)
	for i, v := range l.values {
		switch {
		case math.IsNaN(v):
			continue
		case alarmed, l.off:
			w.sum[i].alarmed++
			w.offs[i].add(at.Sub(w.hour), v)
		}
		if !alarmed || w.sum[i].recurs {
			w.sum[i].add(at.Sub(w.hour), v)
		}
	}
}

// claimed tells whether a slot belongs to an incident. Once an incident is the
// new normal, it is learned.
func (w *Watch) claimed(slot int64) bool {
	if w.on && slot >= slotOf(w.incident.Start) && slot <= w.last {
		return timeOf(slot).Sub(w.incident.Start) < w.rule.Lasting
	}
	return slices.ContainsFunc(w.claims, func(c claim) bool {
		return slot >= c.from && slot <= c.to && timeOf(slot).Sub(timeOf(c.from)) < w.rule.Lasting
	})
}

// endHour sums up the hour that is over.
func (w *Watch) endHour(d *Decision) {
	for i := range w.sum {
		if h, ok := w.sum[i].end(&w.signals[i], w.hour); ok {
			w.history.Put(h)
			d.Hours = append(d.Hours, h)
		}
		if h, ok := w.offs[i].end(&w.signals[i], w.hour); ok && h.N >= leastSamples {
			h.Signal += wasOff
			w.history.Put(h)
			d.Hours = append(d.Hours, h)
		}
	}
}

// Flush learns what is left and returns the hours that were not over. It ends
// the watch; an incident that is open stays so (Resume).
func (w *Watch) Flush() []sample.Hour {
	var d Decision
	for i := range w.pending {
		w.take(&d, &w.pending[i])
	}
	w.pending = w.pending[:0]
	w.endHour(&d)
	return d.Hours
}
