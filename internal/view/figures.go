package view

import (
	"maps"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Figure is one figure of a window for the comparison with another window.
type Figure struct {
	Key    string // for programs, the same in every window: "cache.hit_ratio", "disk.vda.read_latency"
	Name   string // for people
	Unit   string
	Source string
	Value  float64
	// Size tells a figure of the data or of a limit: it is what it is, and does
	// not vary as a rate does.
	Size bool
}

// Scope is whose figures are wanted; nil for the whole machine.
type Scope map[int]bool

// figures collects.
type figures struct {
	w     *sample.Window
	scope Scope
	all   []Figure
}

// Figures are what two windows are compared by: rates and shares of the scope's
// processes, of its memory cgroup and its data, and of the machine and its
// devices. What the window does not have is left out.
func Figures(w *sample.Window, scope Scope) []Figure {
	f := &figures{w: w, scope: scope}
	f.cache()
	f.waits()
	f.processes()
	f.data()
	f.cgroup()
	f.ioLimits()
	f.machine()
	f.devices()
	return f.all
}

// add adds a figure that was read as m. What was not measured is no zero.
func (f *figures) add(key, name, unit string, value float64, m sample.Metric) {
	if !f.w.Has(m) {
		return
	}
	f.all = append(f.all, Figure{Key: key, Name: name, Unit: unit, Value: value, Source: f.w.Source(m)})
}

// sum is the scope's increase of a counter.
func (f *figures) sum(m sample.Metric) (float64, bool) {
	if f.scope == nil {
		if v, ok := f.w.Sum(m, sample.Entity{}); ok {
			return v, true
		}
	}
	return f.w.SumWhere(m, func(e sample.Entity) bool {
		return e.PID != 0 && e.File == (sample.FileID{}) && e.Device == "" && (f.scope == nil || f.scope[e.PID])
	})
}

// rate adds what the scope's counter rose by in a second.
func (f *figures) rate(key, name, unit string, m sample.Metric, scale float64) {
	if v, ok := f.sum(m); ok {
		f.add(key, name, unit, v*scale/f.w.Seconds(), m)
	}
}

// part adds what one counter is of another.
func (f *figures) part(key, name, unit string, part, whole float64, m sample.Metric) {
	if whole > 0 {
		f.add(key, name, unit, part/whole, m)
	}
}

func (f *figures) cache() {
	accesses, ok := f.sum(sample.CacheAccesses)
	misses, _ := f.sum(sample.CacheMisses)
	if ok {
		if r, asked := figure.HitRatio(accesses, misses); asked {
			f.add("cache.hit_ratio", "page cache hit ratio", "ratio", r, sample.CacheAccesses)
		}
		inserted, _ := f.sum(sample.CacheInserted)
		written, _ := f.sum(sample.CacheWriteAlloc)
		mapped, _ := f.sum(sample.CacheMappedMisses)
		f.part("cache.read_amplification", "pages read for each page used", "count", inserted-written, misses+mapped, sample.CacheInserted)
		again, _ := f.sum(sample.CacheReread)
		f.part("cache.reread_ratio", "re-read after eviction", "ratio", again, inserted, sample.CacheReread)
	} else if f.scope == nil {
		f.estimates()
	}
	f.rate("cache.read", "read through the page cache", "bytes/s", sample.CacheAccesses, PageBytes)
	f.rate("cache.from_disk", "of that from disk", "bytes/s", sample.CacheMisses, PageBytes)
	f.rate("cache.mapped_from_disk", "read from disk by mappings", "bytes/s", sample.CacheMappedMisses, PageBytes)
	f.rate(string(sample.CacheEvicted), "evicted from the page cache", "bytes/s", sample.CacheEvicted, PageBytes)
	f.rate(string(sample.CacheWasted), "dropped before it was used", "bytes/s", sample.CacheWasted, PageBytes)
	f.rate(string(sample.CacheDirtied), "made dirty", "bytes/s", sample.CacheDirtied, PageBytes)
	f.rate("direct.read", "read with O_DIRECT", "bytes/s", sample.DirectReadBytes, 1)
	f.rate("direct.written", "written with O_DIRECT", "bytes/s", sample.DirectWriteByte, 1)
}

func (f *figures) waits() {
	f.rate(string(sample.WaitIO), "threads waiting for I/O", "count", sample.WaitIO, 1)
	f.rate(string(sample.WaitDirtyPause), "threads paused for dirty pages", "count", sample.WaitDirtyPause, 1)
	f.rate("wait.reclaim", "threads freeing memory", "count", sample.ReclaimTime, 1)
	f.rate("wait.locks", "threads waiting for locks", "count", sample.LockWait, 1)
}

func (f *figures) processes() {
	f.rate(string(sample.ProcReadCalls), "read calls", "count/s", sample.ProcReadCalls, 1)
	f.rate(string(sample.ProcReadChars), "read by calls", "bytes/s", sample.ProcReadChars, 1)
	f.rate(string(sample.ProcWriteCalls), "write calls", "count/s", sample.ProcWriteCalls, 1)
	f.rate(string(sample.ProcWriteChars), "written by calls", "bytes/s", sample.ProcWriteChars, 1)
	f.rate(string(sample.ProcMajorFault), "major page faults", "count/s", sample.ProcMajorFault, 1)
	if user, ok := f.sum(sample.ProcUser); ok && f.scope != nil {
		system, _ := f.sum(sample.ProcSystem)
		f.add("proc.cpu", "processors used", "count", (user+system)/f.w.Seconds(), sample.ProcUser)
		f.rate(string(sample.ProcSystem), "of these in the kernel", "count", sample.ProcSystem, 1)
		rss := 0.0
		for pid := range f.scope {
			v, _ := f.w.Value(sample.ProcRSS, sample.Entity{PID: pid})
			rss += v
		}
		if rss > 0 {
			f.add(string(sample.ProcRSS), "memory of the processes", "bytes", rss, sample.ProcRSS)
		}
	}
}

// data is how large what is read is.
func (f *figures) data() {
	read := map[sample.FileID]bool{}
	for _, m := range []sample.Metric{sample.CacheAccesses, sample.CacheMappedMisses, sample.DirectReads} {
		f.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 && e.File != (sample.FileID{}) && (f.scope == nil || f.scope[e.PID]) && s.Sum() > 0 {
				read[e.File] = true
			}
		})
	}
	size := 0.0
	for id := range read {
		if file := f.w.Files[id]; file.Size > 0 {
			size += float64(file.Size)
		}
	}
	if size == 0 {
		return
	}
	f.all = append(f.all, Figure{Key: "data.read_files", Name: "size of the files read", Unit: "bytes", Value: size, Source: "stat(2)", Size: true})
	if limit, _, ok := f.memory(); ok {
		f.all = append(f.all, Figure{Key: "data.of_memory", Name: "size to the memory for it", Unit: "count", Value: size / limit,
			Source: "stat(2), " + f.w.Source(sample.CgroupMemLimit), Size: true})
	}
}

// memory is how much memory the scope may use: the lowest limit of its memory
// cgroups, or the machine's memory. Of several processes that with most reads
// decides.
func (f *figures) memory() (limit float64, cgroup string, ok bool) {
	limit, ok = f.w.Value(sample.MemTotal, sample.Entity{})
	if l, at, has := figure.LowestMemoryLimit(f.w, f.memoryCgroup()); has && (!ok || l < limit) {
		return l, at, true
	}
	return limit, "", ok
}

// memoryCgroup is that of the scope's process that reads most, "" for the
// machine.
func (f *figures) memoryCgroup() string {
	if f.scope == nil {
		return ""
	}
	best, most := "", -1.0
	for _, pid := range slices.Sorted(maps.Keys(f.scope)) {
		p, ok := f.w.Processes[pid]
		if !ok || p.MemoryCgroup == "" {
			continue
		}
		if v, _ := f.w.Sum(sample.CacheAccesses, sample.Entity{PID: pid}); v > most {
			best, most = p.MemoryCgroup, v
		}
	}
	return best
}

// mean is a gauge's over the window: what it is at the end says little of a
// long time.
func (f *figures) mean(m sample.Metric, e sample.Entity) (float64, bool) {
	s := f.w.Get(m, e)
	if s == nil || len(s.Points) == 0 {
		return 0, false
	}
	return s.Sum() / float64(len(s.Points)), true
}

func (f *figures) cgroup() {
	limit, at, ok := f.memory()
	if !ok || at == "" {
		return
	}
	f.all = append(f.all, Figure{Key: "cgroup.limit", Name: "memory limit of the cgroup", Unit: "bytes", Value: limit, Source: f.w.Source(sample.CgroupMemLimit), Size: true})
	e := sample.Entity{Cgroup: at}
	gauge := func(key, name string, m sample.Metric) {
		if v, ok := f.mean(m, e); ok {
			f.add(key, name, "bytes", v, m)
		}
	}
	gauge("cgroup.usage", "memory used by the cgroup", sample.CgroupMemUsage)
	gauge("cgroup.file", "page cache of the cgroup", sample.CgroupMemFile)
	gauge("cgroup.anon", "anonymous memory of the cgroup", sample.CgroupMemAnon)
	if v, ok := f.w.Sum(sample.CgroupRefault, e); ok {
		f.add("cgroup.refaults", "refaults in the cgroup", "bytes/s", v*PageBytes/f.w.Seconds(), sample.CgroupRefault)
	}
	if v, ok := f.w.Sum(sample.CgroupLimitHits, e); ok {
		f.add(string(sample.CgroupLimitHits), "times the cgroup reached its limit", "count/s", v/f.w.Seconds(), sample.CgroupLimitHits)
	}
}

// ioLimits are those of the cgroups that the scope's processes are in.
func (f *figures) ioLimits() {
	inside := map[string]bool{}
	for pid := range f.scope {
		for at := f.w.Processes[pid].IOCgroup; at != ""; at = figure.Above(at) {
			inside[at] = true
		}
	}
	var limits []Figure
	f.w.Each(sample.CgroupIOLimit, func(e sample.Entity, s *sample.Series) {
		if inside[e.Cgroup] {
			limits = append(limits, Figure{Key: "cgroup.io_limit." + e.Device + "." + e.Class, Name: "I/O limit of the cgroup, " + e.Device + " " + e.Class,
				Unit: "count/s", Value: s.Last(), Source: s.Source, Size: true})
		}
	})
	slices.SortFunc(limits, func(a, b Figure) int { return strings.Compare(a.Key, b.Key) })
	f.all = append(f.all, limits...)
}

func (f *figures) machine() {
	var host sample.Entity
	busy := 0.0
	for _, m := range []sample.Metric{sample.CPUUser, sample.CPUSystem} {
		v, _ := f.w.Sum(m, host)
		busy += v
	}
	if idle, ok := f.w.Sum(sample.CPUIdle, host); ok {
		wait, _ := f.w.Sum(sample.CPUIOWait, host)
		f.part("host.cpu", "processors busy", "ratio", busy, busy+idle+wait, sample.CPUUser)
	}
	for _, x := range []struct {
		key, name string
		m         sample.Metric
	}{
		{"host.available", "memory available", sample.MemAvailable},
		{"host.cache", "page cache of the machine", sample.MemCache},
		{"host.anon", "anonymous memory", sample.MemAnon},
		{"host.dirty", "dirty pages", sample.MemDirty},
	} {
		if v, ok := f.mean(x.m, host); ok {
			f.add(x.key, x.name, "bytes", v, x.m)
		}
	}
	for _, class := range []string{sample.ClassIO, sample.ClassMemory, sample.ClassCPU} {
		if v, ok := f.w.Sum(sample.PSISome, sample.Entity{Class: class}); ok {
			f.all = append(f.all, Figure{Key: "host.pressure_" + class, Name: class + " pressure, some", Unit: "ratio", Value: v / f.w.Seconds(),
				Source: "/proc/pressure/" + class})
		}
	}
	for _, x := range []struct {
		key, name string
		m         sample.Metric
	}{{"host.swap_in", "swapped in", sample.VMSwapIn}, {"host.swap_out", "swapped out", sample.VMSwapOut}, {"host.refaults", "refaults of files", sample.VMRefaultFile}} {
		if v, ok := f.w.Sum(x.m, host); ok {
			f.add(x.key, x.name, "bytes/s", v*PageBytes/f.w.Seconds(), x.m)
		}
	}
}

func (f *figures) devices() {
	var names []string
	f.w.Each(sample.DiskBusy, func(e sample.Entity, _ *sample.Series) { names = append(names, e.Device) })
	slices.Sort(names)
	for _, name := range names {
		e := sample.Entity{Device: name}
		at := "disk." + name + "."
		sum := func(m sample.Metric) float64 { v, _ := f.w.Sum(m, e); return v }
		rate := func(key, what, unit string, m sample.Metric) {
			if v, ok := f.w.Sum(m, e); ok {
				f.add(at+key, name+": "+what, unit, v/f.w.Seconds(), m)
			}
		}
		rate("reads", "reads", "count/s", sample.DiskReads)
		rate("writes", "writes", "count/s", sample.DiskWrites)
		rate("read", "read", "bytes/s", sample.DiskReadBytes)
		rate("written", "written", "bytes/s", sample.DiskWriteBytes)
		rate("busy", "share of time busy", "ratio", sample.DiskBusy)
		rate("depth", "requests in flight", "count", sample.DiskWeighted)
		if v, ok := figure.Reads(f.w, name).Await(); ok {
			f.add(at+"read_latency", name+": time of a read", "seconds", v, sample.DiskReadTime)
		}
		if v, ok := figure.Writes(f.w, name).Await(); ok {
			f.add(at+"write_latency", name+": time of a write", "seconds", v, sample.DiskWriteTime)
		}
		f.part(at+"read_size", name+": size of a read", "bytes", sum(sample.DiskReadBytes), sum(sample.DiskReads), sample.DiskReadBytes)
	}
}
