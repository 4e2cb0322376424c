package live

import (
	"math"
	"time"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// strip is what of a window stays on the screen when the next ones follow: a
// column of the sparklines and of the heat map. What is not known is NaN.
type strip struct {
	start  time.Time
	length time.Duration
	cpu    float64 // share of all processors' time in use
	memory float64 // share in use
	io     float64 // share of the time in which some thread stalled for I/O
	hits   float64 // share of the pages asked for that the page cache had
	disks  map[string]disk
}

// disk is what a block device did in a window.
type disk struct {
	busy, depth   float64 // share of the time with I/O under way; I/O under way on average
	read, written float64 // bytes a second
	await         float64 // seconds; NaN where there was no request
	heat          *[48]uint64
}

// stripOf reads a window once.
func stripOf(w *sample.Window) strip {
	s := strip{start: w.Start, length: w.Length, cpu: math.NaN(), memory: math.NaN(), io: math.NaN(), hits: math.NaN(), disks: map[string]disk{}}
	var host sample.Entity
	sum := func(m sample.Metric, e sample.Entity) float64 { v, _ := w.Sum(m, e); return v }
	busy := sum(sample.CPUUser, host) + sum(sample.CPUSystem, host) + sum(sample.CPUSteal, host)
	if whole := busy + sum(sample.CPUIdle, host) + sum(sample.CPUIOWait, host); whole > 0 {
		s.cpu = busy / whole
	}
	total, ok := w.Value(sample.MemTotal, host)
	if available, ok2 := w.Value(sample.MemAvailable, host); ok && ok2 && total > 0 {
		s.memory = (total - available) / total
	}
	if v, ok := w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO}); ok {
		s.io = v / w.Seconds()
	}
	if ratio, ok := figure.HitRatio(sum(sample.CacheAccesses, host), sum(sample.CacheMisses, host)); ok {
		s.hits = ratio
	}
	w.Each(sample.DiskBusy, func(e sample.Entity, b *sample.Series) {
		d := disk{busy: b.Sum() / w.Seconds(), depth: sum(sample.DiskWeighted, e) / w.Seconds(),
			read: sum(sample.DiskReadBytes, e) / w.Seconds(), written: sum(sample.DiskWriteBytes, e) / w.Seconds(), await: math.NaN()}
		if v, any := figure.Reads(w, e.Device).Plus(figure.Writes(w, e.Device)).Await(); any {
			d.await = v
		}
		if d.busy+d.read+d.written > 0 {
			s.disks[e.Device] = d
		}
	})
	w.EachHistogram(sample.HistDevice, func(e sample.Entity, h *sample.Hist) {
		if e.PID != 0 {
			return
		}
		d := s.disks[e.Device]
		if d.heat == nil {
			d.heat = new([48]uint64)
		}
		for i, n := range h.Counts {
			d.heat[i] += n
		}
		s.disks[e.Device] = d
	})
	if w.Has(sample.BlockOps) { // nothing was slow where nothing was done
		for name, d := range s.disks {
			if d.heat == nil {
				d.heat = new([48]uint64)
				s.disks[name] = d
			}
		}
	}
	return s
}
