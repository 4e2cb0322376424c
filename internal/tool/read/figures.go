package read

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// figures collects the figures of a case.
type figures struct {
	w   *sample.Window
	all []Figure
}

// Figures are the figures of a case that people look at first.
func (c *Case) Figures() []Figure {
	f := &figures{w: c.Window, all: []Figure{}}
	f.threads()
	f.cache()
	f.calls()
	f.syncs()
	f.device()
	f.memory()
	f.processors()
	return f.all
}

func (f *figures) add(key, name string, v float64, unit string, from *sample.Series) {
	f.all = append(f.all, Figure{key, name, v, unit, from.Source})
}

// each calls do for every entity that a metric was read on, in their order.
func (f *figures) each(m sample.Metric, do func(sample.Entity, *sample.Series)) {
	var keys []sample.Entity
	f.w.Each(m, func(e sample.Entity, _ *sample.Series) { keys = append(keys, e) })
	slices.SortFunc(keys, func(a, b sample.Entity) int {
		return cmp.Or(strings.Compare(a.Device, b.Device), strings.Compare(a.Class, b.Class), cmp.Compare(a.PID, b.PID))
	})
	for _, e := range keys {
		do(e, f.w.Get(m, e))
	}
}

func (f *figures) threads() {
	all := 0.0
	f.each(sample.ThreadsInState, func(_ sample.Entity, x *sample.Series) { all += x.Sum() })
	for _, class := range []string{sample.ClassBlocked, sample.ClassRunning, sample.ClassSleeping} {
		if x := f.w.Get(sample.ThreadsInState, sample.Entity{Class: class}); x != nil && all > 0 {
			f.add("state_"+class, "threads in state "+class, x.Sum()/all, "ratio", x)
		}
	}
}

func (f *figures) cache() {
	f.each(sample.CacheAccesses, func(e sample.Entity, x *sample.Series) {
		if e.File == (sample.FileID{}) && x.Sum() > 0 {
			misses, _ := f.w.Sum(sample.CacheMisses, e)
			hits, _ := figure.HitRatio(x.Sum(), misses)
			f.add("hit_ratio", "page cache hit ratio", hits, "ratio", x)
		}
	})
	f.each(sample.CacheResident, func(e sample.Entity, x *sample.Series) {
		if file := f.w.Files[e.File]; file.Size > 0 {
			f.add("resident", "in the cache of "+file.Path, min(1, x.Last()*4096/float64(file.Size)), "ratio", x)
		}
	})
	if x := f.w.Get(sample.VMRefaultFile, sample.Entity{}); x != nil {
		f.add("refaults", "pages read again after an eviction", x.Sum()/f.w.Seconds(), "count/s", x)
	}
}

func (f *figures) calls() {
	f.each(sample.CallTime, func(e sample.Entity, x *sample.Series) {
		m := sample.ProcReadCalls
		if e.Class == sample.ClassWrite {
			m = sample.ProcWriteCalls
		}
		if n, ok := f.w.Sum(m, sample.Entity{PID: e.PID}); ok && n > 0 && e.Class != sample.ClassFlight {
			f.add("call_"+e.Class, "time of one "+e.Class, x.Sum()/n, "seconds", x)
			f.add("calls_"+e.Class, e.Class+" calls", n/f.w.Seconds(), "count/s", x)
		}
	})
}

// busiest is the device that the figures are shown of: where none did anything,
// the first.
func (f *figures) busiest() (device string) {
	for _, m := range []sample.Metric{sample.DiskBusy, sample.DiskWeighted, sample.DiskReadBytes} {
		if names := figure.Busiest(f.w, m); len(names) > 0 {
			return names[0]
		}
		f.each(m, func(e sample.Entity, _ *sample.Series) { device = cmp.Or(device, e.Device) })
	}
	return device
}

// syncs are times that a program counted since it started.
func (f *figures) syncs() {
	var classes []string
	f.w.EachHistogram(sample.HistSync, func(e sample.Entity, _ *sample.Hist) { classes = append(classes, e.Class) })
	slices.Sort(classes)
	for _, class := range classes {
		h := f.w.Histogram(sample.HistSync, sample.Entity{Class: class})
		if h.N() > 0 {
			f.all = append(f.all, Figure{"sync_p99", "99 of 100 syncs take at most", h.Quantile(0.99) / 1e9, "seconds", h.Source})
		}
	}
}

func (f *figures) device() {
	device := f.busiest()
	on := sample.Entity{Device: device}
	for _, m := range []struct {
		key, name, unit string
		metric          sample.Metric
	}{
		{"read_rate", "read from " + device, "bytes/s", sample.DiskReadBytes},
		{"write_rate", "written to " + device, "bytes/s", sample.DiskWriteBytes},
		{"in_flight", "in flight on " + device, "count", sample.DiskWeighted},
		{"busy", "time " + device + " is busy", "ratio", sample.DiskBusy},
	} {
		if x := f.w.Get(m.metric, on); x != nil {
			f.add(m.key, m.name, x.Sum()/f.w.Seconds(), m.unit, x)
		}
	}
	await := func(key, name string, m sample.Metric, r figure.Requests) {
		if v, ok := r.Await(); ok {
			f.add(key, name, v, "seconds", f.w.Get(m, on))
		}
	}
	await("read_latency", "latency of a read", sample.DiskReads, figure.Reads(f.w, device))
	await("write_latency", "latency of a write", sample.DiskWrites, figure.Writes(f.w, device))
	f.each(sample.BlockFailures, func(e sample.Entity, x *sample.Series) {
		f.add("errors", "failed requests of "+e.Device, x.Sum(), "count", x)
	})
	for _, m := range []sample.Metric{sample.DeviceFaults, sample.HealthErrors, sample.HealthWarnings} {
		f.each(m, func(e sample.Entity, x *sample.Series) {
			if e.Class != "" {
				f.add("faults", e.Device+": "+e.Class, x.Last(), "count", x)
			}
		})
	}
	f.each(sample.RaidAction, func(e sample.Entity, x *sample.Series) {
		if done := f.w.Get(sample.RaidDone, sample.Entity{Device: e.Device}); done != nil {
			f.add("rebuild", e.Class+" of "+e.Device+", done", done.Last(), "ratio", done)
		}
	})
	f.each(sample.CPUSampled, func(e sample.Entity, x *sample.Series) {
		f.add("sampled_"+e.Class, "running threads in "+e.Class, x.Last(), "ratio", x)
	})
}

func (f *figures) memory() {
	for _, m := range []struct {
		key, name string
		metric    sample.Metric
	}{
		{"free", "memory free", sample.MemFree}, {"cache", "page cache", sample.MemCache}, {"available", "memory available", sample.MemAvailable},
		{"dirty", "dirty pages", sample.MemDirty}, {"dirty_limit", "dirty limit", sample.VMDirtyLimit},
	} {
		if x := f.w.Get(m.metric, sample.Entity{}); x != nil {
			f.add(m.key, m.name, x.Last(), "bytes", x)
		}
	}
}

func (f *figures) processors() {
	all := 0.0
	for _, m := range []sample.Metric{sample.CPUUser, sample.CPUSystem, sample.CPUIdle, sample.CPUIOWait, sample.CPUSteal} {
		t, _ := f.w.Sum(m, sample.Entity{})
		all += t
	}
	for _, m := range []struct {
		key, name string
		metric    sample.Metric
	}{{"user", "processors in user mode", sample.CPUUser}, {"iowait", "processors idle with I/O under way", sample.CPUIOWait}} {
		if x := f.w.Get(m.metric, sample.Entity{}); x != nil && all > 0 {
			f.add(m.key, m.name, x.Sum()/all, "ratio", x)
		}
	}
	for _, class := range []string{sample.ClassIO, sample.ClassMemory} {
		if x := f.w.Get(sample.PSISome, sample.Entity{Class: class}); x != nil {
			f.add("pressure_"+class, "pressure, "+class+", some", x.Sum()/f.w.Seconds(), "ratio", x)
		}
	}
}
