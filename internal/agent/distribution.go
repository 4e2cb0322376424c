package agent

import (
	"math"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/source/probe/disklatency"
	"iocause/internal/store/series"
)

// latencySource is the name of the source, as the log and the agent's own series
// have it.
const latencySource = "latency"

func latencyEntry() source.Entry {
	return source.Entry{Name: latencySource, Open: disklatency.Open, Metrics: disklatency.Metrics(), Needs: "root, or CAP_BPF and CAP_PERFMON"}
}

// distribution is one histogram as it grows: how many values there were up to each
// bound, a power of two.
type distribution struct {
	ladder
	counts []float64 // of values up to each bound and above the one before; the last is of all larger ones
	sum    float64
	seen   time.Time
	parts  []*series.Series // one for each count, then the count and the sum
}

// ladder are the bounds: 2^lowest to 2^highest of the unit of which a slot of
// sample.Histogram has 2^shift.
type ladder struct{ shift, lowest, highest int }

// ladders are those of the metrics that are histograms: times from 8 us to 8 s, sizes
// from 512 bytes to 4 MiB.
func ladders() map[sample.Metric]ladder {
	times, sizes := ladder{30, -17, 3}, ladder{0, 9, 22}
	return map[sample.Metric]ladder{sample.DiskReadLatency: times, sample.DiskWriteLatency: times, sample.DiskReadSize: sizes, sample.DiskWriteSize: sizes}
}

const (
	// mostDistributions are kept: the latencies and sizes of 16 disks.
	mostDistributions = 64
	// idleAfter is how long nothing was added to a distribution that is forgotten.
	idleAfter = 24 * time.Hour
)

// distributions are the values of all histograms after a window. They are told in
// each, changed or not: those of one disk stand together.
func (f *feed) distributions(w *sample.Window, now time.Time) (values []series.Value) {
	if f.table || f.entry.Name != latencySource {
		return nil
	}
	for metric, l := range ladders() {
		w.EachHistogram(metric, func(e sample.Entity, h *sample.Hist) {
			d := f.spread[of{metric, e}]
			if d == nil {
				if len(f.spread) >= mostDistributions {
					f.full.Do(func() {
						f.log.Warn("there are more disks than latencies are kept of", "kept", mostDistributions/len(ladders()))
					})
					return
				}
				d = newDistribution(f.infos[metric][0], l, e)
				f.spread[of{metric, e}] = d
			}
			d.add(&h.Histogram)
			d.seen = now
		})
	}
	for k, d := range f.spread {
		if now.Sub(d.seen).Abs() > idleAfter {
			d.each(f.ended)
			delete(f.spread, k)
			continue
		}
		values = append(values, d.values()...)
	}
	return values
}

func newDistribution(info sample.Info, l ladder, e sample.Entity) *distribution {
	name := strings.TrimSuffix(series.NameOf(info), "_total")
	d := &distribution{ladder: l, counts: make([]float64, l.highest-l.lowest+2)}
	for i := range d.counts {
		bound := math.Ldexp(1, l.lowest+i)
		if i == len(d.counts)-1 {
			bound = math.Inf(1)
		}
		d.parts = append(d.parts, series.New(name+series.Bucket, append(labelsOf(e), series.Label{Name: series.Bound, Value: series.BoundOf(bound)})...))
	}
	d.parts = append(d.parts, series.New(name+series.Count, labelsOf(e)...), series.New(name+series.Sum, labelsOf(e)...))
	return d
}

// add adds what a window counted. Slot i holds values above 2^i and up to 2^(i+1).
func (d *distribution) add(h *sample.Histogram) {
	for i, n := range h.Counts {
		at := i + 1 - d.shift - d.lowest
		d.counts[min(max(at, 0), len(d.counts)-1)] += float64(n)
	}
	d.sum += h.Sum
}

func (d *distribution) values() []series.Value {
	var out []series.Value
	all := 0.0
	for i, n := range d.counts {
		all += n
		out = append(out, series.Value{Of: d.parts[i], V: all})
	}
	n := len(d.counts)
	return append(out, series.Value{Of: d.parts[n], V: all}, series.Value{Of: d.parts[n+1], V: series.Fine(d.sum)})
}

func (d *distribution) each(f func(*series.Series)) {
	for _, s := range d.parts {
		f(s)
	}
}
