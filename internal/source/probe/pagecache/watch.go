package pagecache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// WatchMetrics is everything that a Watch emits.
func WatchMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CacheSampledCalls, sample.CacheSampledAccesses, sample.CacheSampledHits, sample.CacheSampledMisses,
		sample.CacheSampledMapped, sample.CacheSampledBytes, sample.CacheSampledIn, sample.CacheSampledOut,
		sample.CacheSampledTime, sample.CostBPFTime, sample.CostLost,
	}
}

// Pace is how a Watch looks.
type Pace struct {
	Length time.Duration        // of a look, with attaching and detaching
	Every  func() time.Duration // between two looks; it may change
}

// Watch is the account of the whole host, looked at for a short while of each
// interval and scaled to all of it. Between two looks no program is attached.
// However slow programs are made, they lose no more than the share of the time
// that is looked at: a look that took longer puts off the next one.
type Watch struct {
	host *host.Host
	p    *Probe
	pace Pace

	// of the goroutine that calls Collect
	since time.Time // the time up to here is in what was emitted
	quit  chan struct{}
	done  sync.WaitGroup

	mu       sync.Mutex
	looking  bool
	found    *look         // the newest look that is not emitted
	failed   error         // of looks, since the last Collect
	earliest time.Time     // of the next one
	losses   []string      // counters of what was not seen
	held     time.Duration // by the newest
	leaving  time.Duration // of that, to detach
}

// look is what was counted in one.
type look struct {
	before, after pagecacheSums
	length        time.Duration
	cost          map[string]float64 // seconds, by program
	lost          map[string]float64 // events
}

// OpenWatch loads a Watch and attaches nothing. It needs what Open does.
func OpenWatch(h *host.Host, pace Pace) (*Watch, error) {
	spec, err := loadPagecache()
	if err != nil {
		return nil, fmt.Errorf("reading the page-cache object: %w", err)
	}
	programs, ways := counting(), reading()
	wanted := bpf.Every(programs)
	for i := range ways {
		for _, w := range ways[i].Ways {
			wanted = append(wanted, bpf.Every(w.Programs)...)
		}
	}
	for name := range spec.Programs {
		if !slices.ContainsFunc(wanted, func(p bpf.Program) bool { return p.Name == name }) {
			delete(spec.Programs, name)
		}
	}
	for _, name := range []string{"waits", "paths", "processes", "touched"} { // nobody asks for them
		spec.Maps[name].MaxEntries = 1
	}
	p, err := bpf.OpenWays(spec, programs, ways, map[string]any{"syscall_way": syscallWays(), "look_ticks": ticks(pace.Length)})
	if err != nil {
		return nil, fmt.Errorf("opening the page-cache watch: %w", err)
	}
	w := &Watch{host: h, p: &Probe{host: h, probe: p}, pace: pace}
	if err := w.detach(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return w, nil
}

// Close ends a look that is under way, and unloads the programs.
func (w *Watch) Close() error {
	w.end()
	return w.p.probe.Close()
}

func (w *Watch) end() {
	if w.quit != nil {
		close(w.quit)
		w.done.Wait()
		w.quit = nil
	}
}

// Collect implements sample.Source: where a window ends it emits the look that
// was in it, scaled to the time since the one before, and begins the next.
// Without a look that is over it emits nothing: the next one stands for that
// time, too.
func (w *Watch) Collect(phase sample.Phase, into sample.Sink) error {
	now := time.Now()
	switch phase {
	case sample.First:
		w.end()
		w.quit, w.since, w.found = make(chan struct{}), now, nil
	case sample.Tick:
		return nil
	case sample.Last:
		w.end()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.failed
	w.failed = nil
	if w.found != nil {
		w.emit(w.found, now.Sub(w.since), into)
		w.found, w.since = nil, now
		err = errors.Join(err, w.p.probe.Losses("pagecache watch", w.losses, into))
	}
	if phase != sample.Last && !w.looking {
		w.looking = true
		// Anywhere in the interval: what others do every ten seconds is met as
		// often as it is.
		wait := rand.N(max(w.pace.Every()-2*w.pace.Length-time.Second, 1))
		w.done.Go(func() { w.run(max(wait, w.earliest.Sub(now)), w.quit) })
	}
	return err
}

// fromLooks says where the figures come from: they are an estimate.
const fromLooks = "tp:mm_filemap, in short samples, scaled"

// emit emits a look as if all the time had been like it.
func (w *Watch) emit(l *look, all time.Duration, into sample.Sink) {
	scale := all.Seconds() / l.length.Seconds()
	e := sample.Entity{}
	put := func(m sample.Metric, after, before uint64) {
		into.Put(m, e, float64(after-before)*scale, fromLooks)
	}
	a, b := &l.before, &l.after
	put(sample.CacheSampledCalls, b.Calls, a.Calls)
	put(sample.CacheSampledAccesses, b.Accesses, a.Accesses)
	// A page may be put in, used and evicted, and put in again while one call
	// is under way: there are no fewer hits than none.
	put(sample.CacheSampledHits, b.Accesses-a.Accesses, min(b.Misses-a.Misses, b.Accesses-a.Accesses))
	put(sample.CacheSampledMisses, b.Misses, a.Misses)
	put(sample.CacheSampledMapped, b.MappedMisses, a.MappedMisses)
	put(sample.CacheSampledBytes, (b.Accesses-a.Accesses)*uint64(os.Getpagesize()), 0)
	put(sample.CacheSampledIn, b.Inserted, a.Inserted)
	put(sample.CacheSampledOut, b.Evicted, a.Evicted)
	into.Put(sample.CacheSampledTime, e, l.length.Seconds(), fromLooks)
	for program, seconds := range l.cost {
		into.Put(sample.CostBPFTime, sample.Entity{Class: program}, seconds, "BPF_ENABLE_STATS, or events x the ns of one in docs/performance.md")
	}
	for what, events := range l.lost {
		into.Put(sample.CostLost, sample.Entity{Class: what}, events, "BPF_ENABLE_STATS")
	}
}

// run waits and looks.
func (w *Watch) run(wait time.Duration, quit chan struct{}) {
	var l *look
	var err error
	if pause(wait, quit) {
		l, err = w.look(quit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looking = false
	if err == nil && l != nil && l.length >= w.pace.Length/shortest {
		w.found = l
	}
	w.failed = errors.Join(w.failed, err)
}

// shortest is the part of a look that must be left after attaching, for figures
// at all.
const shortest = 10

// look attaches the programs, counts for a while and detaches them.
func (w *Watch) look(quit chan struct{}) (*look, error) {
	began := time.Now()
	l := &look{}
	attach := func() error {
		for _, p := range w.p.probe.Hooked() {
			if err := w.p.probe.Attach(p); err != nil {
				return err
			}
		}
		return nil
	}
	costs := sample.NewRecorder(began)
	err := attach()
	if err == nil {
		err = errors.Join(w.p.probe.SetVariable("look_until", uint64(0)), w.p.probe.SetVariable("look_to", uint64(0)),
			w.p.probe.Phase(sample.First, w.host.Now(), costs))
	}
	from := time.Now()
	if err == nil {
		pause(w.pace.Length-w.leaving-from.Sub(began), quit)
		err = w.p.probe.Phase(sample.Last, w.host.Now(), costs)
	}
	to := time.Now()
	l.length = to.Sub(from)
	cut, counterErr := w.cut()
	if cut > 0 {
		l.length = cut
	}
	err = errors.Join(err, counterErr, w.detach())
	w.mu.Lock()
	w.leaving = time.Since(to)
	w.held = time.Since(began)
	w.earliest = began.Add(time.Duration(float64(w.held) * float64(w.pace.Every()) / float64(w.pace.Length)))
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// Threads hold what they counted last until they are asked. What they held
	// before this look went when the last one ended.
	if l.before, err = w.p.before, w.p.settle(settleEnd); err != nil {
		return nil, err
	}
	if l.after, err = w.p.sums(); err != nil {
		return nil, err
	}
	w.p.before = l.after
	w.account(l, costs.Window(to))
	full, err := forget(w.p.probe)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// A thread that goes on with the file of an earlier look has no account,
	// which is lost for the sums only when there was no room for it.
	if w.losses = []string{"lost_chunks", "lost_tasks", "lost_returns", "lost_inodes"}; full {
		w.losses = append(w.losses, "lost_accounts")
	}
	return l, nil
}

// longest is how many times as long as it should be a look may be, in jiffies of
// a millisecond. Where jiffies are longer, as most are, so is the look.
const longest = 5

// ticks is after how many jiffies the programs end a look by themselves. That is
// for an agent that is stopped, as by a debugger, while they are attached: they
// stay so, but look at nothing any more.
func ticks(length time.Duration) uint64 {
	return uint64(max(longest*length, time.Second) / time.Millisecond)
}

// cut is the length of a look that the programs ended by themselves, else 0.
func (w *Watch) cut() (time.Duration, error) {
	to, err := w.p.probe.Counter("look_to")
	if err != nil || to == 0 {
		return 0, err
	}
	from, err := w.p.probe.Counter("look_from")
	return time.Duration(to - from), err
}

// runCost is what a run of a program takes with the kernel's way to it, where
// the kernel may not be asked for it: that takes CAP_SYS_ADMIN.
const runCost = 125e-9 // seconds; docs/performance.md

// account adds what the programs took in a look, and what they missed.
func (w *Watch) account(l *look, costs *sample.Window) {
	l.cost, l.lost = map[string]float64{}, map[string]float64{}
	costs.Each(sample.CostBPFTime, func(e sample.Entity, s *sample.Series) { l.cost[e.Class] = s.Sum() })
	costs.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) { l.lost[e.Class] = s.Sum() })
	if len(l.cost) == 0 {
		a, b := &l.before, &l.after
		l.cost["estimated"] = runCost * float64(b.Calls-a.Calls+b.Inserted-a.Inserted+b.Evicted-a.Evicted)
	}
}

func (w *Watch) detach() error {
	var errs []error
	for _, p := range w.p.probe.Hooked() {
		errs = append(errs, w.p.probe.Detach(p))
	}
	return errors.Join(errs...)
}

// forget empties what is kept from one event to another: what happens to a page
// between two looks is not seen. full tells whether there was no room for more
// accounts.
func forget(p *bpf.Probe) (full bool, err error) {
	m := p.Map
	accounts := uint32(0)
	err = errors.Join(empty(m("accounts"), func(pagecacheFileKey, pagecacheAccount) { accounts++ }), empty(m("paths"), func(pagecacheInodeKey, pagecachePath) {}),
		empty(m("processes"), func(uint32, pagecacheProcess) {}), p.ForgetTasks("tasks"))
	files := map[uint64]bool{}
	err = errors.Join(err, empty(m("chunks"), func(k pagecacheChunkKey, _ pagecacheChunk) { files[k.File] = true }))
	for f := range files {
		// fresh_count in account.bpf.h
		err = errors.Join(err, m("fresh_of").Put(uint32(f*0x9E3779B97F4A7C15>>48), uint64(0)))
	}
	if err != nil {
		return false, fmt.Errorf("emptying the page-cache watch: %w", err)
	}
	return accounts >= m("accounts").MaxEntries(), nil
}

// empty removes all entries of a hash map, and tells which they were.
func empty[K, V any](m *ebpf.Map, gone func(K, V)) error {
	most := min(512, m.MaxEntries())
	keys, values := make([]K, most), make([]V, most)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookupAndDelete(&cursor, keys, values, nil)
		for i := range n {
			gone(keys[i], values[i])
		}
		switch {
		case errors.Is(err, ebpf.ErrKeyNotExist):
			return nil
		case err != nil:
			return err
		}
	}
}

// pause waits, and tells whether quit is still open.
func pause(d time.Duration, quit <-chan struct{}) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-quit:
		return false
	case <-t.C:
		return true
	}
}
