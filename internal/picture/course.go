package picture

import (
	"maps"
	"strings"
	"time"

	"iocause/internal/sample"
)

// mostColumns is how many columns a set has at most: as many as the pixels that a
// chart has. Of more windows neighbours are put together.
const mostColumns = 600

// Course takes windows as they follow each other, and keeps of them what is drawn.
// The zero value is ready for use.
type Course struct {
	start   time.Time
	columns []*column
	each    int // windows that a column is of
	open    int // of them in the last column
	sources map[sample.Metric]string
	alone   *sample.Window // the first, while it is the only one
	windows int
}

// figureKey is one figure of a column.
type figureKey struct {
	metric sample.Metric
	of     string // the device, "" for the host
	class  string
}

// waitKey is a program that is held up, and in what.
type waitKey struct {
	pid  int
	comm string
	what string
}

// useKey is a process on a device.
type useKey struct {
	pid    int
	comm   string
	device string
	op     string
}

// fileKey is a file on a device.
type fileKey struct {
	path   string
	device string
	op     string
}

type heatKey struct {
	device, op, part string
}

// use is what a process asked of a device.
type use struct {
	ops, bytes, seconds float64
}

// column is what is known of one window or of several that follow each other.
type column struct {
	begin, end time.Duration // since the start of the first
	seconds    float64       // observed
	sums       map[figureKey]float64
	gauges     map[figureKey]float64 // the newest
	waits      map[waitKey]float64   // seconds
	uses       map[useKey]use
	files      map[fileKey]float64 // bytes
	heats      map[heatKey]*sample.Histogram
}

// Add takes the next window, which is only read.
func (c *Course) Add(w *sample.Window) {
	if c.windows == 0 {
		c.start, c.each, c.sources = w.Start, 1, map[sample.Metric]string{}
		c.alone = w
	} else {
		c.alone = nil
	}
	c.windows++
	begin := w.Start.Sub(c.start)
	if n := len(c.columns); n > 0 && begin < c.columns[n-1].end { // the clock was set back
		begin = c.columns[n-1].end
	}
	next := columnOf(w, begin)
	for _, m := range metrics() {
		if c.sources[m] == "" {
			c.sources[m] = w.Source(m)
		}
	}
	n := len(c.columns)
	if n > 0 && c.open < c.each && begin-c.columns[n-1].end < w.Length/2 {
		c.columns[n-1].merge(next)
		c.open++
		return
	}
	c.columns, c.open = append(c.columns, next), 1
	if len(c.columns) > mostColumns {
		c.halve()
	}
}

// halve puts columns together by twos.
func (c *Course) halve() {
	var half []*column
	for i := 0; i < len(c.columns); i += 2 {
		if i+1 < len(c.columns) {
			c.columns[i].merge(c.columns[i+1])
		}
		half = append(half, c.columns[i])
	}
	c.columns = half
	c.each *= 2
	c.open = c.each
}

// Windows is how many were taken.
func (c *Course) Windows() int { return c.windows }

func columnOf(w *sample.Window, begin time.Duration) *column {
	c := &column{begin: begin, end: begin + w.Length, seconds: w.Seconds(),
		sums: map[figureKey]float64{}, gauges: map[figureKey]float64{}, waits: map[waitKey]float64{},
		uses: map[useKey]use{}, files: map[fileKey]float64{}, heats: map[heatKey]*sample.Histogram{}}
	for _, m := range counters() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if k, ok := keyOf(m, e); ok {
				c.sums[k] += s.Sum()
			}
		})
	}
	for _, m := range gauges() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if k, ok := keyOf(m, e); ok && len(s.Points) > 0 {
				c.gauges[k] = s.Last()
			}
		})
	}
	c.takeWaits(w)
	c.takeUses(w)
	for m, part := range map[sample.Metric]string{sample.HistDevice: "device", sample.HistQueue: "queue"} {
		w.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			if e.PID != 0 || e.Cgroup != "" {
				return
			}
			k := heatKey{e.Device, e.Class, part}
			if c.heats[k] == nil {
				c.heats[k] = &sample.Histogram{Unit: h.Unit}
			}
			c.heats[k].Merge(&h.Histogram)
		})
	}
	return c
}

// keyOf is the figure of a host's or a device's value; processes, files and
// cgroups have none.
func keyOf(m sample.Metric, e sample.Entity) (figureKey, bool) {
	if e.PID != 0 || e.Cgroup != "" || e.File.Ino != 0 {
		return figureKey{}, false
	}
	return figureKey{m, e.Device, e.Class}, true
}

// takeWaits adds up what processes were held up in; kernel threads wait for a
// living.
func (c *column) takeWaits(w *sample.Window) {
	io := sample.WaitFor
	if !w.Has(io) {
		io = sample.WaitIO
	}
	for _, m := range []sample.Metric{io, sample.WaitDirtyPause, sample.LockWait, sample.ReclaimTime, sample.CompactTime} {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			p := w.Processes[e.PID]
			if e.PID == 0 || p.Kernel || e.File.Ino != 0 {
				return
			}
			if v := s.Sum(); v > 0 {
				c.waits[waitKey{e.PID, p.Comm, waitsIn(m, e.Class)}] += v
			}
		})
	}
}

// waitsIn names what is waited for.
func waitsIn(m sample.Metric, class string) string {
	switch m {
	case sample.WaitDirtyPause:
		return "paused: too many dirty pages"
	case sample.LockWait:
		return "locks"
	case sample.ReclaimTime, sample.CompactTime:
		return "reclaim of memory"
	}
	if name, ok := map[string]string{
		"page": "data of files", "metadata": "file-system metadata", "writeback": "writeback", "commit": "journal commit",
		"flush": "flush of the device's cache", "queue": "room in the device's queue", "direct": "direct I/O", "network": "a server",
		"fuse": "FUSE", "swap": "swap", "unknown": "other I/O",
		"read": "reads", "write": "writes", "sync": "fsync and similar", "fault": "page faults", "async": "asynchronous I/O", "other": "other calls",
	}[class]; ok {
		return name
	}
	return class
}

// takeUses adds up what processes and files asked of devices.
func (c *column) takeUses(w *sample.Window) {
	each := func(m sample.Metric, add func(*use, float64)) {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID == 0 || e.Device == "" || e.Cgroup != "" || e.File.Ino != 0 {
				return
			}
			k := useKey{e.PID, w.Processes[e.PID].Comm, e.Device, e.Class}
			u := c.uses[k]
			add(&u, s.Sum())
			c.uses[k] = u
		})
	}
	each(sample.BlockOps, func(u *use, v float64) { u.ops += v })
	each(sample.BlockBytes, func(u *use, v float64) { u.bytes += v })
	each(sample.BlockQueueTime, func(u *use, v float64) { u.seconds += v })
	each(sample.BlockDeviceTime, func(u *use, v float64) { u.seconds += v })
	w.Each(sample.BlockFileBytes, func(e sample.Entity, s *sample.Series) {
		if path := w.Files[e.File].Path; path != "" && e.Device != "" {
			c.files[fileKey{path, e.Device, e.Class}] += s.Sum()
		}
	})
}

// merge adds the column that follows.
func (c *column) merge(next *column) {
	c.end = next.end
	c.seconds += next.seconds
	for k, v := range next.sums {
		c.sums[k] += v
	}
	maps.Copy(c.gauges, next.gauges)
	for k, v := range next.waits {
		c.waits[k] += v
	}
	for k, v := range next.uses {
		u := c.uses[k]
		c.uses[k] = use{u.ops + v.ops, u.bytes + v.bytes, u.seconds + v.seconds}
	}
	for k, v := range next.files {
		c.files[k] += v
	}
	for k, h := range next.heats {
		if c.heats[k] == nil {
			c.heats[k] = &sample.Histogram{Unit: h.Unit}
		}
		c.heats[k].Merge(h)
	}
}

// program is the name that processes are put together by: those of one name are
// one, and the kernel's workers, that change theirs with what they do.
func program(comm string) string {
	if strings.HasPrefix(comm, "kworker/") {
		return "kworker (kernel)"
	}
	if comm == "" {
		return "(unknown)"
	}
	return comm
}
