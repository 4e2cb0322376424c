package detect

import (
	"math"
	"time"
)

// Basis says what an instant is compared with.
type Basis string

// What an instant can be compared with, the best first.
const (
	HourOfWeek Basis = "hour of week" // ± 1 hour, 8 weeks
	DayKind    Basis = "weekday or weekend"
	LastDay    Basis = "last day"
	HalfHour   Basis = "half an hour before" // while threads did not wait for disks
	Learning   Basis = "learning"            // nothing is known yet
	Recurs     Basis = "recurs"              // the same hour a day or a week before, which was off too
)

const (
	day  = 24 * time.Hour
	week = 7 * day

	weeksBack = 8  // that the hour of the week is looked up in
	daysBack  = 14 // that the hour of weekdays or weekends is
	leastDays = 3  // of them that must be known
	// leastHours of the last day must be known. With fewer the first morning
	// of a host is compared with its first night.
	leastHours = 12
	// leastSamples an hour has to count: five minutes.
	leastSamples = 30
)

// Band is a distribution: what a signal was at some times.
type Band struct {
	Hours   int        // that it was made of
	Q       [5]float64 // at sample.HourQuantiles
	Extreme float64    // the worst minute
}

// Reference is what is normal at an instant.
type Reference struct {
	Basis Basis
	Days  int // days, or weeks, that it was made of
	Band
	Scale float64 // the spread: one standard deviation, if it were a normal distribution
}

// Z is how many times the spread a value lies on the bad side of the median.
func (r *Reference) Z(s *Signal, v float64) float64 {
	if r.Basis == Learning {
		return 0
	}
	return s.worse(v, r.Q[2]) / r.Scale
}

// Reference is what is normal for a signal at an instant, judged by what was
// before the hour of that instant.
func (h *History) Reference(s *Signal, at time.Time) Reference {
	hour := hourStart(at, h.loc)
	now := hourOfWeek(hour)
	if r, ok := h.reference(s, HourOfWeek, h.between(s.Name, hour.Add(-weeksBack*week-2*time.Hour), hour), leastDays,
		func(r *hourRow) (int64, bool) {
			apart := min((int(r.week)-now+hoursOfWeek)%hoursOfWeek, (now-int(r.week)+hoursOfWeek)%hoursOfWeek)
			// to the nearest week: Monday 0:00 counts Sunday 23:00 to its own;
			// the hour before this one says nothing of other weeks
			ago := (hour.Unix() - r.start + int64(week/2/time.Second)) / int64(week/time.Second)
			return ago, apart <= 1 && ago > 0
		}); ok {
		return r
	}
	weekend := isWeekend(now)
	if r, ok := h.reference(s, DayKind, h.between(s.Name, hour.Add(-daysBack*day-2*time.Hour), hour), leastDays,
		func(r *hourRow) (int64, bool) {
			return (hour.Unix() - r.start + int64(day/2/time.Second)) / int64(day/time.Second),
				int(r.week)%24 == now%24 && isWeekend(int(r.week)) == weekend
		}); ok {
		return r
	}
	if r, ok := h.lastDay(s, hour); ok {
		return r
	}
	return Reference{Basis: Learning}
}

// lastDay is what was normal in the 24 hours before.
func (h *History) lastDay(s *Signal, hour time.Time) (Reference, bool) {
	return h.reference(s, LastDay, h.between(s.Name, hour.Add(-day), hour), leastHours,
		func(r *hourRow) (int64, bool) { return r.start, true })
}

// again is what the hour was a day and a week before, where it was off then:
// what was off in it; or, not sooner than it was learned, all of it.
func (h *History) again(s *Signal, hour time.Time, sooner bool) (Reference, bool) {
	rows := h.before(s.Name, hour)
	if sooner {
		rows = h.dayAndWeekBefore(s.Name+wasOff, hour)
	}
	return h.reference(s, Recurs, rows, 1, func(r *hourRow) (int64, bool) { return r.start, true })
}

func isWeekend(hourOfWeek int) bool { return hourOfWeek < 24 || hourOfWeek >= 6*24 }

// reference makes one of the rows that pick says yes to, if they are of enough
// different days (or whatever pick tells apart).
func (h *History) reference(s *Signal, basis Basis, rows []hourRow, enough int, pick func(*hourRow) (int64, bool)) (Reference, bool) {
	var m mixture
	days := make(map[int64]bool, weeksBack)
	for i := range rows {
		if which, ok := pick(&rows[i]); ok && rows[i].n >= leastSamples {
			m = append(m, rows[i])
			days[which] = true
		}
	}
	if len(days) < enough {
		return Reference{}, false
	}
	r := Reference{Basis: basis, Days: len(days), Band: m.band(s)}
	r.Scale = m.scale(&r.Band, s.Floor)
	return r, true
}

// Context is what a signal was at this time of the day over a month, and
// around this day a year ago. It is shown and judges nothing.
type Context struct{ Month, Year Band }

// Context is what can be said of an instant beside its reference. A band of
// zero hours is not known.
func (h *History) Context(s *Signal, at time.Time) Context {
	hour := hourStart(at, h.loc)
	now := hourOfWeek(hour)
	pick := func(from, to time.Time) Band {
		var m mixture
		for _, r := range h.between(s.Name, from, to) {
			if int(r.week)%24 == now%24 && r.n >= leastSamples {
				m = append(m, r)
			}
		}
		if len(m) == 0 {
			return Band{}
		}
		return m.band(s)
	}
	ago := hour.Add(-52 * week) // the same day of the week
	return Context{Month: pick(hour.Add(-30*day-time.Hour), hour), Year: pick(ago.Add(-3*day-2*time.Hour), ago.Add(3*day+2*time.Hour))}
}

// mixture is a distribution that is made of hours, each of which is straight
// between its quantiles and weighs as much as it has samples.
type mixture []hourRow

func (m mixture) band(s *Signal) Band {
	b := Band{Hours: len(m), Extreme: float64(m[0].extreme)}
	for _, r := range m {
		if s.worse(float64(r.extreme), b.Extreme) > 0 {
			b.Extreme = float64(r.extreme)
		}
	}
	lo, hi := m.ends()
	for i, q := range [...]float64{0.05, 0.25, 0.50, 0.75, 0.95} {
		b.Q[i] = bisect(lo, hi, func(x float64) bool { return m.below(x) >= q })
	}
	return b
}

// scale is the robust spread: the largest of what the quartiles, the outer
// quantiles and the median absolute deviation say (each is a standard
// deviation where the distribution is normal), and the signal's floor.
func (m mixture) scale(b *Band, floor float64) float64 {
	lo, hi := m.ends()
	mad := bisect(0, hi-lo, func(d float64) bool { return m.below(b.Q[2]+d)-m.below(b.Q[2]-d) >= 0.5 })
	return max((b.Q[3]-b.Q[1])/1.349, (b.Q[4]-b.Q[0])/3.29, madToSigma*mad, floor)
}

func (m mixture) ends() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, r := range m {
		lo, hi = min(lo, float64(r.q[0])), max(hi, float64(r.q[4]))
	}
	return lo, hi
}

// below is the share of the distribution that is at most x.
func (m mixture) below(x float64) float64 {
	var sum, all float64
	for i := range m {
		w := float64(m[i].n)
		sum, all = sum+w*m[i].below(x), all+w
	}
	return sum / all
}

func (r *hourRow) below(x float64) float64 {
	at := [...]float64{0.05, 0.25, 0.50, 0.75, 0.95}
	switch {
	case x < float64(r.q[0]):
		return 0
	case x >= float64(r.q[4]):
		return 1
	}
	for i := 1; ; i++ {
		if hi := float64(r.q[i]); x < hi {
			lo := float64(r.q[i-1])
			return at[i-1] + (at[i]-at[i-1])*(x-lo)/(hi-lo)
		}
	}
}

// bisect is the least x between lo and hi that holds, to a part in 2^40.
func bisect(lo, hi float64, holds func(float64) bool) float64 {
	if holds(lo) {
		return lo
	}
	for range 40 {
		mid := lo + (hi-lo)/2
		if holds(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
