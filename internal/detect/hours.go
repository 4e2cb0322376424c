package detect

import (
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// slotLength is the length of the samples that are judged and learned.
const slotLength = 10 * time.Second

// hourStart is the beginning of the hour that the clock on the wall shows.
// Unlike Truncate it holds where the zone is off by half an hour, and tells
// the two hours apart that have one name when summer time ends.
func hourStart(at time.Time, loc *time.Location) time.Time {
	at = at.In(loc)
	return at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
}

// hourSum gathers the samples of one signal in one hour.
type hourSum struct {
	values  []float64
	minute  []int16 // of each value, from the start of the hour
	alarmed int     // samples of an incident
	recurs  bool    // they are learned all the same
}

func (h *hourSum) add(at time.Duration, v float64) {
	h.values = append(h.values, v)
	h.minute = append(h.minute, int16(at/time.Minute))
}

// end is the sum; ok is false for an hour without samples. It leaves h empty.
func (h *hourSum) end(s *Signal, start time.Time) (hour sample.Hour, ok bool) {
	hour = sample.Hour{Signal: s.Name, Start: start, N: len(h.values), Alarmed: h.alarmed}
	ok = hour.N > 0 || hour.Alarmed > 0
	if hour.N > 0 {
		hour.Extreme = h.worstMinute(s)
		slices.Sort(h.values)
		for i, q := range sample.HourQuantiles() {
			hour.Q[i] = sortedQuantile(h.values, q)
		}
	}
	h.values, h.minute, h.alarmed = h.values[:0], h.minute[:0], 0
	return hour, ok
}

// worstMinute is the median of the minute that has the worst.
func (h *hourSum) worstMinute(s *Signal) float64 {
	var worst float64
	found := false
	var buf [8]float64
	for from := 0; from < len(h.values); {
		to := from + 1
		for to < len(h.values) && h.minute[to] == h.minute[from] {
			to++
		}
		minute := append(buf[:0], h.values[from:to]...)
		slices.Sort(minute)
		median := sortedQuantile(minute, 0.5)
		if !found || s.worse(median, worst) > 0 {
			worst, found = median, true
		}
		from = to
	}
	return worst
}

// sortedQuantile is the quantile of sorted values, between neighbours by their
// distance (type 7 of Hyndman and Fan, The American Statistician 50, 1996).
func sortedQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(math.Floor(at))
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}
