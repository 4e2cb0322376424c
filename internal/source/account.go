package source

import (
	"sync"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// meter is the recorder, overheard: it keeps what the progress line shows.
type meter struct {
	*sample.Recorder
	before, now time.Time
	disks       map[string]*traffic // bytes since before
}

type traffic struct{ read, write float64 }

// pass begins a pass over the sources.
func (m *meter) pass(now time.Time) {
	m.before, m.now = m.now, now
	m.disks = map[string]*traffic{}
}

// Put implements sample.Sink.
func (m *meter) Put(name sample.Metric, e sample.Entity, value float64, source string) {
	m.Recorder.Put(name, e, value, source)
	if name != sample.DiskReadBytes && name != sample.DiskWriteBytes {
		return
	}
	t := m.disks[e.Device]
	if t == nil {
		t = &traffic{}
		m.disks[e.Device] = t
	}
	if name == sample.DiskReadBytes {
		t.read += value
	} else {
		t.write += value
	}
}

// progress is the busiest device of the last pass. Devices are not added up:
// one may lie on top of another.
func (m *meter) progress() Progress {
	var p Progress
	seconds := m.now.Sub(m.before).Seconds()
	if m.before.IsZero() || seconds <= 0 {
		return p
	}
	for device, t := range m.disks {
		read, write := t.read/seconds, t.write/seconds
		sum, most := read+write, p.Read+p.Write
		if sum > most || sum == most && sum > 0 && device < p.Device {
			p.Device, p.Read, p.Write = device, read, write
		}
	}
	return p
}

// tap is the sink of one call of a source. It keeps the gaps that the source
// reports, each once a window however often it is reported; what the source
// lacks at its first call it lacks in all windows. It lets nothing through
// any more when it has been shut. Safe for concurrent use.
type tap struct {
	mu     sync.Mutex
	closed bool
	meter  *meter
	of     *opened
	first  bool // of the source's calls
	pages  *pages
}

// pages makes figures of a kernel whose pages have not 4 KiB comparable with all
// others: whatever is told in pages is told in pages of 4 KiB. nil is of 4 KiB.
type pages struct {
	each   float64 // pages of 4 KiB in one of the kernel
	counts map[sample.Metric]bool
}

func pagesOf(h *host.Host) *pages {
	const size = 4096
	bytes := h.PageSize()
	if bytes == size {
		return nil
	}
	p := &pages{each: float64(bytes) / size, counts: map[sample.Metric]bool{}}
	for _, i := range sample.Catalog() {
		p.counts[i.Metric] = i.Unit == sample.Pages
	}
	return p
}

func (p *pages) of(m sample.Metric, value float64) float64 {
	if p == nil || !p.counts[m] {
		return value
	}
	return value * p.each
}

// shut returns when nothing more can come through.
func (t *tap) shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// with runs f unless the tap is shut.
func (t *tap) with(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		f()
	}
}

// Put implements sample.Sink.
func (t *tap) Put(m sample.Metric, e sample.Entity, value float64, source string) {
	t.with(func() { t.meter.Put(m, e, t.pages.of(m, value), source) })
}

// PutTotal implements sample.Sink.
func (t *tap) PutTotal(m sample.Metric, e sample.Entity, total float64, source string) {
	t.with(func() { t.meter.PutTotal(m, e, t.pages.of(m, total), source) })
}

// PutLast implements sample.Sink.
func (t *tap) PutLast(m sample.Metric, e sample.Entity, total float64, source string) {
	t.with(func() { t.meter.PutLast(m, e, t.pages.of(m, total), source) })
}

// PutAt implements sample.Sink.
func (t *tap) PutAt(at time.Time, m sample.Metric, e sample.Entity, value float64, source string) {
	t.with(func() { t.meter.PutAt(at, m, e, t.pages.of(m, value), source) })
}

// PutHistogram implements sample.Sink.
func (t *tap) PutHistogram(m sample.Metric, e sample.Entity, h sample.Histogram, source string) {
	t.with(func() { t.meter.PutHistogram(m, e, h, source) })
}

// PutProcess implements sample.Sink.
func (t *tap) PutProcess(pid int, p sample.Process) {
	t.with(func() { t.meter.PutProcess(pid, p) })
}

// PutFile implements sample.Sink.
func (t *tap) PutFile(id sample.FileID, f sample.File) {
	t.with(func() { t.meter.PutFile(id, f) })
}

// PutGap implements sample.Sink.
func (t *tap) PutGap(g sample.Gap) { t.with(func() { t.putGap(g) }) }

func (t *tap) putGap(g sample.Gap) {
	if g.Source == "" {
		g.Source = t.of.Name
	}
	for _, old := range t.of.Gaps {
		if old.Why == g.Why {
			return
		}
	}
	t.of.Gaps = append(t.of.Gaps, g)
	if t.first {
		t.of.standing++
	}
	t.meter.PutGap(g)
}

// Offered are the metrics that can be had here: a source that works lists
// them, and no gap says that they are missing altogether.
func Offered(all []Status, w *sample.Window) map[sample.Metric]bool {
	has := map[sample.Metric]bool{}
	for _, s := range all {
		if s.OpenErr != nil || s.Stuck || s.Calls > 0 && s.Failures == s.Calls {
			continue
		}
		gone := map[sample.Metric]bool{}
		for _, g := range s.Gaps {
			for _, m := range g.Metrics {
				gone[m] = w.Source(m) == ""
			}
		}
		for _, m := range s.Metrics {
			if !gone[m] {
				has[m] = true
			}
		}
	}
	return has
}
