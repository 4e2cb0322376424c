package agent

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"iocause/internal/detect"
	"iocause/internal/figure"
	"iocause/internal/sample"
)

// gather makes one sample of the signals that are learned out of all windows of
// ten seconds. Safe for concurrent use.
type gather struct {
	mu    sync.Mutex
	rates map[string]*rate
	disks map[string]*diskUse
	total float64 // bytes of memory
	free  mean    // share of it that programs can still get
	kills float64
}

// rate is an amount and the seconds that it came in.
type rate struct{ amount, seconds float64 }

// mean is a sum of figures and their number.
type mean struct{ sum, n float64 }

// diskUse is what a disk did.
type diskUse struct {
	busy, read, written, seconds float64
	requests                     figure.Requests
}

const (
	// fewRequests are too few in ten seconds for a mean latency.
	fewRequests = 20
	// oomNear is the share of memory that can still be had below which the
	// kernel is about to end programs.
	oomNear = 0.02
)

func newGather() *gather {
	return &gather{rates: map[string]*rate{}, disks: map[string]*diskUse{}}
}

// see takes a window of one source.
func (g *gather) see(w *sample.Window) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seconds := w.Seconds()
	if cpus, ok := w.Value(sample.CPUCount, sample.Entity{}); ok && cpus > 0 {
		g.add(detect.SignalUser, w, sample.CPUUser, sample.Entity{}, seconds*cpus)
	}
	for signal, class := range map[string]string{detect.SignalCPUPressure: sample.ClassCPU, detect.SignalMemoryPressure: sample.ClassMemory, detect.SignalDiskPressure: sample.ClassIO} {
		g.add(signal, w, sample.PSISome, sample.Entity{Class: class}, seconds)
	}
	g.add(detect.SignalRefaults, w, sample.VMRefaultFile, sample.Entity{}, seconds)
	g.add(detect.SignalRefaults, w, sample.VMRefaultAnon, sample.Entity{}, 0)
	if n, ok := w.Sum(sample.VMKilled, sample.Entity{}); ok {
		g.kills += n
	}
	if total, ok := w.Value(sample.MemTotal, sample.Entity{}); ok && total > 0 {
		g.total = total
		if free, ok := w.Value(sample.MemAvailable, sample.Entity{}); ok {
			g.free.sum += free / total
			g.free.n++
		}
	}
	w.Each(sample.DiskBusy, func(e sample.Entity, s *sample.Series) {
		d := g.disks[e.Device]
		if d == nil {
			d = &diskUse{}
			g.disks[e.Device] = d
		}
		d.busy += s.Sum()
		d.requests = d.requests.Plus(figure.Reads(w, e.Device)).Plus(figure.Writes(w, e.Device))
		d.seconds += seconds
		for m, to := range map[sample.Metric]*float64{
			sample.DiskReadBytes: &d.read, sample.DiskWriteBytes: &d.written,
		} {
			v, _ := w.Sum(m, e)
			*to += v
		}
	})
}

func (g *gather) add(signal string, w *sample.Window, m sample.Metric, e sample.Entity, seconds float64) {
	v, ok := w.Sum(m, e)
	if !ok {
		return
	}
	r := g.rates[signal]
	if r == nil {
		r = &rate{}
		g.rates[signal] = r
	}
	r.amount += v
	r.seconds += seconds
}

// take is the sample since the last call. What was not measured is missing.
func (g *gather) take(now time.Time) detect.Sample {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := detect.Sample{At: now, Values: map[string]float64{}}
	for signal, r := range g.rates {
		if r.seconds > 0 {
			s.Values[signal] = r.amount / r.seconds
		}
	}
	if g.free.n > 0 {
		share := g.free.sum / g.free.n
		s.Values[detect.SignalAvailable] = share
		if share < oomNear {
			s.Limits = append(s.Limits, sample.Limit{Kind: sample.LimitOOM, What: fmt.Sprintf("%.1f %% of the memory is still available", 100*share)})
		}
	}
	if g.kills > 0 {
		s.Limits = append(s.Limits, sample.Limit{Kind: sample.LimitOOM, Of: "oom_kill", What: fmt.Sprintf("the OOM killer ended %g processes", g.kills)})
	}
	latency := math.NaN()
	for name, d := range g.disks {
		if d.seconds <= 0 {
			continue
		}
		s.Values[detect.SignalBusy] = max(s.Values[detect.SignalBusy], d.busy/d.seconds)
		if await, ok := d.requests.Await(); ok && d.requests.Count >= fewRequests && !(await <= latency) {
			latency = await
		}
		if !isStacked(name) {
			s.Values[detect.SignalRead] += d.read / d.seconds
			s.Values[detect.SignalWrite] += d.written / d.seconds
			s.Values[detect.SignalRequests] += d.requests.Count / d.seconds
		}
	}
	if !math.IsNaN(latency) {
		s.Values[detect.SignalLatency] = latency
	}
	clear(g.rates)
	clear(g.disks)
	g.free, g.kills = mean{}, 0
	return s
}

// isStacked tells disks whose I/O is that of others below them, or of memory.
func isStacked(name string) bool {
	return slices.ContainsFunc(sample.StackedNames(), func(begin string) bool { return strings.HasPrefix(name, begin) })
}
