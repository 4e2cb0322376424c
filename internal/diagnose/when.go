package diagnose

import (
	"cmp"
	"slices"
	"time"

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
	// whenPoints is how many intervals it takes to tell a stretch from another one,
	// and how many seconds, for ticks come every second.
	whenPoints = 4
)

// when tells in which part of the window the victim waited for I/O; where that was
// not measured second by second, in which there was pressure of I/O; and where that is
// not known of the victim alone, in which its device had requests, if nearly all of
// them are the victim's. nil where none of these is known.
func (c *Case) when() *When {
	length := c.w.Seconds()
	s := c.course()
	if s == nil || length <= 0 || c.w.Told {
		return nil
	}
	total := s.Sum()
	best := When{To: length, Steady: true, Source: s.Source}
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
		begin := beginOf(points, from)
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

// course is the series that tells when the trouble was, nil where there is none.
func (c *Case) course() *sample.Series {
	if c.target.Device == "" {
		if s := c.ownCourse(); s != nil {
			return s
		}
	}
	enough := func(s *sample.Series) bool { return s != nil && len(s.Points) >= whenPoints }
	if !c.narrowed() {
		if s := c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassIO}); enough(s) && s.Sum() >= waitShareLimit*c.w.Seconds() {
			return s
		}
	}
	if s := c.w.Get(sample.BlockBinTime, sample.Entity{Device: c.device}); enough(s) && s.Sum() > 0 && c.mostRequests() {
		return s
	}
	return nil
}

// ownCourse is the victim's own waiting, second by second, where that is what mostly
// holds it up, the series has nearly all of it and no wait is longer than its second.
func (c *Case) ownCourse() *sample.Series {
	v := &c.victim
	s := c.w.Get(sample.WaitCourse, sample.Entity{PID: v.pid})
	if s == nil || c.w.Seconds() < whenPoints || s.Sum() < max(whenShare*v.blocked(), waitShareLimit*c.w.Seconds()) || v.lock+v.stall > v.blocked() {
		return nil
	}
	seconds := map[time.Duration]float64{} // of one process that stands for several, a point of each
	for _, p := range s.Points {
		seconds[p.At] += p.Value
		if seconds[p.At] > longestBin*max(1, v.threads) {
			return nil // it began before the second that it ended in
		}
	}
	return s
}

// beginOf is where the interval begins that a point stands for, in seconds: where
// the one before ended, for intervals without anything are left out.
func beginOf(points []sample.Point, i int) float64 {
	before := i - 1
	for before >= 0 && points[before].At == points[i].At {
		before--
	}
	begin := points[i].At.Seconds() - longestBin
	if before >= 0 {
		begin = max(begin, points[before].At.Seconds())
	}
	return max(begin, 0)
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
