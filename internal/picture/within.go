package picture

import (
	"slices"
	"strconv"
	"time"

	"iocause/internal/sample"
)

// within are the columns of a single window: between the instants at which the
// kernel's own figures were read. What is known of the window as a whole alone, as
// what kernel programs count, is in none of them, unless it is the only one.
func within(w *sample.Window) []*column {
	instants := map[time.Duration]bool{}
	look := func(m sample.Metric) {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if _, ok := keyOf(m, e); ok && len(s.Points) > 1 {
				for _, p := range s.Points {
					instants[p.At] = true
				}
			}
		})
	}
	for _, m := range append(counters(), gauges()...) {
		look(m)
	}
	delete(instants, 0)
	var ends []time.Duration
	for at := range instants {
		ends = append(ends, at)
	}
	slices.Sort(ends)
	if len(ends) < 2 || len(ends) > mostColumns {
		return []*column{columnOf(w, 0)}
	}
	var all []*column
	begin := time.Duration(0)
	for _, end := range ends {
		all = append(all, &column{begin: begin, end: end, seconds: (end - begin).Seconds(),
			sums: map[figureKey]float64{}, gauges: map[figureKey]float64{}})
		begin = end
	}
	// at is the column that an instant ends in.
	at := func(t time.Duration) *column {
		i, _ := slices.BinarySearch(ends, t)
		return all[min(i, len(all)-1)]
	}
	for _, m := range counters() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			k, ok := keyOf(m, e)
			if !ok || len(s.Points) < 2 {
				return
			}
			for _, p := range s.Points {
				at(p.At).sums[k] += p.Value
			}
		})
	}
	for _, m := range gauges() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			k, ok := keyOf(m, e)
			if !ok || len(s.Points) < 2 {
				return
			}
			for _, p := range s.Points {
				at(p.At).gauges[k] = p.Value
			}
		})
	}
	return all
}

// processName is how a process is called where it stands alone.
func processName(pid int, comm string) string {
	if comm == "" {
		return "process " + strconv.Itoa(pid)
	}
	return comm + " (" + strconv.Itoa(pid) + ")"
}
