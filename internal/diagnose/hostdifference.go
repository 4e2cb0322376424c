package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// hostDifference: a setting, the kernel or the hardware is another one, and the
// program waits longer for the same work.
func hostDifference() Cause {
	return Cause{
		ID: HostDifference, Title: "the machine's settings differ from the baseline, and it is slower", Compares: true,
		Needs: [][]sample.Metric{{sample.WaitIO, sample.ProcBlkioDelay}, {sample.ProcReadChars, sample.CacheAccesses}},
		Over: append(deviceCauses(), DeviceDegraded, ColdCache, MetadataBound, CacheBusting, ReadaheadWaste, DirectIO, SyncWrites,
			DirtyThrottling, WritebackInterference, SwapThrash, ReclaimStall, NoisyNeighbour),
		Judge: func(c *Case) Verdict {
			if v, out := c.uncompared(); out {
				return v
			}
			switch {
			case c.before.Unknown != "":
				return cannotTell("the settings of one side are not known: " + c.before.Unknown)
			case len(c.before.Differ) == 0:
				return no("no setting differs")
			}
			now, was := c.pace(), c.was.pace()
			if now.bytes < leastWork || was.bytes < leastWork {
				return cannotTell(fmt.Sprintf("too little work of %s to compare: it read and wrote %s now, %s before",
					orNobody(c.victim.process.Comm), bytes(now.bytes), bytes(was.bytes)))
			}
			longer := now.waiting / now.bytes / max(was.waiting/was.bytes, 1e-15)
			if longer < slower {
				return no(fmt.Sprintf("per byte it waits only %.1fx as long as before", longer))
			}
			fresh := c.fresh()
			touched := c.touched(fresh)
			switch {
			case len(touched) == 0 && len(fresh) > 0:
				return no(fmt.Sprintf("a cause that did not apply before explains it: %s; no setting that differs can explain that", list(fresh)))
			case len(touched) == 0:
				return no(fmt.Sprintf("none of the %d settings that differ affects what it waits for", len(c.before.Differ)))
			}
			e := []Evidence{
				c.figure("wait for each MiB, now", now.waiting/now.bytes*(1<<20), "seconds", sample.WaitIO),
				c.figure("wait for each MiB, before", was.waiting/was.bytes*(1<<20), "seconds", sample.WaitIO),
				{Name: "settings that differ and can explain it", Value: float64(len(touched)), Unit: "count", Source: "fingerprints of both sides", ID: "settings-that-differ-and-can-bring-it-about"},
			}
			v := Verdict{
				// Two machines cannot tell which of several differences it is.
				Answer: Yes, Confidence: confidence((longer-slower)/slower, true) / float64(len(touched)),
				Weight: c.blockedWeight() * (1 - 1/longer), Culprit: c.culprit(), Evidence: e,
				Disprove: "the waits stay the same after the settings were made equal",
			}
			for i, s := range touched {
				if i == mostAdvised {
					v.Advice = append(v.Advice, Advice{Do: fmt.Sprintf("then the other %d settings that differ", len(touched)-i), Expect: "as above"})
					break
				}
				v.Advice = append(v.Advice, Advice{
					Do: fmt.Sprintf("set %s to %s, as before (now %s)", s.Name, orAbsent(s.Before), orAbsent(s.Now)),
					Expect: fmt.Sprintf("if this setting matters, it waits %s per MiB again instead of %s",
						duration(was.waiting/was.bytes*(1<<20)), duration(now.waiting/now.bytes*(1<<20))),
				})
			}
			return v
		},
	}
}

// mostAdvised is how many settings are named one by one; two machines of
// different kinds differ in dozens.
const mostAdvised = 6

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

func orNobody(comm string) string {
	if comm == "" {
		return "the program"
	}
	return comm
}

// reach is what a setting can bring about.
type reach struct {
	prefix string // of the setting's name
	suffix string
	causes []ID // nil: any wait for I/O
}

// reaches say which setting is behind which cause, the first that fits counts.
// A setting that is in none of them does not make I/O slower.
func reaches() []reach {
	cache := []ID{CacheBusting, CacheSqueezed, CgroupCacheLimit, CachePollution, SwapThrash, ReclaimStall}
	writes := []ID{DirtyThrottling, SyncWrites, WritebackInterference}
	queue := append(deviceCauses(), DeviceDegraded, WritebackInterference, NoisyNeighbour, SyncWrites)
	return []reach{
		{prefix: "vm.dirty", causes: writes},
		{prefix: "vm.nr_hugepages", causes: cache},
		{prefix: "vm.", causes: cache}, // swappiness, watermarks, vfs_cache_pressure, min_free_kbytes
		{prefix: "memory_bytes", causes: append(cache, DirtyThrottling)},
		{prefix: "swap_bytes", causes: []ID{SwapThrash, ReclaimStall}},
		{prefix: "transparent_hugepage", causes: []ID{ReclaimStall, SwapThrash}},
		{prefix: "multi_generational_lru", causes: cache},
		{prefix: "devices[", suffix: "].read_ahead_bytes", causes: []ID{ReadaheadWaste, ColdCache, CacheBusting, CgroupCacheLimit}},
		{prefix: "devices[", suffix: "].scheduler", causes: queue},
		{prefix: "devices[", suffix: "].nr_requests", causes: queue},
		{prefix: "devices[", suffix: "].max_sectors_kb", causes: queue},
		{prefix: "devices[", suffix: "].wbt_lat_usec", causes: queue},
		{prefix: "devices["}, // its model or size: another device
		{prefix: "file_systems["},
		{prefix: "kernel"},
		{prefix: "arch"},
		{prefix: "cpus"},
		{prefix: "cpu_model"},
		{prefix: "virtual."},
	}
}

// touched are the settings that differ and can bring about what holds now. What
// can bring about anything does so only where nothing new explains the waiting.
func (c *Case) touched(fresh []ID) []Setting {
	holding := c.holding()
	if deviceDegraded().Judge(c).Answer == Yes {
		holding = append(holding, DeviceDegraded)
	}
	var out []Setting
	for _, s := range c.before.Differ {
		if s.Device != "" && s.Device != c.device {
			continue
		}
		for _, r := range reaches() {
			if !strings.HasPrefix(s.Name, r.prefix) || !strings.HasSuffix(s.Name, r.suffix) {
				continue
			}
			brings := func(id ID) bool { return slices.Contains(r.causes, id) }
			if r.causes == nil && len(fresh) == 0 || slices.ContainsFunc(holding, brings) {
				out = append(out, s)
			}
			break
		}
	}
	return out
}
