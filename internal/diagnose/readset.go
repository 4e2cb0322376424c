package diagnose

import (
	"math"

	"iocause/internal/sample"
)

// readSet is what programs read through the cache, in distinct bytes. A file
// that several of them read counts once.
type readSet struct {
	least  float64 // were seen: no page is counted twice
	likely float64 // with what the window was too short to see, estimated; 0 when it says too little
	most   float64 // the sizes of the files
	open   bool    // of some the size is not known, so that most is no bound
}

// extrapolate is how many times what was seen an estimate may be; further out
// it is no more than the form of an assumption.
const extrapolate = 1.5

// victimsSet is what the victim reads.
func (c *Case) victimsSet() readSet {
	return c.readSet(func(pid int) bool { return pid == c.victim.pid })
}

// readSet adds up the files of the processes that are in it.
func (c *Case) readSet(in func(pid int) bool) readSet {
	var s readSet
	var drawn, distinct float64 // pages put in that had not been there at the start; of these, different ones
	var once, twice float64
	touched := true
	files := map[sample.FileID]bool{}
	for _, m := range []sample.Metric{sample.CacheVisits, sample.CacheInserted, sample.CacheColdMapped} {
		c.w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if (e.PID != 0 || c.w.Told) && e.File != (sample.FileID{}) && in(e.PID) {
				files[e.File] = true
			}
		})
	}
	listed := map[sample.Metric]float64{}
	for f := range files {
		p := c.filePages(f)
		seen, whole := p.seen(), p.whole
		least := seen
		if p.hasTouched {
			least = p.touched
			once, twice = once+p.once, twice+p.twice
		} else {
			touched = false
		}
		most := max(whole, least)
		if whole == 0 {
			s.open = true
		}
		s.least += least
		s.most += most
		drawn += p.inserted
		distinct += max(0, p.inserted-p.reread)
		for _, m := range []sample.Metric{sample.CacheInserted, sample.CacheReread} {
			n, _ := c.w.SumWhere(m, func(e sample.Entity) bool { return e.File == f && in(e.PID) })
			listed[m] += n
		}
	}
	// files that the table of the window has no room for
	inserted, _ := c.w.SumWhere(sample.CacheInserted, func(e sample.Entity) bool { return e.PID != 0 && e.File == (sample.FileID{}) && in(e.PID) })
	reread, _ := c.w.SumWhere(sample.CacheReread, func(e sample.Entity) bool { return e.PID != 0 && e.File == (sample.FileID{}) && in(e.PID) })
	rest := max(0, inserted-reread-(listed[sample.CacheInserted]-listed[sample.CacheReread]))
	if rest > 0.05*s.least && rest >= coldVisits {
		s.least, s.most, s.open = s.least+rest, s.most+rest, true
		touched = false
	}
	switch {
	case touched && len(files) > 0:
		s.likely = s.least + unseen(once, twice)
	case distinct > 0 && drawn > distinct:
		s.likely = s.least + population(distinct, drawn) - distinct
	case drawn > 0 && distinct == 0: // nothing new came in
		s.likely = s.least
	}
	if !s.open && s.most > 0 {
		s.likely = min(s.likely, s.most)
	}
	if s.likely > extrapolate*s.least {
		s.likely = 0
	}
	for _, v := range []*float64{&s.least, &s.likely, &s.most} {
		*v *= pageSize
	}
	return s
}

// filePages is what is known of one file's pages, whoever read them.
type filePages struct {
	resident, evicted, inserted, reread, visits, mapped float64
	known                                               bool    // resident is
	whole                                               float64 // the file's size, 0 when not known
	touched, once, twice                                float64 // asked for by read calls; of these, once and twice
	hasTouched                                          bool
}

func (c *Case) filePages(f sample.FileID) filePages {
	of := func(m sample.Metric) float64 {
		n, _ := c.w.SumWhere(m, func(e sample.Entity) bool { return e.File == f && e.PID != 0 })
		return n
	}
	p := filePages{
		evicted: of(sample.CacheEvicted), inserted: of(sample.CacheInserted), reread: of(sample.CacheReread),
		visits: of(sample.CacheVisits), mapped: of(sample.CacheColdMapped) + of(sample.CacheFaults),
	}
	p.resident, p.known = c.w.Value(sample.CacheResident, sample.Entity{File: f})
	if size := c.w.Files[f].Size; size > 0 {
		p.whole = math.Ceil(float64(size) / pageSize)
	}
	return p
}

// seen is the distinct pages that were in the cache at some time of the window:
// those there at its end, and those evicted that have not come back. What is
// cached but was not asked for is left out as far as the calls tell.
func (p *filePages) seen() float64 {
	first := max(0, p.inserted-p.reread)
	n := first
	if p.known {
		n = max(n, p.resident+max(0, p.evicted-p.reread))
	}
	if p.mapped == 0 { // what is used through a mapping is not counted
		n = min(n, max(first, p.visits))
	}
	if p.whole > 0 {
		n = min(n, p.whole)
	}
	return n
}

// unseen estimates how many were not met, of those that were met once and
// twice: Chao's lower bound (Scand. J. Statist. 11, 1984), exact where all are
// equally likely to be met.
func unseen(once, twice float64) float64 {
	if twice == 0 {
		if once == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return once * once / (2 * twice)
}

// population estimates how many there are when so many draws met so many
// distinct ones, each as likely as the other.
func population(distinct, draws float64) float64 {
	if distinct <= 0 || draws <= distinct {
		return math.Inf(1)
	}
	low, high := distinct, draws*draws/(draws-distinct) // twice what few repeats tell
	for range 100 {
		n := (low + high) / 2
		if n*-math.Expm1(-draws/n) < distinct {
			low = n
		} else {
			high = n
		}
	}
	return high
}

// fits tells that all of it fits, exceeds that what was seen does not. Neither
// holds where the window was too short to tell.
func (s *readSet) fits(room float64) bool    { return !s.open && s.most > 0 && s.most <= room }
func (s *readSet) exceeds(room float64) bool { return s.least > room }

// known tells whether there is any figure of it.
func (s *readSet) known() bool { return s.least > 0 || !s.open && s.most > 0 }

// span is the least and the largest size that it may have, given that it did
// not fit into the room there was; high is 0 when nothing bounds it.
func (s *readSet) span(room float64) (low, high float64) {
	if s.likely > room {
		return s.likely, s.likely
	}
	low, high = max(s.least, room), s.most
	if s.open || high <= low {
		high = 0
	}
	if s.open && s.likely > low {
		low = s.likely
	}
	return low, high
}

// between writes a span: "1.0 GiB", "between 1.0 and ...", "more than 1.0 GiB".
func between(low, high float64) string {
	switch {
	case high == 0:
		return "more than " + bytes(low)
	case high <= 1.1*low:
		return bytes(high)
	}
	return "between " + bytes(low) + " and " + bytes(high)
}

// evidence shows the set with what bounds it.
func (c *Case) setEvidence(name string, s *readSet) []Evidence {
	var e []Evidence
	if s.least > 0 {
		e = append(e, c.figure(name, s.least, "bytes", sample.CacheInserted))
	}
	if !s.open && s.most > 0 {
		e = append(e, c.figure("size of those files", s.most, "bytes", sample.CacheInserted))
	}
	return e
}
