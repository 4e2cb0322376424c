package lines

import "strings"

// Snapshots collects counters that a text shows at two or more instants.
type Snapshots struct {
	First, Last map[string]float64
	FirstLine   int
	LastLine    int
	Taken       int
	seen        map[string]bool
}

// maxCounters bounds a snapshot.
const maxCounters = 4096

// Add takes one counter. One that comes again opens the next snapshot.
func (s *Snapshots) Add(name string, v float64, n int) {
	if s.First == nil {
		s.First, s.Last, s.seen = map[string]float64{}, map[string]float64{}, map[string]bool{}
		s.Taken, s.FirstLine = 1, n
	}
	if s.seen[name] {
		s.Taken++
		clear(s.seen)
	}
	if len(s.First) >= maxCounters {
		return
	}
	s.seen[name] = true
	if s.Taken == 1 {
		s.First[name] = v
	}
	s.Last[name] = v
	s.LastLine = n
}

// Rise is how much a counter grew; ok is false without two values of it, or
// when it fell.
func (s *Snapshots) Rise(name string) (v float64, ok bool) {
	a, ok1 := s.First[name]
	b, ok2 := s.Last[name]
	return b - a, ok1 && ok2 && s.Taken > 1 && b >= a
}

// Pause is the seconds of the last sleep command in a text, 0 without one.
func Pause(before string) float64 {
	at := strings.LastIndex(before, "sleep ")
	if at < 0 {
		return 0
	}
	f := strings.FieldsFunc(before[at+len("sleep "):], func(r rune) bool { return strings.ContainsRune(" ;\n&)", r) })
	if len(f) == 0 {
		return 0
	}
	v, _ := Number(f[0])
	return min(v, 86400)
}
