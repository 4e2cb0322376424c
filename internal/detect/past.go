package detect

import "slices"

// past is what a group did in windows in which it was at work, the oldest first:
// each figure in the order of time and in that of size, so that a quantile costs
// nothing and a new window a search.
type past struct {
	chars, cpu   sliding
	waits, locks sliding    // means of the minute that ended with the window
	sums         [2]float64 // of what waited in the windows themselves, all and locks
	raw          [][2]float32
}

func (p *past) len() int { return len(p.chars.byTime) }

// add takes a window and the means of the last minute.
func (p *past) add(d, minute Did) {
	p.chars.add(d.Chars)
	p.cpu.add(d.CPU)
	p.waits.add(minute.Waits)
	p.locks.add(minute.Locks)
	raw := [2]float32{float32(d.Waits), float32(d.Locks)}
	p.raw = append(p.raw, raw)
	for i, v := range raw {
		p.sums[i] += float64(v)
	}
}

// drop forgets the oldest window.
func (p *past) drop() {
	p.chars.drop()
	p.cpu.drop()
	p.waits.drop()
	p.locks.drop()
	for i, v := range p.raw[0] {
		p.sums[i] = max(0, p.sums[i]-float64(v))
	}
	p.raw = p.raw[1:]
}

// usual are the medians and the 5 % quantiles of what the group did.
func (p *past) usual() (median, low Did) {
	if p.len() == 0 {
		return median, low
	}
	least := p.len() / 20 // of few the least
	return Did{Chars: p.chars.quantile(0.5), CPU: p.cpu.quantile(0.5)}, Did{Chars: float64(p.chars.bySize[least]), CPU: float64(p.cpu.bySize[least])}
}

// waited are the means of what waited in the windows before the newest, all and
// locks.
func (p *past) waited(newest int) (waits, locks float64) {
	n := p.len() - newest
	if n <= 0 {
		return 0, 0
	}
	sums := p.sums
	for _, raw := range p.raw[n:] {
		for i, v := range raw {
			sums[i] -= float64(v)
		}
	}
	return max(0, sums[0]/float64(n)), max(0, sums[1]/float64(n))
}

// sliding is a figure of some windows in a row.
type sliding struct{ byTime, bySize []float32 }

func (s *sliding) add(v float64) {
	x := float32(v)
	s.byTime = append(s.byTime, x)
	at, _ := slices.BinarySearch(s.bySize, x)
	s.bySize = slices.Insert(s.bySize, at, x)
}

func (s *sliding) drop() {
	at, _ := slices.BinarySearch(s.bySize, s.byTime[0])
	s.bySize = slices.Delete(s.bySize, at, at+1)
	s.byTime = s.byTime[1:]
}

// quantile lies between neighbours by their distance, as that of hours does.
func (s *sliding) quantile(q float64) float64 {
	at := q * float64(len(s.bySize)-1)
	below := int(at)
	if below+1 >= len(s.bySize) {
		return float64(s.bySize[len(s.bySize)-1])
	}
	a, b := float64(s.bySize[below]), float64(s.bySize[below+1])
	return a + (at-float64(below))*(b-a)
}
