package diagnose

import (
	"fmt"
	"slices"
	"time"

	"iocause/internal/sample"
)

// What tells a cache that other memory pushed out from one that was too small
// all the time.
const (
	squeezedShare = 0.10 // of the cache at the start: a cache breathes by some percent as programs come and go
	otherShare    = 0.50 // of what the cache lost, in growth of other memory: some of it had been free
	beganRatio    = 4.0  // re-reads after the growth against before: chance and a warming cache double them
	growerShare   = 0.30 // of the growth, for one process to be named
	dataGrew      = 1.25 // files that were read, against better times: beyond that the data set is another one
	settled       = 0.10 // of the growth: until then it has not begun, and for the rest it is under way
)

// squeeze is how memory moved from the cache to other uses during the window.
type squeeze struct {
	cgroup string  // whose memory, "" the host's
	before float64 // bytes of cache at the start
	after  float64 // at the end
	room   float64 // bytes that the cache could have grown to at the start
	grown  float64 // bytes by which all other memory grew
	kind   string  // which kind of it most
	kindBy float64
	begin  time.Duration // in the window: before that, other memory had not grown
	end    time.Duration // after that, most of its growth was over
	from   sample.Metric // of the cache
	other  sample.Metric // of kind
	since  bool          // against a window of better times, not within this one
}

// cacheSqueezed: the data is the same, but other memory grew and pushed it out
// of the cache.
func cacheSqueezed() Cause {
	return Cause{
		ID: CacheSqueezed, Title: "other memory grew and pushed the data out of the cache",
		Needs: [][]sample.Metric{{sample.CacheMisses}, {sample.CacheReread}, {sample.MemCache}, {sample.VMRefaultFile}},
		Over:  append(append(deviceCauses(), servedCauses()...), CacheBusting, CgroupCacheLimit, CachePollution, ColdCache, MetadataBound, NoisyNeighbour, ReclaimStall),
		Judge: func(c *Case) Verdict {
			v, refused := c.evictedReads()
			if refused != nil {
				return *refused
			}
			q, missing := c.squeeze()
			out := cannotTell(missing)
			if missing == "" {
				out = c.judgeSqueeze(&v, &q)
			}
			if out.Answer == Yes || c.before == nil {
				return out
			}
			// It may have been over when this window began: then it shows
			// against a window of better times.
			if q, missing := c.squeezeSince(); missing == "" {
				return c.judgeSqueeze(&v, &q)
			}
			return out
		},
	}
}

// judgeSqueeze tells whether memory that moved is what the reads wait for.
func (c *Case) judgeSqueeze(v *cacheView, q *squeeze) Verdict {
	lost := q.before - q.after
	from, to := "at the start", "at the end"
	while := "while it was watched"
	if q.since {
		from, to, while = "before", "now", "since better times"
	}
	switch {
	case lost < squeezedShare*q.before:
		return no(fmt.Sprintf("the cache did not shrink %s (%s %s, %s %s)", while, bytes(q.before), from, bytes(q.after), to))
	case q.grown < otherShare*lost:
		return no(fmt.Sprintf("the cache lost %s, but other memory grew by %s only", bytes(lost), bytes(max(q.grown, 0))))
	}
	set := c.victimsSet().least
	if q.since {
		now, then := c.filesAccessed(), c.was.filesAccessed()
		if then > 0 && now > dataGrew*then && now > q.room {
			return no(fmt.Sprintf("the data grew: the files that the victim reads have %s, before %s, and there was room for %s", bytes(now), bytes(then), bytes(q.room)))
		}
	}
	if set > q.room {
		return no(fmt.Sprintf("what the victim re-reads (%s) did not fit before either: there was room for %s", bytes(set), bytes(q.room)))
	}
	earlier, later, ok := c.refaultRates(q)
	if q.since {
		earlier, later, ok = c.refaultsSince()
	}
	switch {
	case !ok:
		return cannotTell("other memory grew from the first interval on: start observing earlier")
	case later < beganRatio*earlier:
		return no("pages were re-read after eviction before other memory grew, too")
	}
	return c.squeezed(v, q, set, earlier, later)
}

// squeezed is the verdict when all is shown.
func (c *Case) squeezed(v *cacheView, q *squeeze, set, earlier, later float64) Verdict {
	k := c.grower(q)
	start, end := "at the start", "at the end"
	if q.since {
		start, end = "before", "now"
	}
	e := append(c.cacheEvidence(v),
		c.figure("cache "+start, q.before, "bytes", q.from).as("cache-before-it-grew"),
		c.figure("cache "+end, q.after, "bytes", q.from).as("cache-after-it-grew"),
		c.figure("growth of other memory", q.grown, "bytes", q.other),
		c.figure("of that "+q.kind, q.kindBy, "bytes", q.other).as("growth-of-the-largest-kind"),
		c.figure("re-reads before it grew", earlier, "pages/s", sample.VMRefaultFile),
		c.figure("re-reads after it grew", later, "pages/s", sample.VMRefaultFile),
		c.figure("what the victim re-reads", set, "bytes", sample.CacheReread))
	who := "what grew"
	if k.Comm != "" {
		who = fmt.Sprintf("%s (pid %d)", k.Comm, k.PID)
	}
	began := 1 - beganRatio*earlier/later
	saved, why := c.freed(v, q.cgroup, q.kindBy)
	return Verdict{
		Answer: Yes, Confidence: confidence(min(began, (v.refault-refaultLimit)/(1-refaultLimit)+0.3), true),
		Weight: c.readWeight(v), Culprit: k, Evidence: e,
		Disprove: "refaults continue after the other memory has shrunk again",
		Advice: append([]Advice{c.promise(c.servedFromMemory(v, v.refault)).advise(
			fmt.Sprintf("free the memory that %s took: %s of %s", who, bytes(q.kindBy), q.kind),
			fmt.Sprintf("the %s that the victim re-reads fit again, as they did before", bytes(set)),
		).saving(saved, why), {
			Do:     fmt.Sprintf("or limit it (memory.max of a cgroup, size= of a tmpfs), or protect the victim's cache (memory.low), or add %s", bytes(max(set-q.after, q.before-q.after))),
			Expect: "the next growth does not evict what is in use",
		}}, c.keep(v, q.cgroup)...),
	}
}

// squeeze reads how the memory moved: in the cgroup whose limit is reached, if
// there is one, else on the host. missing says what is needed and not there.
func (c *Case) squeeze() (q squeeze, missing string) {
	if cg, _, limit, ok := c.memoryLimit(); ok {
		return c.squeezeIn(cg, limit)
	}
	total, hasTotal := c.gauge(sample.MemTotal)
	cache, free := c.w.Get(sample.MemCache, sample.Entity{}), c.w.Get(sample.MemFree, sample.Entity{})
	switch {
	case !hasTotal:
		return q, c.w.WhyAbsent(sample.MemTotal)
	case cache == nil:
		return q, c.w.WhyAbsent(sample.MemCache)
	case free == nil:
		return q, c.w.WhyAbsent(sample.MemFree)
	case len(cache.Points) < 2 || len(cache.Points) != len(free.Points):
		return q, "memory was sampled only once: observe for longer"
	}
	q = squeeze{from: sample.MemCache, before: cache.Points[0].Value, after: cache.Last()}
	q.room = q.before + free.Points[0].Value
	// what is neither cache nor free: huge pages and the kernel's own included
	var other []float64
	for i := range cache.Points {
		other = append(other, total-free.Points[i].Value-cache.Points[i].Value)
	}
	q.grown = other[len(other)-1] - other[0]
	for i, x := range other {
		if x <= other[0]+settled*q.grown {
			q.begin = cache.Points[i].At
		}
	}
	i := slices.IndexFunc(other, func(x float64) bool { return x >= other[0]+(1-settled)*q.grown })
	q.end = cache.Points[max(i, 0)].At
	q.most(c, []growth{
		{"anonymous memory", sample.MemAnon}, {"tmpfs and shared memory", sample.MemShmem}, {"kernel slab", sample.MemSlab}, {"huge pages that are set aside", sample.MemHuge},
	}, func(m sample.Metric) (float64, float64, bool) {
		s := c.w.Get(m, sample.Entity{})
		if s == nil || len(s.Points) < 2 {
			return 0, 0, false
		}
		return s.Points[0].Value, s.Last(), true
	})
	return q, ""
}

// squeezeIn is the same for a cgroup, which is read at the start and at the end.
func (c *Case) squeezeIn(cg string, limit float64) (q squeeze, missing string) {
	first, last, ok := c.charged(sample.CgroupMemFile, cg)
	if !ok {
		return q, "the memory of cgroup " + cg + " was read once only"
	}
	q = squeeze{cgroup: cg, from: sample.CgroupMemFile, before: first, after: last, begin: c.w.Length / 4, end: c.w.Length / 2}
	for _, m := range []sample.Metric{sample.CgroupMemAnon, sample.CgroupMemShmem} {
		first, last, _ := c.charged(m, cg)
		q.grown += last - first
		limit -= first
	}
	q.room = limit
	q.most(c, []growth{{"anonymous memory", sample.CgroupMemAnon}, {"tmpfs and shared memory", sample.CgroupMemShmem}},
		func(m sample.Metric) (float64, float64, bool) { return c.charged(m, cg) })
	return q, ""
}

// growth is one kind of memory.
type growth struct {
	kind   string
	metric sample.Metric
}

// most names the kind of memory that grew most.
func (q *squeeze) most(c *Case, kinds []growth, of func(sample.Metric) (first, last float64, ok bool)) {
	q.kind, q.kindBy, q.other = "other memory", q.grown, q.from
	known := 0.0
	for _, k := range kinds {
		if first, last, ok := of(k.metric); ok && last-first > known {
			known = last - first
			if known >= otherShare*q.grown {
				q.kind, q.kindBy, q.other = k.kind, known, k.metric
			}
		}
	}
}

// charged is a gauge of a cgroup at the start and at the end, those below it
// included: version 1 has them apart, as memory.usage_in_bytes tells.
func (c *Case) charged(m sample.Metric, cg string) (first, last float64, ok bool) {
	apart := c.w.Source(sample.CgroupMemUsage) == "memory.usage_in_bytes"
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.Cgroup != cg && !(apart && inCgroup(e.Cgroup, cg)) || len(s.Points) == 0 {
			return
		}
		last += s.Last()
		if len(s.Points) > 1 { // else it came to be in the window, and held nothing before
			first += s.Points[0].Value
		}
		ok = ok || e.Cgroup == cg && len(s.Points) > 1
	})
	return first, last, ok
}

// refaultRates are the pages a second that were re-read after eviction before
// other memory grew and once it had. A tick counts where it lies as a whole.
func (c *Case) refaultRates(q *squeeze) (earlier, later float64, ok bool) {
	s := c.w.Get(sample.VMRefaultFile, sample.Entity{})
	if s == nil {
		return 0, 0, false
	}
	var at time.Duration
	var early, late time.Duration
	for _, p := range s.Points {
		step := p.At - at
		switch {
		case p.At <= q.begin || at == 0:
			earlier, early = earlier+p.Value, early+step
		case at >= q.end:
			later, late = later+p.Value, late+step
		}
		at = p.At
	}
	if early <= 0 || late <= 0 || later == 0 {
		return 0, 0, false
	}
	return earlier / early.Seconds(), later / late.Seconds(), true
}

// grower is the process whose memory grew most, where that is a good part of
// all growth; of tmpfs also one that wrote so much elsewhere than to a disk.
// Else nobody is named but the cgroup.
func (c *Case) grower(q *squeeze) Culprit {
	by := map[int]float64{}
	c.w.Each(sample.ProcRSS, func(e sample.Entity, s *sample.Series) {
		if q.cgroup != "" && !inCgroup(c.w.Processes[e.PID].MemoryCgroup, q.cgroup) || len(s.Points) == 0 {
			return
		}
		by[e.PID] = s.Last()
		switch {
		case q.since:
			by[e.PID] -= c.residentThen(e.PID)
		case len(s.Points) > 1:
			by[e.PID] -= s.Points[0].Value
		}
		if q.other == sample.MemShmem || q.other == sample.CgroupMemShmem {
			chars, _ := c.w.Sum(sample.ProcWriteChars, e)
			disk, _ := c.w.Sum(sample.ProcWriteBytes, e)
			by[e.PID] = max(by[e.PID], chars-disk)
		}
	})
	pid := most(by)
	if by[pid] < growerShare*q.grown {
		return Culprit{Cgroup: q.cgroup, Device: c.device}
	}
	p := c.w.Processes[pid]
	return Culprit{PID: pid, Comm: p.Comm, Cgroup: p.MemoryCgroup, Device: c.device}
}
