package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

// caps watches the limits of cgroups: of I/O and processor time, that hold back
// what is in them, and of memory, below which there may be no room for what it
// needs. Being held to a limit is what limits are for. So it is told only of a
// cgroup that was seen for an hour and was not held to that limit for this long
// in the week before. Safe for concurrent use.
type caps struct {
	holds, oomHolds, seen time.Duration // see capHolds, oomHolds and capKnown

	mu     sync.Mutex
	first  map[string]time.Time // by cgroup: when it was seen first
	newest map[string]time.Time // and last
	known  map[capKey]*capState
	now    []sample.Limit

	kept   time.Time // when it was put into the file last; see capskept.go
	turned bool      // a limit began to hold or ceased to since
}

// capKey is a limit of a cgroup.
type capKey struct{ kind, cgroup, what string }

// capState is what is known of a limit.
type capState struct {
	spells []capSpell // of the last capWithin
	on     bool       // held for long enough
	tell   bool       // and that is news
	began  time.Time  // of this time, or of the last one
	ended  time.Time  // of the last one
	text   string
}

// capSpell is a window in which the limit held.
type capSpell struct {
	end    time.Time
	length time.Duration
}

const (
	capEvery  = 10 * time.Second
	capWithin = 5 * time.Minute
	capHolds  = 4 * time.Minute    // of capWithin, to be told
	oomHolds  = 30 * time.Second   // the same, before programs are ended
	capKnown  = time.Hour          // a cgroup is seen before its limits are told
	capUsual  = 8 * 24 * time.Hour // after which a limit that held is news again
	capMost   = 10_000             // cgroups that are remembered though they are gone
	ioNear    = 0.9                // of an I/O limit is at it
	cpuNear   = 0.5                // of the periods in which a cgroup ran it was stopped
	anonNear  = 0.95               // of a memory limit is taken by what cannot be dropped
	rereads   = 256                // pages a second that a cgroup at its memory limit reads again
)

// capSource is the source of these limits, in the list of all.
const capSource = "cgroup"

func newCaps() *caps {
	return &caps{holds: capHolds, oomHolds: oomHolds, seen: capKnown, first: map[string]time.Time{}, newest: map[string]time.Time{}, known: map[capKey]*capState{}}
}

// take are the limits that hold and are news, since the last call. Of nil there
// are none.
func (c *caps) take() []sample.Limit {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.now
	c.now = nil
	return out
}

// see takes a window of the cgroups.
func (c *caps) see(w *sample.Window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := w.Start.Add(w.Length)
	c.meet(w, end)
	reached := map[capKey]string{}
	ioCaps(w, reached)
	cpuCaps(w, reached)
	memoryCaps(w, reached)
	for k := range reached {
		if c.known[k] == nil {
			c.known[k] = &capState{}
		}
	}
	c.now = nil
	for k, s := range c.known {
		text, at := reached[k]
		if at {
			s.spells = append(s.spells, capSpell{end, w.Length})
			s.text = text
		}
		c.step(k, s, end)
		if s.on && s.tell && at && end.Sub(s.began) < detect.DefaultRule().Lasting {
			c.now = append(c.now, sample.Limit{Kind: k.kind, Of: strings.TrimSpace(k.cgroup + " " + k.what), What: s.text})
		}
		if !s.on && len(s.spells) == 0 && end.Sub(s.ended).Abs() > capUsual {
			delete(c.known, k)
		}
	}
	slices.SortFunc(c.now, func(a, b sample.Limit) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What)) })
}

// meet notes which cgroups there are.
func (c *caps) meet(w *sample.Window, now time.Time) {
	for _, m := range []sample.Metric{sample.CgroupMemUsage, sample.CgroupReadBytes, sample.CgroupReads, sample.CgroupIOLimit, sample.CgroupCPUQuota, sample.CgroupPeriods} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.Cgroup == "" {
				return
			}
			if c.first[e.Cgroup].IsZero() || c.first[e.Cgroup].After(now) { // the clock was set back
				c.first[e.Cgroup] = now
			}
			c.newest[e.Cgroup] = now
		})
	}
	for g, seen := range c.newest {
		if gone := now.Sub(seen).Abs(); gone > capUsual || gone > capWithin && len(c.newest) > capMost {
			delete(c.newest, g)
			delete(c.first, g)
		}
	}
}

// step tells whether a limit has held for long enough by now, and whether that
// is news.
func (c *caps) step(k capKey, s *capState, now time.Time) {
	s.spells = slices.DeleteFunc(s.spells, func(x capSpell) bool { return now.Sub(x.end).Abs() >= capWithin })
	held := time.Duration(0)
	for _, x := range s.spells {
		held += x.length
	}
	need := c.holds
	if k.kind == sample.LimitOOM {
		need = c.oomHolds
	}
	if held >= need == s.on {
		return
	}
	c.turned = true
	if s.on {
		s.on, s.ended = false, now
		return
	}
	began := s.spells[0].end
	usual := !s.ended.IsZero() && began.Sub(s.ended) < capUsual
	if goesOn := usual && s.tell && began.Sub(s.ended) < detect.DefaultRule().Join; goesOn {
		s.on = true
		return
	}
	s.on, s.began = true, began
	s.tell = !usual && began.Sub(c.first[k.cgroup]) >= c.seen
}

// ioCaps are the I/O limits that cgroups are at. A limit is one of the cgroup
// and all below it.
func ioCaps(w *sample.Window, reached map[capKey]string) {
	names := map[string]struct {
		metric sample.Metric
		what   string
	}{
		"read_bytes": {sample.CgroupReadBytes, "bytes read"}, "write_bytes": {sample.CgroupWriteBytes, "bytes written"},
		"reads": {sample.CgroupReads, "reads"}, "writes": {sample.CgroupWrites, "writes"},
	}
	w.Each(sample.CgroupIOLimit, func(limited sample.Entity, s *sample.Series) {
		n, ok := names[limited.Class]
		limit := s.Last()
		if !ok || limit <= 0 || w.Seconds() <= 0 {
			return
		}
		did := 0.0
		w.Each(n.metric, func(e sample.Entity, s *sample.Series) {
			if e.Device == limited.Device && within(e.Cgroup, limited.Cgroup) {
				did += s.Sum()
			}
		})
		if rate := did / w.Seconds(); rate >= ioNear*limit {
			reached[capKey{sample.LimitThrottled, limited.Cgroup, limited.Device + " " + limited.Class}] = fmt.Sprintf(
				"the cgroup %q is at its limit of %.0f %s a second on %s (%.0f)", limited.Cgroup, limit, n.what, limited.Device, rate)
		}
	})
}

func within(cgroup, top string) bool {
	return cgroup == top || strings.HasPrefix(cgroup, strings.TrimSuffix(top, "/")+"/")
}

// cpuCaps are the processor limits that stop cgroups.
func cpuCaps(w *sample.Window, reached map[capKey]string) {
	w.Each(sample.CgroupThrottled, func(e sample.Entity, s *sample.Series) {
		periods, ok := w.Sum(sample.CgroupPeriods, e)
		quota, limited := w.Value(sample.CgroupCPUQuota, e)
		if !ok || !limited || periods <= 0 || s.Sum() < cpuNear*periods {
			return
		}
		reached[capKey{sample.LimitThrottled, e.Cgroup, "cpu"}] = fmt.Sprintf(
			"the cgroup %q was stopped in %.0f of %.0f periods for want of more than %.3g processors", e.Cgroup, s.Sum(), periods, quota)
	})
}

// memoryCaps are the memory limits under which cgroups read again what had to
// go, or under which there is no room for what cannot go.
func memoryCaps(w *sample.Window, reached map[capKey]string) {
	w.Each(sample.CgroupMemLimit, func(limited sample.Entity, s *sample.Series) {
		limit, e := s.Last(), sample.Entity{Cgroup: limited.Cgroup}
		if limit <= 0 || w.Seconds() <= 0 {
			return
		}
		hits, _ := w.Sum(sample.CgroupLimitHits, e)
		file, _ := w.Sum(sample.CgroupRefault, e)
		anon, _ := w.Sum(sample.CgroupRefaultAn, e)
		if again := (file + anon) / w.Seconds(); hits > 0 && again >= rereads {
			reached[capKey{sample.LimitCap, e.Cgroup, "memory"}] = fmt.Sprintf(
				"the cgroup %q is at its memory limit of %.0f bytes and reads %.0f pages a second again", e.Cgroup, limit, again)
		}
		own, ok := w.Value(sample.CgroupMemAnon, e)
		shared, _ := w.Value(sample.CgroupMemShmem, e)
		if ok && limited.Class == "max" && own+shared >= anonNear*limit {
			reached[capKey{sample.LimitOOM, e.Cgroup, "memory"}] = fmt.Sprintf(
				"%.1f %% of the memory that the cgroup %q may take is what cannot be dropped", 100*(own+shared)/limit, e.Cgroup)
		}
	})
}
