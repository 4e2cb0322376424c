package detect

import (
	"math"
	"slices"
)

const (
	// recentSlots are remembered of what a signal was shortly before: half an
	// hour. What is compared with longer ago has wandered by itself.
	recentSlots = 180
	// recentLeast of them must be known: five minutes.
	recentLeast = 30
	// recentOldest is how many slots ago they may be; while an incident is open,
	// two hours: it goes on to be compared with the time before it.
	recentOldest, recentOpen = recentSlots, 720
)

// recent is what a signal was of late, while threads did not wait for disks
// longer than is normal. What a machine gets done differs from day to day by
// more than within an hour: a fall that the hours of other weeks hide stands
// out beside the minutes before it.
type recent struct {
	slots  []int64 // oldest first
	values []float64
}

func (r *recent) add(slot int64, v float64) {
	if math.IsNaN(v) {
		return
	}
	if len(r.slots) >= recentSlots {
		r.slots, r.values = slices.Delete(r.slots, 0, 1), slices.Delete(r.values, 0, 1)
	}
	r.slots, r.values = append(r.slots, slot), append(r.values, v)
}

// reference is what was normal in so many slots before one.
func (r *recent) reference(s *Signal, slot, oldest int64) Reference {
	return r.since(s, slot, oldest, recentLeast)
}

// since is reference where so many slots must be known.
func (r *recent) since(s *Signal, slot, oldest int64, least int) Reference {
	from, _ := slices.BinarySearch(r.slots, slot-oldest)
	v := slices.Clone(r.values[from:])
	if len(v) < least {
		return Reference{Basis: Learning}
	}
	slices.Sort(v)
	ref := Reference{Basis: HalfHour, Days: 1}
	ref.Hours, ref.Extreme = 1, v[len(v)-1]
	if s.Down {
		ref.Extreme = v[0]
	}
	for i, q := range [...]float64{0.05, 0.25, 0.50, 0.75, 0.95} {
		ref.Q[i] = sortedQuantile(v, q)
	}
	ref.Scale = max((ref.Q[3]-ref.Q[1])/1.349, (ref.Q[4]-ref.Q[0])/3.29, s.Floor)
	return ref
}

// remember keeps what machines got done, and how long threads waited for disks,
// while there was no unusual waiting.
func (w *Watch) remember(values []float64, z [families]float64) {
	if z[Disk] >= w.rule.Z {
		return
	}
	for i, v := range values {
		if s := &w.signals[i]; s.agrees() || s.Family == Disk {
			w.before[i].add(w.slot, v)
		}
	}
}

// diskOff tells whether threads wait for disks longer than is normal.
func (w *Watch) diskOff(values []float64, refs []Reference) bool {
	for i, v := range values {
		if s := &w.signals[i]; s.Family == Disk && !math.IsNaN(v) {
			return refs[i].Z(s, v) >= w.rule.Z
		}
	}
	return false
}

// fell tells whether what a machine gets done is far below the half hour before.
// Then how long threads wait for disks is compared with that time as well: in an
// hour in which backups run they wait for long, and long is not unusual.
func (w *Watch) fell(values []float64, oldest int64) bool {
	for i, v := range values {
		if s := &w.signals[i]; s.agrees() && !math.IsNaN(v) {
			if b := w.before[i].reference(s, w.slot, oldest); b.Z(s, v) >= w.rule.Fall {
				return true
			}
		}
	}
	return false
}

// holds tells whether the families are off together. Where that is memory and disks
// alone, and processors do no less than in the half hour before, or two hours before
// if that is all that is known, it is a job that brings both: nothing is held up.
// Memory that is waited for as long as is bad on any host is no job's.
func (w *Watch) holds(values []float64, z [families]float64) bool {
	return w.rule.holds(z) && !(w.rule.Less && z[CPU] < w.rule.Z && z[Requests] < w.rule.Z && w.noLess(values))
}

func (w *Watch) noLess(values []float64) bool {
	no := false
	for i, v := range values {
		switch s := &w.signals[i]; {
		case math.IsNaN(v):
		case s.Family == Memory && s.Saturated > 0 && v >= s.Saturated:
			return false
		case s.Family == CPU:
			b := w.before[i].reference(s, w.slot, recentOpen)
			no = b.Basis != Learning && b.Z(s, v) < 0
		}
	}
	return no
}
