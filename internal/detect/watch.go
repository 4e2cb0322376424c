package detect

import (
	"maps"
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// Sample is what was measured at an instant. A signal that is missing was not
// measured, which is not zero.
type Sample struct {
	At     time.Time
	Values map[string]float64 // by the name of the signal
	Limits []sample.Limit     // that were reached since the sample before
}

// Decision is what follows from a sample.
type Decision struct {
	Action   Action
	Incident sample.Incident // unless Action is Nothing
	Hours    []sample.Hour   // that are over: to be kept
}

// Watch judges samples as they come and learns from those that belong to no
// incident. Samples may come at any rate, one in a minute at least; they are
// judged as means of ten seconds, when those are over. Nothing but the samples
// tells it the time. It is used by one goroutine.
type Watch struct {
	signals []Signal
	rule    Rule
	loc     *time.Location
	history *History

	slot  int64 // of ten seconds since 1970, that is being filled
	sums  []float64
	count []int

	recent  []verdict // the last Rule.Within slots, by their number
	heard   verdict   // of the last slot in which something was measured
	before  []recent  // of each signal, while threads did not wait for disks
	pending []learned // oldest first: not learned yet, for an incident may claim them

	on       bool // an incident is open
	incident sample.Incident
	last     int64 // its last bad slot
	worst    float64
	late     []sample.Limit // came with the sample that closed an incident
	claims   []claim
	spells   map[limitOf]spell // of limits that were reached in the last hour

	shifted bool // an incident went on for so long that it is normal now
	calm    int  // slots in a row that are not off by the older reference

	hour  time.Time // that is being summed up
	sum   []hourSum
	offs  []hourSum // what was off in that hour, learned or not
	known time.Time // the hour that refs are of
	refs  []Reference
	days  []Reference // of the last day, for an incident that lasts
	again []Reference // of what recurs, or refs
	comes bool        // something recurs in this hour
	first []bool      // which of the last slots were blatant, the newest last, while nothing was known
}

// mostLimits are kept of an incident.
const mostLimits = 20

// calmAgain is how many slots in a row must be as they were before a lasting
// change, or without a limit, for that to be over: an hour.
const calmAgain = 360

// limitOf is what makes two limits the same.
type limitOf struct{ kind, of string }

// spell is the time in which a limit was reached again and again.
type spell struct{ began, newest int64 }

// verdict is what was found of a slot.
type verdict struct {
	slot int64
	bad  bool
}

// learned is a slot that waits to be learned.
type learned struct {
	slot   int64
	values []float64 // NaN where not measured
	off    bool      // it is off by what is normal, though it recurs
}

// claim is a time that belongs to an incident.
type claim struct{ from, to int64 }

// NewWatch makes a watch that goes on from a history, which it adds to.
func NewWatch(signals []Signal, rule Rule, loc *time.Location, history *History) *Watch {
	w := &Watch{signals: signals, rule: rule, loc: loc, history: history,
		sums: make([]float64, len(signals)), count: make([]int, len(signals)),
		recent: make([]verdict, rule.Within), before: make([]recent, len(signals)), sum: make([]hourSum, len(signals)),
		offs: make([]hourSum, len(signals)), first: make([]bool, blatantWithin), spells: map[limitOf]spell{}}
	return w
}

// Resume goes on with an incident that was open when the watch before ended.
func (w *Watch) Resume(i sample.Incident) {
	w.on, w.shifted, w.incident = true, i.Lasting, i
	w.last = slotOf(i.End)
	var z [families]float64
	for _, r := range i.Reasons {
		for _, s := range w.signals {
			if s.Name == r.Signal {
				z[s.Family] = r.Z
			}
		}
	}
	_, w.worst = w.rule.off(z)
}

// Changed tells that an incident before went on for so long that it is normal
// now. Where that is over again, an hour shows it.
func (w *Watch) Changed() { w.shifted = true }

func slotOf(at time.Time) int64 { return at.Unix() / int64(slotLength/time.Second) }

func timeOf(slot int64) time.Time { return time.Unix(slot*int64(slotLength/time.Second), 0).UTC() }

// Add takes the next sample. What it answers is of the ten seconds before it,
// except for hard limits, which are told at once.
func (w *Watch) Add(s Sample) Decision {
	var d Decision
	slot := slotOf(s.At)
	switch {
	case w.slot == 0:
		w.slot = slot
		w.expire(&d) // an incident from before a long pause is over
	case slot < w.slot: // the clock was set back
		w.slot = slot
		w.forget()
	case slot > w.slot:
		w.judge(&d)
		w.slot = slot
		w.expire(&d)
	}
	for i := range w.signals {
		if v, ok := s.Values[w.signals[i].Name]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			w.sums[i] += v
			w.count[i]++
		}
	}
	switch limits := append(w.late, s.Limits...); {
	case len(limits) == 0:
	case d.Action == Close: // one thing at a time
		w.late = limits
	default:
		w.late = nil
		w.limits(&d, limits)
	}
	return d
}

// Off tells whether one of the samples that an incident would be told from was
// off.
func (w *Watch) Off() bool { return w.offWithin(w.rule.Within) }

// Calm tells whether no sample of the last minute was off. Many a machine has one
// now and then that is, and hardly five minutes without.
func (w *Watch) Calm() bool { return !w.offWithin(int(time.Minute / slotLength)) }

func (w *Watch) offWithin(slots int) bool {
	return w.on || slices.ContainsFunc(w.recent, func(v verdict) bool { return v.bad && v.slot > w.slot-int64(slots) })
}

// forget drops what must not be mixed with a clock that was set.
func (w *Watch) forget() {
	clear(w.recent)
	w.heard = verdict{}
	clear(w.before)
	clear(w.sums)
	clear(w.count)
	w.pending = w.pending[:0]
	clear(w.first)
	clear(w.spells)
	w.known = time.Time{}
	if w.on {
		w.last = min(w.last, w.slot)
	}
}

// judge ends the slot that was filled.
func (w *Watch) judge(d *Decision) {
	values := make([]float64, len(w.signals))
	measured := false
	for i := range values {
		values[i] = math.NaN()
		if w.count[i] > 0 {
			values[i] = w.sums[i] / float64(w.count[i])
			measured = true
		}
		w.sums[i], w.count[i] = 0, 0
	}
	w.refresh(timeOf(w.slot))
	z, reasons := w.z(values, w.refs)
	bad := w.holds(values, z)
	w.remember(values, z)
	off := bad
	if bad && w.comes {
		z, reasons = w.z(values, w.again)
		bad = w.holds(values, z)
	}
	if w.shifted {
		switch {
		case bad:
			w.calm = 0
			z, reasons = w.z(values, w.days)
			bad = w.holds(values, z)
		case off: // what recurs is not what was before
			w.calm = 0
		default:
			if w.calm++; w.calm >= calmAgain {
				w.shifted, w.calm = false, 0
			}
		}
	}
	blatant, why := w.blatant(values)
	if !bad && blatant {
		bad, reasons = true, why
	}
	w.recent[w.slot%int64(len(w.recent))] = w.standing(verdict{w.slot, bad}, measured)
	w.pending = append(w.pending, learned{w.slot, values, off && !bad && !w.shifted})
	n, first := w.badOnes()
	if many, since := w.blatantOnes(blatant); many && !w.on {
		n, first = max(n, w.rule.Bad), since
	}
	if bad && n >= w.rule.Bad && !w.on {
		w.open(d, first)
		w.incident.Samples = n - 1 // this one is counted below
	}
	if bad && w.on {
		// of an incident that is open one bad sample is enough
		w.extend(d, z, reasons)
	}
	w.learn(d)
}

// standing is the verdict of a slot: where nothing was measured in it, that of
// the sample before, which may stand for a minute.
func (w *Watch) standing(v verdict, measured bool) verdict {
	if measured {
		w.heard = v
	} else if v.slot-w.heard.slot < int64(time.Minute/slotLength) {
		v.bad = w.heard.bad
	}
	return v
}

// badOnes are how many slots of late are bad, and the first of them.
func (w *Watch) badOnes() (n int, first int64) {
	for _, v := range w.recent {
		if v.bad && v.slot > w.slot-int64(w.rule.Within) {
			if n++; n == 1 || v.slot < first {
				first = v.slot
			}
		}
	}
	return n, first
}

func (w *Watch) open(d *Decision, first int64) {
	w.on, w.worst, w.last = true, 0, w.slot
	w.incident = sample.Incident{Start: timeOf(first), Opened: timeOf(w.slot + 1), End: timeOf(w.slot + 1)}
	d.Action = Open
}

// extend keeps the incident open after a bad sample.
func (w *Watch) extend(d *Decision, z [families]float64, reasons []sample.Reason) {
	w.last = w.slot
	w.incident.Samples++
	w.incident.End = timeOf(w.slot + 1)
	if _, sum := w.rule.off(z); sum > w.worst || len(w.incident.Reasons) == 0 {
		w.worst, w.incident.Reasons = sum, reasons
	}
	w.lasting()
	w.say(d)
}

func (w *Watch) lasting() {
	if w.incident.End.Sub(w.incident.Start) >= w.rule.Lasting {
		w.incident.Lasting, w.shifted = true, true
	}
}

func (w *Watch) say(d *Decision) {
	if d.Action == Nothing {
		d.Action = Extend
	}
	d.Incident = w.incident
	d.Incident.Reasons, d.Incident.Limits = slices.Clone(w.incident.Reasons), slices.Clone(w.incident.Limits)
}

// limits opens or extends an incident at once.
func (w *Watch) limits(d *Decision, all []sample.Limit) {
	if all = w.news(all); len(all) == 0 {
		return
	}
	if !w.on {
		w.open(d, w.slot)
	}
	w.last = w.slot
	w.incident.End = timeOf(w.slot + 1)
	for _, l := range all {
		if !slices.ContainsFunc(w.incident.Limits, func(have sample.Limit) bool { return limitOf{have.Kind, have.Of} == limitOf{l.Kind, l.Of} }) && len(w.incident.Limits) < mostLimits {
			w.incident.Limits = append(w.incident.Limits, l)
		}
	}
	w.lasting()
	w.say(d)
}

// news are the limits without those that have been reached again and again for so
// long that they are normal now: they would keep one incident open for ever, and
// nothing else could open one beside it.
func (w *Watch) news(all []sample.Limit) (out []sample.Limit) {
	maps.DeleteFunc(w.spells, func(_ limitOf, s spell) bool { return w.slot-s.newest > calmAgain })
	for _, l := range all {
		of := limitOf{l.Kind, l.Of}
		s, known := w.spells[of]
		if !known {
			s = spell{w.slot, w.slot}
		}
		if time.Duration(s.newest-s.began)*slotLength < w.rule.Lasting {
			out = append(out, l)
		}
		s.newest = w.slot
		w.spells[of] = s
	}
	return out
}

// expire closes an incident that has been quiet for long enough.
func (w *Watch) expire(d *Decision) {
	if !w.on || time.Duration(w.slot-w.last)*slotLength <= w.rule.Join {
		return
	}
	d.Action = Nothing
	w.say(d)
	d.Action = Close
	w.on = false
	w.claims = append(w.claims, claim{slotOf(w.incident.Start), w.last})
}

// refresh looks up what is normal once an hour.
func (w *Watch) refresh(at time.Time) {
	hour := hourStart(at, w.loc)
	if hour.Equal(w.known) {
		return
	}
	w.known = hour
	w.refs, w.days, w.again, w.comes = w.refs[:0], w.days[:0], w.again[:0], false
	for i := range w.signals {
		s := &w.signals[i]
		if s.Family == None {
			none := Reference{Basis: Learning}
			w.refs, w.days, w.again = append(w.refs, none), append(w.days, none), append(w.again, none)
			continue
		}
		w.refs = append(w.refs, w.history.Reference(s, at))
		again, ok := w.history.again(s, hour, w.rule.Sooner)
		if !ok {
			again = w.refs[i]
		}
		w.again, w.comes = append(w.again, again), w.comes || ok
		d, ok := w.history.lastDay(s, hour)
		if !ok {
			d = Reference{Basis: Learning}
		}
		w.days = append(w.days, d)
	}
}

// z is how far each family is off, and by which signals.
func (w *Watch) z(values []float64, refs []Reference) (z [families]float64, reasons []sample.Reason) {
	oldest := int64(recentOldest)
	if w.on {
		oldest = recentOpen
	}
	waiting := w.rule.HalfHour && w.diskOff(values, refs)
	fell := waiting && w.fell(values, oldest)
	var judged [families]bool
	for i, v := range values {
		s := &w.signals[i]
		if s.Family == None || judged[s.Family] || math.IsNaN(v) {
			continue
		}
		judged[s.Family] = true
		r := &refs[i]
		far := r.Z(s, v)
		if far < w.rule.MaxZ && (waiting && s.agrees() || fell && s.Family == Disk) {
			b := w.before[i].reference(s, w.slot, oldest)
			z := b.Z(s, v)
			if z > far || w.rule.Fresh && s.agrees() && b.Basis != Learning && z < w.rule.Z {
				r, far = &b, z
			}
		}
		if r.Basis == Learning && s.Saturated > 0 && v >= s.Saturated {
			far = w.rule.MaxZ
		}
		z[s.Family] = far
		// requests come after what they agree with
		if far >= w.rule.Z && (s.Family != Requests || z[Disk] >= w.rule.Z) {
			reasons = append(reasons, sample.Reason{Signal: s.Name, Unit: s.Unit, Value: v, Normal: r.Q[2], Low: r.Q[0], High: r.Q[4],
				Z: far, Basis: string(r.Basis), Days: r.Days})
		}
	}
	return z, reasons
}
