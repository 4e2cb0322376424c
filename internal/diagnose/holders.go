package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Holder is who holds memory of the host, or what kind of memory it is.
type Holder struct {
	Kind   string  `json:"kind"` // anonymous, tmpfs and shared, page cache, slab, huge pages; process; cgroup
	Who    Culprit `json:"who"`
	Bytes  float64 `json:"bytes"`
	Source string  `json:"source"`
}

// mostHolders bounds the processes and the cgroups that are listed.
const mostHolders = 3

// holdsMemory tells of a cause for which it matters who has the memory.
func holdsMemory(id ID) bool {
	return slices.Contains([]ID{CacheBusting, CacheSqueezed, CachePollution, SwapThrash, ReclaimStall}, id)
}

// holders are the kinds of memory of the host by size, the processes with most
// resident memory, and the cgroups with most anonymous and shared memory. Of a
// process, what it shares with others is in the figure of each.
func (c *Case) holders() []Holder {
	if c.w.Told {
		return nil
	}
	bySize := func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Who.PID, b.Who.PID), cmp.Compare(a.Who.Cgroup, b.Who.Cgroup))
	}
	var kinds, processes, cgroups []Holder
	for _, k := range []struct {
		kind   string
		metric sample.Metric
	}{{"anonymous", sample.MemAnon}, {"tmpfs and shared", sample.MemShmem}, {"page cache", sample.MemCache}, {"slab", sample.MemSlab}, {"huge pages", sample.MemHuge}} {
		if v, ok := c.gauge(k.metric); ok && (v > 0 || k.metric != sample.MemHuge) {
			if shared, _ := c.gauge(sample.MemShmem); k.metric == sample.MemCache {
				v = max(0, v-shared) // the kernel counts tmpfs among the cache
			}
			kinds = append(kinds, Holder{Kind: k.kind, Bytes: v, Source: c.w.Source(k.metric)})
		}
	}
	c.w.Each(sample.ProcRSS, func(e sample.Entity, s *sample.Series) {
		p := c.w.Processes[e.PID]
		processes = append(processes, Holder{Kind: "process", Who: Culprit{PID: e.PID, Comm: p.Comm, Cgroup: p.MemoryCgroup}, Bytes: s.Last(), Source: s.Source})
	})
	held := map[string]float64{}
	for _, m := range []sample.Metric{sample.CgroupMemAnon, sample.CgroupMemShmem} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) { held[e.Cgroup] += s.Last() })
	}
	for cg, b := range held {
		if cg == "/" || strings.HasPrefix(c.victim.process.MemoryCgroup+"/", cg+"/") && cg != c.victim.process.MemoryCgroup {
			continue // all that is below is in it, too
		}
		cgroups = append(cgroups, Holder{Kind: "cgroup", Who: Culprit{Cgroup: cg}, Bytes: b, Source: c.w.Source(sample.CgroupMemAnon)})
	}
	slices.SortFunc(kinds, bySize)
	slices.SortFunc(processes, bySize)
	slices.SortFunc(cgroups, bySize)
	return slices.Concat(kinds, processes[:min(len(processes), mostHolders)], cgroups[:min(len(cgroups), mostHolders)])
}
