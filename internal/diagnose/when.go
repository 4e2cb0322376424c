package diagnose

import (
	"cmp"
	"slices"

	"iocause/internal/sample"
)

// When is the part of the window that the trouble was in, in seconds from its
// start. Steady is one that lasted throughout.
type When struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Steady bool    `json:"steady"`
	Source string  `json:"source"`
}

const (
	// whenShare is the part of the trouble that must lie in a stretch for it to be
	// named: the rest is what a machine does all the time.
	whenShare = 0.80
	// whenShort is the part of the window that such a stretch may have at most; four
	// fifths of the trouble in half of the time is more than chance.
	whenShort = 0.50
	// whenPoints is how many intervals it takes to tell a stretch from another one.
	whenPoints = 4
)

// when tells in which part of the window there was pressure of I/O, or where that is
// not known of the victim alone, in which its device had requests, if nearly all of
// them are the victim's. nil where neither was measured at several times.
func (c *Case) when() *When {
	var s *sample.Series
	if !c.narrowed() {
		s = c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassIO})
	}
	if s == nil || len(s.Points) < whenPoints || s.Sum() < waitShareLimit*c.w.Seconds() {
		if !c.mostRequests() {
			return nil
		}
		s = c.w.Get(sample.BlockBinTime, sample.Entity{Device: c.device})
	}
	length := c.w.Seconds()
	if s == nil || len(s.Points) < whenPoints || s.Sum() <= 0 || length <= 0 || c.w.Told {
		return nil
	}
	best := When{To: length, Steady: true, Source: s.Source}
	total := s.Sum()
	// recordings of earlier times have them in the order of a table of the kernel
	points := slices.SortedStableFunc(slices.Values(s.Points), func(a, b sample.Point) int { return cmp.Compare(a.At, b.At) })
	// the shortest stretch of intervals with whenShare of the sum: points bear the
	// end of theirs
	sum, from := 0.0, 0
	for to, p := range points {
		sum += p.Value
		for sum-points[from].Value >= whenShare*total && from < to {
			sum -= points[from].Value
			from++
		}
		begin := 0.0
		if from > 0 {
			begin = points[from-1].At.Seconds()
			if gap := points[from].At.Seconds() - begin; gap > longestBin { // bins without requests are left out
				begin = points[from].At.Seconds() - longestBin
			}
		}
		if end := p.At.Seconds(); sum >= whenShare*total && end-begin < best.To-best.From {
			best.From, best.To = begin, end
		}
	}
	if best.To-best.From > whenShort*length {
		return &When{To: length, Steady: true, Source: s.Source}
	}
	best.Steady = false
	return &best
}

// mostRequests tells whether so much of the device's time goes to the victim, or to
// anybody where a device is asked about, that the device's bins tell of it.
func (c *Case) mostRequests() bool {
	if c.target.Device != "" {
		return true
	}
	var s sharing
	c.users(&s)
	return s.own.time > 0 && s.own.time >= whenShare*(s.own.time+s.others.time)
}

// longestBin is the time, in seconds, that one point stands for at most: ticks come
// every second, bins of the block layer are shorter.
const longestBin = 1.1
