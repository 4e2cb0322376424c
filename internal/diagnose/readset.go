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
	open   bool    // of some the size is not known, or there may be more of them, so that most is no bound
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
	files := map[sample.FileID]bool{}
	for _, m := range []sample.Metric{sample.CacheAccesses, sample.CacheInserted, sample.CacheMappedMisses} {
		c.w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if (e.PID != 0 || c.w.Told) && e.File != (sample.FileID{}) && in(e.PID) {
				files[e.File] = true
			}
		})
	}
	var s readSet
	var put, asked drawn       // pages put into the cache, and asked for
	var through, ended float64 // pages, and number, of files that were gone through once
	for f := range files {
		p := c.filePages(f, in)
		least := p.seen()
		if p.asked.known {
			if least = p.asked.distinct; p.mapped > 0 {
				least = max(least, p.seen()) // what is used through a mapping is not asked for
			}
			asked.once, asked.twice = asked.once+p.asked.once, asked.twice+p.asked.twice
		}
		s.least += least
		s.most += max(p.whole, least)
		s.open = s.open || p.whole == 0
		if p.once() {
			through, ended = through+p.whole, ended+1
		}
		put.all += p.inserted
		put.distinct += max(0, p.inserted-p.reread)
	}
	// Who goes from file to file and comes back to none may have more before it.
	s.open = s.open || ended >= severalFiles && 2*through >= s.most
	if rest := c.unlisted(in); rest > 0.05*s.least && rest >= fewMisses {
		s.least, s.most, s.open = s.least+rest, s.most+rest, true
		asked.once, asked.twice = c.processes(sample.CacheTouchOnce, in), c.processes(sample.CacheTouchTwice, in)
	}
	switch {
	case c.w.Has(sample.CacheTouched):
		s.likely = s.least + unseen(asked.once, asked.twice)
	case put.distinct > 0 && put.all > put.distinct:
		s.likely = s.least + population(put.distinct, put.all) - put.distinct
	case put.all > 0 && put.distinct == 0: // nothing new came in
		s.likely = s.least
	}
	if !s.open && s.most > 0 { // estimates of small files are right in their sum alone
		s.least, s.likely = min(s.least, s.most), min(s.likely, s.most)
	}
	if s.likely > extrapolate*s.least {
		s.likely = 0
	}
	for _, v := range []*float64{&s.least, &s.likely, &s.most} {
		*v *= pageSize
	}
	return s
}

// processes adds up a gauge of processes.
func (c *Case) processes(m sample.Metric, in func(pid int) bool) float64 {
	var sum float64
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.PID != 0 && e.File == (sample.FileID{}) && in(e.PID) {
			sum += s.Max()
		}
	})
	return sum
}

// unlisted is the pages of files that the table of the window has no room for.
func (c *Case) unlisted(in func(pid int) bool) float64 {
	var rest float64
	of := func(m sample.Metric) {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID == 0 || e.Class != "" || len(s.Points) == 0 || !in(e.PID) {
				return
			}
			n := s.Sum()
			if m == sample.CacheTouched {
				n = s.Max()
			}
			if m == sample.CacheReread {
				n = -n
			}
			if e.File != (sample.FileID{}) {
				n = -n
			}
			rest += n
		})
	}
	if c.w.Has(sample.CacheTouched) {
		of(sample.CacheTouched)
	} else {
		of(sample.CacheInserted)
		of(sample.CacheReread)
	}
	return max(0, rest)
}

// drawn is pages that were met, and how many different ones these are.
type drawn struct {
	all, distinct, once, twice float64 // once and twice: met so often
	known                      bool
}

// filePages is what is known of one file's pages. All but asked is of whoever
// read them.
type filePages struct {
	resident, evicted, inserted, reread, accesses, mapped float64
	known                                                 bool    // resident is
	whole                                                 float64 // the file's size, 0 when not known
	asked                                                 drawn   // by read calls
}

func (c *Case) filePages(f sample.FileID, in func(pid int) bool) filePages {
	of := func(m sample.Metric) float64 {
		n, _ := c.w.SumWhere(m, func(e sample.Entity) bool { return e.File == f && (e.PID != 0 || c.w.Told) })
		return n
	}
	p := filePages{
		evicted: of(sample.CacheEvicted), inserted: of(sample.CacheInserted), reread: of(sample.CacheReread),
		accesses: of(sample.CacheAccesses), mapped: of(sample.CacheMappedMisses) + of(sample.CacheFaults),
	}
	p.resident, p.known = c.w.Value(sample.CacheResident, sample.Entity{File: f})
	if size := c.w.Files[f].Size; size > 0 {
		p.whole = math.Ceil(float64(size) / pageSize)
	}
	if p.asked.known = c.w.Has(sample.CacheTouched); p.asked.known {
		p.asked.distinct = c.askedFor(sample.CacheTouched, f, in)
		p.asked.once = c.askedFor(sample.CacheTouchOnce, f, in)
		p.asked.twice = c.askedFor(sample.CacheTouchTwice, f, in)
	}
	return p
}

// askedFor is a figure of the different pages of a file that processes asked
// for: a page that several of them ask for counts once where that is known.
func (c *Case) askedFor(m sample.Metric, f sample.FileID, in func(pid int) bool) float64 {
	var sum float64
	others := false
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		switch {
		case e.File != f || e.PID == 0:
		case in(e.PID):
			sum += s.Max()
		default:
			others = true
		}
	})
	together := c.w.Get(m, sample.Entity{File: f})
	if together == nil || others && together.Max() > sum {
		return sum
	}
	return together.Max()
}

// severalFiles is from how many files on that were gone through there may be more.
const severalFiles = 3

// once tells of a file that was gone through in the window, and not twice, by calls or
// by what came into the cache: pages that are mapped and cached are used unseen.
func (p *filePages) once() bool {
	n := max(p.accesses, p.inserted)
	return p.whole > 0 && n >= 0.8*p.whole && n <= 1.2*p.whole
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
		n = min(n, max(first, p.accesses))
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
