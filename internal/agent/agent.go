// Package agent watches a machine all the time and keeps what it sees. Sources
// are read at their own pace into memory; one writer brings that to disk, so
// that a disk that hangs or is full never stops the watching.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"iocause/internal/host"
	"iocause/internal/outbound"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/remote"
	"iocause/internal/store/series"
)

// Agent is one run of the agent.
type Agent struct {
	config Config
	host   *host.Host
	log    *slog.Logger
	ring   *ring
	latest *latest
	writer *writer
	sender *remote.Sender // nil when nothing is sent
	otlp   *remote.Sender // the same, over OTLP
	feeds  []*feed
	infos  map[sample.Metric][]sample.Info
	steps  atomic.Int64
	own    map[own]*series.Series
	use    use
	short  *shortage

	judge        Judge
	program      string
	watcher      *watcher      // nil when incidents are off
	tables       *tables       // nil when none are kept
	cgroupLimits *cgroupLimits // nil when incidents are off
	stalls       *stalls       // nil when incidents are off, or no tables are kept

	facts    *facts
	verdicts *verdicts
	page     http.Handler // nil for none
}

// own names one of the agent's own series.
type own struct {
	metric sample.Metric
	class  string
}

// fast are the sources that are read every interval; slow those of settings and
// fill levels, which hardly ever move.
func fast() []string {
	return []string{"stat", "schedstat", "meminfo", "vmstat", "diskstats", "pressure", "netdev"}
}

func slow() []string { return []string{"sysctl", "queue", "filesystem"} }

// Sources are the names of all sources that the agent reads.
func Sources() []string { return slices.Concat(fast(), slow(), []string{limitSource, latencySource}) }

// New prepares an agent, which lets judge find the causes of incidents, nil for
// none; program is what wrote them. Nothing runs and nothing is opened yet.
func New(h *host.Host, c Config, log *slog.Logger, judge Judge, program string) *Agent {
	r, short := newRing(c.RingValues()), newShortage(log, h.Now)
	a := &Agent{
		facts: newFacts(h, log, program), verdicts: &verdicts{now: h.Now},
		config: c, host: h, log: log, ring: r, judge: judge, program: program, short: short, infos: infos(),
		latest: &latest{all: map[*series.Series]at{}}, own: map[own]*series.Series{},
		writer: &writer{ring: r, log: log, patience: c.SlowInterval, opts: series.Options{
			Dir: c.Dir, Keep: [series.Tiers]time.Duration{c.Keep.Raw, c.Keep.FiveMinutes, c.Keep.Hours},
			MaxBytes: c.Limits.Disk, Dropped: short.dropped, Log: log, Now: h.Now,
		}},
	}
	if c.Remote.URL != "" {
		a.sender = newSender(log, remote.Options{
			URL: c.Remote.URL, CAFile: c.Remote.CAFile, Every: c.Remote.Every, Slowest: patience, Labels: instanceLabels(h, c.Remote.Labels), TokenFile: c.Remote.TokenFile,
			Version: c.Remote.Version, Describe: kindAndHelp(), Cursor: filepath.Join(c.Dir, "sent"), Log: log, Now: h.Now,
		})
	}
	if c.OTLP.URL != "" && c.OTLP.Metrics {
		a.otlp = newSender(log, remote.Options{
			URL: c.OTLP.endpoint("metrics"), CAFile: c.OTLP.CAFile, Version: remote.OTLP, Every: c.OTLP.Every, Slowest: patience, Labels: instanceLabels(h, c.OTLP.Labels),
			TokenFile: c.OTLP.TokenFile, Describe: kindAndHelp(), Cursor: filepath.Join(c.Dir, "sent-otlp"), Log: log, Now: h.Now,
		})
	}
	if c.Tables.Interval > 0 {
		a.tables = newTables(&c, log, short, program)
	}
	if !c.Incidents.Off {
		a.cgroupLimits = newCgroupLimits()
	}
	for _, e := range source.List() {
		base := c.Interval
		if e.Name == limitSource && a.cgroupLimits != nil && !slices.Contains(c.Off, e.Name) {
			a.feed(&feed{entry: e, base: limitEvery, table: true, seen: a.cgroupLimits.see})
			continue
		}
		setting := slices.Contains(slow(), e.Name)
		if setting {
			base = c.SlowInterval
		} else if !slices.Contains(fast(), e.Name) {
			continue
		}
		if slices.Contains(c.Off, e.Name) {
			continue
		}
		a.feed(&feed{entry: e, base: base, setting: setting, seen: func(w *sample.Window) {
			if a.watcher != nil {
				a.watcher.gather.see(w)
			}
		}})
	}
	if !slices.Contains(c.Off, latencySource) {
		a.feed(&feed{entry: latencyEntry(), base: c.SlowInterval, seen: func(*sample.Window) {}})
	}
	if a.tables != nil {
		seen := a.tables.take
		if !c.Incidents.Off {
			a.stalls = newStalls(h)
			seen = func(w *sample.Window) {
				a.tables.take(w)
				a.stalls.see(w)
			}
		}
		a.feed(&feed{entry: busiestEntry(&a.tables.gaps, log), base: c.Tables.Interval, table: true, seen: seen})
	}
	if c.PageCache.Interval > 0 {
		f := &feed{base: c.PageCache.Interval, late: true, seen: func(*sample.Window) {}}
		f.entry = pageCacheEntry(c.PageCache.Sample, f.interval)
		a.feed(f)
	}
	return a
}

// feed adds a feed.
func (a *Agent) feed(f *feed) {
	f.host, f.log, f.out, f.infos, f.known = a.host, a.log, a.push, a.infos, map[of]*stream{}
	f.spread = map[of]*distribution{}
	f.stepped = func() { a.steps.Add(1) }
	f.absent = a.latest.drop
	f.ended = func(s *series.Series) {
		a.latest.drop(s)
		a.writer.ended.Store(true)
	}
	f.factor.Store(1)
	a.feeds = append(a.feeds, f)
}

// newSender is nil where nothing can be sent: the rest of the agent goes on.
func newSender(log *slog.Logger, o remote.Options) *remote.Sender {
	s, err := remote.New(o)
	if err != nil {
		log.Error("values are not sent", "to", outbound.Host(o.URL), "why", err)
		return nil
	}
	return s
}

// instanceLabels are the labels of all that is sent: without an instance among
// them, the host's name is it.
func instanceLabels(h *host.Host, set map[string]string) []series.Label {
	var out []series.Label
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, series.Label{Name: name, Value: set[name]})
	}
	if name := h.Name(); name != "" && set["instance"] == "" {
		out = append(out, series.Label{Name: "instance", Value: name})
	}
	return out
}

func (a *Agent) push(f series.Frame) {
	if len(f.Values) > 0 {
		a.latest.set(f)
		a.ring.push(f)
	}
}

// Built tells why this build of the program has no agent: nil, or an error to show.
func Built() error {
	if err := series.Built(); err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}
	return nil
}

// stopPatience is how long the disk may take when the agent stops.
const stopPatience = 8 * time.Second

// Run watches until ctx ends. It fails at once when another agent has the
// directory, or when it may not write there; whatever else keeps it from writing is
// logged and tried again.
func (a *Agent) Run(ctx context.Context) error {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(a.config.Limits.Memory / 4 * 3))
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	// One processor is plenty, and to wake others for a dozen small readings costs more
	// than it saves.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	protectFromOOM(a.host, a.log)
	switch err := a.writer.open(); {
	case errors.Is(err, series.ErrLocked):
		return fmt.Errorf("starting the agent: %w", err)
	case errors.Is(err, fs.ErrPermission): // it will not be permitted later either
		return fmt.Errorf("starting the agent: %w; run it as root, or give --dir a directory that this user may write to", err)
	case err != nil:
		a.log.Error("the history cannot be opened; values are kept in memory", "why", err)
	}
	serving, err := a.serve(ctx)
	if err != nil {
		a.writer.finish(nil)
		return err
	}
	fetching, err := a.serveFetches(ctx)
	if err != nil { // the rest of the agent goes on
		a.log.Error("recordings cannot be fetched", "why", err)
	} else {
		defer fetching.stop()
	}
	if !a.config.Incidents.Off {
		a.watcher = newWatcher(a.host, &a.config, a.log, a.judge, a.program)
		a.watcher.cgroupLimits, a.watcher.stalls, a.watcher.verdicts = a.cgroupLimits, a.stalls, a.verdicts
		if err := a.cgroupLimits.restore(a.config.Dir, a.host.Now()); err != nil {
			a.log.Error("the limits that are reached every day are learned again", "why", err)
		}
	}
	measuring, stop := context.WithCancel(ctx)
	defer stop()
	var feeds sync.WaitGroup
	for _, f := range a.feeds {
		feeds.Go(func() { f.run(measuring) })
	}
	feeds.Go(func() { a.govern(measuring) })
	watched := make(chan struct{}) // it keeps incidents, and may wait for the disk
	go func() {
		defer close(watched)
		if a.watcher != nil {
			a.watcher.run(measuring)
		}
	}()
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	written := make(chan struct{})
	go func() {
		defer close(written)
		var both sync.WaitGroup
		both.Go(func() { a.writer.run(writing) })
		if a.tables != nil {
			both.Go(func() { a.tables.run(writing) })
		}
		both.Wait()
	}()
	go a.writer.upkeep(measuring)
	for _, s := range []*remote.Sender{a.sender, a.otlp} {
		if s != nil {
			go s.Run(measuring, a.writer.recording)
		}
	}
	a.log.Info("the agent runs", "interval", a.config.Interval, "sources", len(a.feeds), "listen", serving.address())
	<-ctx.Done()
	feeds.Wait()
	stopWriting()
	patience := time.After(stopPatience)
	for _, over := range []chan struct{}{written, watched} {
		select {
		case <-over:
			continue
		case <-patience:
		}
		left, _ := a.ring.waiting()
		a.log.Error("the disk does not answer: values not yet written are lost", "values", left)
		break
	}
	serving.stop()
	a.log.Info("the agent has stopped")
	return nil
}

// govern looks at what the agent itself takes.
func (a *Agent) govern(ctx context.Context) {
	g := &governor{cpu: a.config.Limits.CPU, kernel: a.config.Limits.BPF, memory: a.config.Limits.Memory, feeds: a.feeds, log: a.log, spent: map[*feed]int64{}}
	for {
		now := a.host.Now()
		u, err := readUse(a.host)
		if err != nil {
			a.log.Error("the agent cannot measure its own cost", "why", err)
		} else {
			g.look(time.Now(), u)
			a.use = u
		}
		a.writer.tell(time.Now())
		frame := a.ownFrame(now.Add(a.config.SlowInterval / 100).Truncate(a.config.SlowInterval))
		for _, told := range []func() ([]series.Value, []*series.Series){a.facts.take, a.verdicts.take} {
			values, ended := told()
			frame.Values = append(frame.Values, values...)
			for _, s := range ended {
				a.latest.drop(s)
				a.writer.ended.Store(true)
			}
		}
		a.push(frame)
		next := now.Truncate(a.config.SlowInterval).Add(a.config.SlowInterval)
		if !sleep(ctx, next.Sub(a.host.Now())) {
			return
		}
	}
}

// ownFrame is what the agent says of itself.
func (a *Agent) ownFrame(now time.Time) series.Frame {
	f := series.Frame{At: now}
	waiting, lost := a.ring.waiting()
	put := func(m sample.Metric, class string, v float64) {
		k := own{m, class}
		if a.own[k] == nil {
			for _, i := range Own() {
				if i.Metric == m {
					a.own[k] = series.New(series.NameOf(i), series.Label{Name: "class", Value: class})
				}
			}
		}
		f.Values = append(f.Values, series.Value{Of: a.own[k], V: v})
	}
	yes := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	put("agent.cpu", "", series.Fine(a.use.cpu.Seconds()))
	put("agent.resident", "", float64(a.use.resident))
	put("agent.written", "", float64(a.use.written))
	put("agent.disk", "", float64(a.writer.disk.Load()))
	for _, part := range series.TierNames() {
		put("agent.dropped", part, series.Fine(a.short.of(part).Seconds()))
	}
	put("agent.values", "kept", float64(a.writer.kept.Load()))
	put("agent.values", "refused", float64(a.writer.refused.Load()))
	put("agent.values", "lost", float64(lost))
	put("agent.waiting", "", float64(waiting))
	put("agent.writable", "", yes(a.writer.writable.Load() && !a.writer.hangs(time.Now())))
	put("agent.reopened", "", float64(a.writer.reopened.Load()))
	put("agent.clock_steps", "", float64(a.steps.Load()))
	if a.sender != nil {
		put("agent.remote", "sent", float64(a.sender.Sent.Load()))
		put("agent.remote", "refused", float64(a.sender.Refused.Load()))
		put("agent.remote_behind", "", series.Short(time.Duration(a.sender.Behind.Load()).Seconds()))
	}
	if a.otlp != nil {
		put("agent.otlp", "sent", float64(a.otlp.Sent.Load()))
		put("agent.otlp", "refused", float64(a.otlp.Refused.Load()))
		put("agent.otlp_behind", "", series.Short(time.Duration(a.otlp.Behind.Load()).Seconds()))
	}
	if a.tables != nil {
		put("agent.tables", "kept", float64(a.tables.kept.Load()))
		put("agent.tables", "lost", float64(a.tables.lost.Load()))
		put("agent.dropped", TablesIn, series.Fine(a.short.of(TablesIn).Seconds()))
		put("agent.tables_disk", "", float64(a.tables.disk.Load()))
	}
	for _, x := range a.feeds {
		put("agent.interval", x.entry.Name, x.interval().Seconds())
		put("agent.source_up", x.entry.Name, yes(x.up.Load()))
	}
	return f
}
