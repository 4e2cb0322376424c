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

// cgroupLimits watches the limits of cgroups: of I/O and processor time, that hold back
// what is in them, and of memory, below which there may be no room for what it
// needs. Being held to a limit is what limits are for. So it is told only of a
// cgroup that was seen for an hour and was not held to that limit for this long
// in the week before. Safe for concurrent use.
type cgroupLimits struct {
	holds, oomHolds, seen time.Duration // see limitHolds, oomHolds and limitKnown

	mu     sync.Mutex
	first  map[string]time.Time // by cgroup: when it was seen first
	newest map[string]time.Time // and last
	known  map[limitKey]*limitState
	now    []sample.Limit

	kept   time.Time // when it was put into the file last; see cgrouplimitsfile.go
	turned bool      // a limit began to hold or ceased to since
}

// limitKey is a limit of a cgroup.
type limitKey struct{ kind, cgroup, what string }

// limitState is what is known of a limit.
type limitState struct {
	spells []limitSpell // of the last limitWithin
	on     bool         // held for long enough
	tell   bool         // and that is news
	began  time.Time    // of this time, or of the last one
	ended  time.Time    // of the last one
	text   string
}

// limitSpell is a window in which the limit held.
type limitSpell struct {
	end    time.Time
	length time.Duration
}

const (
	limitEvery  = 10 * time.Second
	limitWithin = 5 * time.Minute
	limitHolds  = 4 * time.Minute    // of limitWithin, to be told
	oomHolds    = 30 * time.Second   // the same, before programs are ended
	limitKnown  = time.Hour          // a cgroup is seen before its limits are told
	limitUsual  = 8 * 24 * time.Hour // after which a limit that held is news again
	limitMost   = 10_000             // cgroups that are remembered though they are gone
	ioNear      = 0.9                // of an I/O limit is at it
	cpuNear     = 0.5                // of the periods in which a cgroup ran it was stopped
	anonNear    = 0.95               // of a memory limit is taken by what cannot be dropped
	rereads     = 256                // pages a second that a cgroup at its memory limit reads again
)

// limitSource is the source of these limits, in the list of all.
const limitSource = "cgroup"

func newCgroupLimits() *cgroupLimits {
	return &cgroupLimits{holds: limitHolds, oomHolds: oomHolds, seen: limitKnown, first: map[string]time.Time{}, newest: map[string]time.Time{}, known: map[limitKey]*limitState{}}
}

// take are the limits that hold and are news, since the last call. Of nil there
// are none.
func (c *cgroupLimits) take() []sample.Limit {
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
func (c *cgroupLimits) see(w *sample.Window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := w.Start.Add(w.Length)
	c.meet(w, end)
	reached := map[limitKey]string{}
	ioLimits(w, reached)
	cpuLimits(w, reached)
	memoryLimits(w, reached)
	for k := range reached {
		if c.known[k] == nil {
			c.known[k] = &limitState{}
		}
	}
	c.now = nil
	for k, s := range c.known {
		text, at := reached[k]
		if at {
			s.spells = append(s.spells, limitSpell{end, w.Length})
			s.text = text
		}
		c.step(k, s, end)
		if s.on && s.tell && at && end.Sub(s.began) < detect.DefaultRule().Lasting {
			c.now = append(c.now, sample.Limit{Kind: k.kind, Of: strings.TrimSpace(k.cgroup + " " + k.what), What: s.text})
		}
		if !s.on && len(s.spells) == 0 && end.Sub(s.ended).Abs() > limitUsual {
			delete(c.known, k)
		}
	}
	slices.SortFunc(c.now, func(a, b sample.Limit) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What)) })
}

// meet notes which cgroups there are.
func (c *cgroupLimits) meet(w *sample.Window, now time.Time) {
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
		if gone := now.Sub(seen).Abs(); gone > limitUsual || gone > limitWithin && len(c.newest) > limitMost {
			delete(c.newest, g)
			delete(c.first, g)
		}
	}
}

// step tells whether a limit has held for long enough by now, and whether that
// is news.
func (c *cgroupLimits) step(k limitKey, s *limitState, now time.Time) {
	s.spells = slices.DeleteFunc(s.spells, func(x limitSpell) bool { return now.Sub(x.end).Abs() >= limitWithin })
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
	usual := !s.ended.IsZero() && began.Sub(s.ended) < limitUsual
	if goesOn := usual && s.tell && began.Sub(s.ended) < detect.DefaultRule().Join; goesOn {
		s.on = true
		return
	}
	s.on, s.began = true, began
	s.tell = !usual && began.Sub(c.first[k.cgroup]) >= c.seen
}

// ioLimits are the I/O limits that cgroups are at. A limit is one of the cgroup
// and all below it.
func ioLimits(w *sample.Window, reached map[limitKey]string) {
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
			reached[limitKey{sample.LimitThrottled, limited.Cgroup, limited.Device + " " + limited.Class}] = fmt.Sprintf(
				"the cgroup %q is at its limit of %.0f %s a second on %s (%.0f)", limited.Cgroup, limit, n.what, limited.Device, rate)
		}
	})
}

func within(cgroup, top string) bool {
	return cgroup == top || strings.HasPrefix(cgroup, strings.TrimSuffix(top, "/")+"/")
}

// cpuLimits are the processor limits that stop cgroups.
func cpuLimits(w *sample.Window, reached map[limitKey]string) {
	w.Each(sample.CgroupThrottled, func(e sample.Entity, s *sample.Series) {
		periods, ok := w.Sum(sample.CgroupPeriods, e)
		quota, limited := w.Value(sample.CgroupCPUQuota, e)
		if !ok || !limited || periods <= 0 || s.Sum() < cpuNear*periods {
			return
		}
		reached[limitKey{sample.LimitThrottled, e.Cgroup, "cpu"}] = fmt.Sprintf(
			"the cgroup %q was throttled in %.0f of %.0f periods by its limit of %.3g processors", e.Cgroup, s.Sum(), periods, quota)
	})
}

// memoryLimits are the memory limits under which cgroups read again what had to
// go, or under which there is no room for what cannot go.
func memoryLimits(w *sample.Window, reached map[limitKey]string) {
	w.Each(sample.CgroupMemLimit, func(limited sample.Entity, s *sample.Series) {
		limit, e := s.Last(), sample.Entity{Cgroup: limited.Cgroup}
		if limit <= 0 || w.Seconds() <= 0 {
			return
		}
		hits, _ := w.Sum(sample.CgroupLimitHits, e)
		file, _ := w.Sum(sample.CgroupRefault, e)
		anon, _ := w.Sum(sample.CgroupRefaultAn, e)
		if again := (file + anon) / w.Seconds(); hits > 0 && again >= rereads {
			reached[limitKey{sample.LimitCap, e.Cgroup, "memory"}] = fmt.Sprintf(
				"the cgroup %q is at its memory limit of %.0f bytes and re-reads %.0f pages a second", e.Cgroup, limit, again)
		}
		own, ok := w.Value(sample.CgroupMemAnon, e)
		shared, _ := w.Value(sample.CgroupMemShmem, e)
		if ok && limited.Class == sample.ClassMax && own+shared >= anonNear*limit {
			reached[limitKey{sample.LimitOOM, e.Cgroup, "memory"}] = fmt.Sprintf(
				"%.1f %% of the memory limit of the cgroup %q is memory that cannot be dropped", 100*(own+shared)/limit, e.Cgroup)
		}
	})
}
