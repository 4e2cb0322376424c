package agent

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"iocause/internal/figure"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/source/probe/tasks"
	"iocause/internal/source/proc/cgroup"
	"iocause/internal/source/proc/pid"
)

// Processes and cgroups come and go, so they are no series. Of each interval
// those that did most are kept as a table beside the series.

// processFigures are what a table has of a process, and cgroupFigures of a
// cgroup and device.
func processFigures() []sample.Metric {
	return []sample.Metric{
		sample.ProcReadBytes, sample.ProcWriteBytes, sample.ProcReadChars, sample.ProcWriteChars,
		sample.ProcUser, sample.ProcSystem, sample.ProcBlkioDelay, sample.ProcRunDelay, sample.ProcMajorFault,
	}
}

func cgroupFigures() []sample.Metric {
	return []sample.Metric{sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites}
}

// busiestSource is the name of the source, as the log and the agent's own
// series have it.
const busiestSource = "busiest"

// busiestEntry reads processes and the I/O of cgroups together.
func busiestEntry(g *gaps, log *slog.Logger) source.Entry {
	open := func(h *host.Host) (sample.Source, error) { return openBusiest(h, g, log) }
	return source.Entry{Name: busiestSource, Open: open, Metrics: slices.Concat(processFigures(), cgroupFigures(), []sample.Metric{sample.CgroupDeviceOn, sample.ProcWaiters}), Needs: "/proc"}
}

// gaps are what the newest window lacks. The collector tells each only once,
// and never forgets one. Safe for concurrent use.
type gaps struct {
	mu    sync.Mutex
	start []sample.Gap // told at the start, for good
	now   []sample.Gap
}

// mostGaps is how many are kept of a window: some name a process or a cgroup.
const mostGaps = 20

// pass forgets those of the pass before.
func (g *gaps) pass(first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now = nil; first {
		g.start = nil
	}
}

func (g *gaps) put(first bool, x sample.Gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case first && len(g.start) < mostGaps:
		g.start = append(g.start, x)
	case !first && len(g.now) < mostGaps:
		g.now = append(g.now, x)
	}
}

func (g *gaps) all() []sample.Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Concat(g.start, g.now)
}

// gapSink is a sink whose gaps go elsewhere.
type gapSink struct {
	sample.Sink
	gaps  *gaps
	first bool
}

// PutGap implements sample.Sink.
func (s *gapSink) PutGap(g sample.Gap) {
	g.Source = busiestSource
	s.gaps.put(s.first, g)
}

// pair is two sources as one. The second may be nil; then why says why.
type pair struct {
	processes, cgroups sample.Source
	why                error
	gaps               *gaps
}

func openBusiest(h *host.Host, g *gaps, log *slog.Logger) (sample.Source, error) {
	p := pair{gaps: g}
	var err error
	if p.processes, err = openProcesses(h, log); err != nil {
		return nil, err
	}
	p.cgroups, p.why = cgroup.OpenIO(h)
	return &p, nil
}

// openProcesses opens what reads all processes: a kernel program where that may
// be loaded, else the files of each, which cost more the more processes there
// are. The figures are the same.
func openProcesses(h *host.Host, log *slog.Logger) (sample.Source, error) {
	s, why := tasks.Open(h)
	if why == nil {
		log.Info("a BPF program reads the I/O of processes", "source", busiestSource, "from", tasks.From)
		return s, nil
	}
	s, err := pid.Open(h)
	if err != nil {
		return nil, errors.Join(err, why)
	}
	log.Warn("the I/O of processes is read from /proc/PID, which costs more with more processes", "source", busiestSource, "from", "/proc/PID", "why", why)
	return s, nil
}

// Collect implements sample.Source.
func (p *pair) Collect(phase sample.Phase, to sample.Sink) error {
	into := &gapSink{to, p.gaps, phase == sample.First}
	if phase != sample.Tick {
		p.gaps.pass(into.first)
	}
	err := p.processes.Collect(phase, into)
	if p.why != nil {
		if into.first {
			into.PutGap(sample.Gap{Why: p.why.Error(), Metrics: cgroupFigures()})
		}
		return err
	}
	return errors.Join(err, p.cgroups.Collect(phase, into))
}

// Close implements sample.Source.
func (p *pair) Close() error {
	err := p.processes.Close()
	if p.why == nil {
		err = errors.Join(err, p.cgroups.Close())
	}
	return err
}

// busiest is a window with the busiest processes and cgroups of another one:
// so many rows of each, at most. lacks is what it lacks, beside its own gaps.
func busiest(w *sample.Window, rows int, lacks []sample.Gap) *sample.Window {
	out := sample.NewWindow(w.Start, w.Length)
	for _, g := range slices.Concat(w.Gaps, lacks) {
		g.Metrics = slices.DeleteFunc(slices.Clone(g.Metrics), func(m sample.Metric) bool {
			return !slices.Contains(processFigures(), m) && !slices.Contains(cgroupFigures(), m)
		})
		out.Gaps = append(out.Gaps, g)
	}
	processes := func(m sample.Metric) map[int]float64 {
		sums := map[int]float64{}
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 && e.File.Ino == 0 {
				sums[e.PID] += s.Sum()
			}
		})
		return sums
	}
	pids := busiestOf(rows, processes,
		[]sample.Metric{sample.ProcReadBytes, sample.ProcWriteBytes},
		[]sample.Metric{sample.ProcBlkioDelay},
		[]sample.Metric{sample.ProcUser, sample.ProcSystem})
	for id := range pids {
		out.Processes[id] = w.Processes[id]
	}
	cgroups := busiestOf(rows, func(m sample.Metric) map[string]float64 { return figure.CgroupIO(w, m) },
		[]sample.Metric{sample.CgroupReadBytes, sample.CgroupWriteBytes},
		[]sample.Metric{sample.CgroupReads, sample.CgroupWrites})
	for _, m := range processFigures() {
		keepRows(out, w, m, func(e sample.Entity) bool { return e.PID != 0 && e.File.Ino == 0 && pids[e.PID] })
	}
	for _, m := range cgroupFigures() {
		keepRows(out, w, m, func(e sample.Entity) bool { return e.PID == 0 && cgroups[e.Cgroup] })
	}
	w.Each(sample.CgroupDeviceOn, func(e sample.Entity, s *sample.Series) { // whose figures count twice
		out.SetSeries(sample.CgroupDeviceOn, e, &sample.Series{Source: s.Source, Points: []sample.Point{{At: w.Length, Value: s.Last()}}})
	})
	return out
}

// keepRows copies the sums of a metric's series.
func keepRows(to, from *sample.Window, m sample.Metric, wanted func(sample.Entity) bool) {
	from.Each(m, func(e sample.Entity, s *sample.Series) {
		if wanted(e) {
			to.SetSeries(m, e, &sample.Series{Source: s.Source, Points: []sample.Point{{At: from.Length, Value: s.Sum()}}})
		}
	})
}

// busiestOf chooses rows by several orders, each the sum of some metrics: of
// each order in turn the next one that is not chosen yet. So there is room for
// those that do most I/O and for those that wait most. What did nothing is not
// chosen.
func busiestOf[K cmp.Ordered](rows int, sumsOf func(sample.Metric) map[K]float64, orders ...[]sample.Metric) map[K]bool {
	var lists [][]K
	for _, metrics := range orders {
		sums := map[K]float64{}
		for _, m := range metrics {
			for k, sum := range sumsOf(m) {
				sums[k] += sum
			}
		}
		maps.DeleteFunc(sums, func(_ K, sum float64) bool { return sum <= 0 })
		lists = append(lists, slices.SortedFunc(maps.Keys(sums), func(a, b K) int {
			return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
		}))
	}
	chosen := map[K]bool{}
	for more := true; more && len(chosen) < rows; {
		more = false
		for i := range lists {
			for len(lists[i]) > 0 && chosen[lists[i][0]] {
				lists[i] = lists[i][1:]
			}
			if len(lists[i]) > 0 && len(chosen) < rows {
				chosen[lists[i][0]] = true
				more = true
			}
		}
	}
	return chosen
}
