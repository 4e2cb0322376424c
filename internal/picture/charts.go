package picture

import (
	"iocause/internal/figure"
	"iocause/internal/sample"
)

// pageBytes is how large the pages are that the probes and vmstat count in.
const pageBytes = 4096

func (d *drawing) pressure() {
	some := func(class string) func(*column) (float64, bool) {
		return rate(figureKey{sample.PSISome, "", class}, 1)
	}
	d.add(Chart{Key: "pressure", Group: "Machine", Title: "Time in which some thread stalled", Unit: "ratio", Source: d.sources(sample.PSISome), Lines: []Line{
		d.line("for I/O", some("io")), d.line("for memory", some("memory")), d.line("for a processor", some("cpu")),
	}})
}

// waiting is threads that are held up at any time, by what holds them up.
func (d *drawing) waiting(v Victim) {
	from := d.sources(sample.WaitFor, sample.WaitDirtyPause, sample.LockWait, sample.ReclaimTime)
	if from == "" {
		from = d.sources(sample.WaitIO, sample.WaitDirtyPause, sample.LockWait, sample.ReclaimTime)
	}
	if v.Comm != "" || v.PID != 0 {
		d.add(Chart{Key: "waiting:victim", Group: "Waiting", Title: "Threads of " + program(v.Comm) + " that wait, by what for", Unit: "count", Source: from, Stacked: true,
			Lines: d.stack(func(c *column, put func(string, float64)) {
				for k, s := range c.waits {
					if k.pid == v.PID || v.Many && k.comm == v.Comm {
						put(k.what, s)
					}
				}
			})})
	}
	d.add(Chart{Key: "waiting:all", Group: "Waiting", Title: "Threads of all programs that wait, by what for", Unit: "count", Source: from, Stacked: true,
		Lines: d.stack(func(c *column, put func(string, float64)) {
			for k, s := range c.waits {
				put(k.what, s)
			}
		})})
	d.add(Chart{Key: "waiting:who", Group: "Waiting", Title: "Threads that wait, by program", Unit: "count", Source: from, Stacked: true,
		Lines: d.stack(func(c *column, put func(string, float64)) {
			for k, s := range c.waits {
				put(program(k.comm), s)
			}
		})})
}

func (d *drawing) device(name string) {
	of := func(m sample.Metric) figureKey { return figureKey{m, name, ""} }
	count := func(m sample.Metric) func(*column) (float64, bool) { return rate(of(m), 1) }
	group := "Device " + name
	d.add(Chart{Key: "device:" + name + ":users", Group: group, Title: "Requests of " + name + " in flight, by program", Unit: "count",
		Source: d.sources(sample.BlockDeviceTime), Stacked: true,
		Lines: d.stack(func(c *column, put func(string, float64)) {
			for k, u := range c.uses {
				if k.device == name {
					put(program(k.comm), u.seconds)
				}
			}
		})})
	d.add(Chart{Key: "device:" + name + ":latency", Group: group, Title: "Mean latency of " + name, Unit: "seconds",
		Source: d.sources(sample.DiskReadTime), Lines: []Line{
			d.line("reads", part(count(sample.DiskReadTime), count(sample.DiskReads))),
			d.line("writes", part(count(sample.DiskWriteTime), count(sample.DiskWrites))),
		}})
	d.add(Chart{Key: "device:" + name + ":ops", Group: group, Title: "Operations of " + name, Unit: "count/s",
		Source: d.sources(sample.DiskReads), Lines: []Line{d.line("reads", count(sample.DiskReads)), d.line("writes", count(sample.DiskWrites))}})
	d.add(Chart{Key: "device:" + name + ":bytes", Group: group, Title: "Throughput of " + name, Unit: "bytes/s",
		Source: d.sources(sample.DiskReadBytes), Lines: []Line{d.line("read", count(sample.DiskReadBytes)), d.line("written", count(sample.DiskWriteBytes))}})
	d.add(Chart{Key: "device:" + name + ":depth", Group: group, Title: "Requests of " + name + " in flight, and time busy", Unit: "count",
		Source: d.sources(sample.DiskWeighted, sample.DiskBusy), Lines: []Line{
			d.line("in flight (mean)", count(sample.DiskWeighted)), d.line("busy (1 is always)", count(sample.DiskBusy))}})
}

func (d *drawing) cache() {
	pages := func(m sample.Metric) func(*column) (float64, bool) {
		return rate(figureKey{metric: m}, pageBytes)
	}
	hits := func(c *column) (float64, bool) {
		asked, ok := c.sums[figureKey{metric: sample.CacheAccesses}]
		misses, ok2 := c.sums[figureKey{metric: sample.CacheMisses}]
		ratio, any := figure.HitRatio(asked, misses)
		return ratio, ok && ok2 && any
	}
	d.add(Chart{Key: "cache:hits", Group: "Memory and page cache", Title: "Reads served from the page cache", Unit: "ratio",
		Source: d.sources(sample.CacheAccesses), Lines: []Line{d.line("hit ratio", hits)}})
	d.add(Chart{Key: "cache:flow", Group: "Memory and page cache", Title: "Page cache, in and out", Unit: "bytes/s",
		Source: d.sources(sample.CacheInserted, sample.VMRefaultFile), Lines: []Line{
			d.line("inserted", pages(sample.CacheInserted)), d.line("evicted", pages(sample.CacheEvicted)),
			d.line("read again after eviction", pages(sample.VMRefaultFile)),
		}})
}

func (d *drawing) memory() {
	d.add(Chart{Key: "memory", Group: "Memory and page cache", Title: "Memory", Unit: "bytes", Source: d.sources(sample.MemCache), Lines: []Line{
		d.line("page cache", gauge(sample.MemCache)), d.line("anonymous", gauge(sample.MemAnon)), d.line("shared and tmpfs", gauge(sample.MemShmem)),
		d.line("kernel objects", gauge(sample.MemSlab)), d.line("free", gauge(sample.MemFree)),
	}})
	d.add(Chart{Key: "memory:dirty", Group: "Memory and page cache", Title: "Dirty page cache", Unit: "bytes", Source: d.sources(sample.MemDirty), Lines: []Line{
		d.line("dirty", gauge(sample.MemDirty)), d.line("being written", gauge(sample.MemWriteback)),
	}})
	d.add(Chart{Key: "memory:swap", Group: "Memory and page cache", Title: "Swap", Unit: "bytes/s", Source: d.sources(sample.VMSwapIn), Lines: quiet([]Line{
		d.line("in", rate(figureKey{metric: sample.VMSwapIn}, pageBytes)), d.line("out", rate(figureKey{metric: sample.VMSwapOut}, pageBytes)),
	})})
}

// quiet is nothing where all lines are zero throughout: no swap, no chart of it.
func quiet(lines []Line) []Line {
	for _, l := range lines {
		for _, v := range l.Values {
			if known(v) && v != 0 {
				return lines
			}
		}
	}
	return nil
}

func (d *drawing) processors() {
	host := func(m sample.Metric) func(*column) (float64, bool) { return rate(figureKey{metric: m}, 1) }
	d.add(Chart{Key: "cpu", Group: "Machine", Title: "Processors in use", Unit: "count", Source: d.sources(sample.CPUUser), Stacked: true, Lines: []Line{
		d.line("user", host(sample.CPUUser)), d.line("system", host(sample.CPUSystem)), d.line("idle, I/O in flight", host(sample.CPUIOWait)), d.line("stolen by the hypervisor (steal)", host(sample.CPUSteal)),
	}})
}
