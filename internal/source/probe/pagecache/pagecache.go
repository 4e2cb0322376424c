// Package pagecache is the exact account of the page cache, per process and
// file, and of the time that processes wait for I/O. docs/pagecache.md says
// how it counts.
package pagecache

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Source strings of what this probe emits.
const (
	fromDelete  = "tp:mm_filemap_delete_from_page_cache"
	fromSwitch  = "tp:sched_switch"
	fromBalance = "tp:balance_dirty_pages"
	fromStack   = "tp:sched_switch, kernel stack"
	fromSpans   = "tp:sched_switch, schedstat of each thread"
)

// maxRows bounds the table of processes and files in a window; what is left
// out is still in the totals of each process and of the host. Where one window
// follows the other, rows are chosen by what they have counted in all of them.
const (
	maxRows    = 256
	maxLapRows = 4096
)

// mostScratch is for how many rows memory is kept from one window to the next.
const mostScratch = 8192

// forgetEvery is how often paths of files are looked for that nobody needs.
const forgetEvery = 5 * time.Second

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.CacheAccesses, sample.CacheCalls, sample.CacheMisses, sample.CacheMappedMisses,
		sample.CacheWayAccesses, sample.CacheWayMisses,
		sample.CacheDemand, sample.CacheInserted, sample.CacheWriteAlloc, sample.CacheWasted,
		sample.CacheUnread, sample.CacheEvicted, sample.CacheDropped, sample.CacheReread, sample.CacheFaults,
		sample.CacheMajor, sample.CacheDirtied, sample.CacheTouched, sample.CacheTouchOnce, sample.CacheTouchTwice, sample.CacheWait, sample.CacheSlow, sample.CacheLongest, sample.DirectReads,
		sample.DirectReadBytes, sample.DirectWrites, sample.DirectWriteByte,
		sample.WaitIO, sample.WaitThreads, sample.WaitDirtyPause, sample.DirtyPauses,
		sample.WaitAwake, sample.WaitWeighted, sample.WaitHeld, sample.WaitRan, sample.WaitWorst, sample.WaitCompletions, sample.WaitUnnamed,
		sample.WaitFor, sample.WaitScanner, sample.WaitCourse, sample.HistCalls, sample.MountWait,
	}
}

// Probe is the attached probe.
type Probe struct {
	host    *host.Host
	probe   *bpf.Probe
	names   *names
	from    from
	stacks  bool  // of waits are looked at
	hidden  error // why not
	before  pagecacheSums
	windows uint64 // windows that ended

	due        bpf.Sweep
	ended      []row                       // of processes that ended in this window
	endedWaits []waitRow                   // the same
	course     map[uint32]uint64           // ns that processes waited, as it was told last
	scanners   []int                       // who had to allow others to open files, when that was waited for last
	idle       map[pagecacheInodeKey]bool  // paths that no account needed at the sweep before
	paths      int                         // how many there were then
	forgot     time.Time                   // when that was
	scratch    []row                       // memory of rows
	told       map[pagecacheFileKey]uint64 // hashes of accounts as they were told last
	seed       maphash.Seed

	sampler  sampler
	settling sync.Mutex // Collect and the sampler both do
}

// Slow is from when on an access counts as slow that waited.
const Slow = 10 * time.Millisecond

// Open loads and attaches the probe. It needs root or CAP_BPF and
// CAP_PERFMON, and a kernel in which programs can be attached to the tracepoint
// mm_filemap_get_pages (6.12) or to the functions that it was put into.
func Open(h *host.Host) (sample.Source, error) { return OpenSlow(Slow)(h) }

// OpenSlow is Open with another measure of what is slow.
func OpenSlow(slow time.Duration) func(*host.Host) (sample.Source, error) {
	return func(h *host.Host) (sample.Source, error) {
		p, err := open(h, slow)
		if err != nil {
			return nil, err // and no Source that holds a nil
		}
		return p, nil
	}
}

func open(h *host.Host, slow time.Duration) (*Probe, error) { return openPlan(h, slow, Plan()) }

func openPlan(h *host.Host, slow time.Duration, plan *bpf.Plan) (*Probe, error) {
	rules, hidden := readRules(h)
	constants, _ := bpf.RuleConstants(rules)
	maps.Copy(constants, map[string]any{"syscall_class": syscallClasses(), "syscall_way": syscallWays(), "slow_ns": uint64(slow), "touch_shift": uint32(touchShift)})
	p, err := plan.Open(constants)
	if err != nil {
		return nil, fmt.Errorf("opening the page-cache probe: %w", err)
	}
	opened := &Probe{host: h, probe: p, names: newNames(h), from: fromWays(p), stacks: hidden == nil, hidden: hidden, seed: maphash.MakeSeed()}
	opened.sampler = sampler{probe: p, sums: opened.sums, settle: opened.settle, pace: pace{above: sampleAbove, miss: sampleMiss}}
	return opened, nil
}

// Ways says how the kernel is asked, where there are several ways to.
func (p *Probe) Ways() []sample.Way { return p.probe.Ways() }

// Close detaches the probe.
func (p *Probe) Close() error {
	p.sampler.end()
	return p.probe.Close()
}

// Values of settle_mode, in the order of enum settle in account.bpf.h.
const (
	settleBegin = 1 + iota
	settleInterval
	settleEnd
	settleSampled
	settleExact
	settleForget
)

// Collect implements sample.Source: the host's totals at every phase, the
// tables of processes and files where a window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	due := p.due.Due(phase, p.host.Now())
	switch phase {
	case sample.First:
		err = errors.Join(err, p.beginSpans(), p.settle(settleBegin))
		p.told = map[pagecacheFileKey]uint64{}
		var sumErr error
		p.before, sumErr = p.sums()
		return errors.Join(err, sumErr, p.emitCourse(nil), p.sampler.begin())
	case sample.IntervalEnd:
		err = errors.Join(err, p.settle(settleInterval))
	case sample.Last:
		p.sampler.end()
		err = errors.Join(err, p.settle(settleEnd))
	}
	sums, sumErr := p.sums()
	if sumErr != nil {
		return errors.Join(err, sumErr)
	}
	p.emitSums(&p.before, &sums, into)
	p.before = sums
	err = errors.Join(err, p.sampler.tell(into))
	switch {
	case phase.Closes(): // emitTables has the course, too
	case due:
		err = errors.Join(err, p.sweep(into))
	default:
		err = errors.Join(err, p.emitCourse(into))
	}
	if phase.Closes() {
		if p.hidden != nil {
			into.PutGap(sample.Gap{Why: fmt.Sprintf("what threads wait for is known from their system calls only: %v", p.hidden), Metrics: []sample.Metric{sample.WaitFor}})
		}
		p.windows++
		err = errors.Join(err, p.probe.SetVariable("window", p.windows), p.beginSpans(), p.emitTables(phase, into), p.probe.Losses("pagecache",
			[]string{"lost_accounts", "lost_chunks", "lost_tasks", "lost_waits", "lost_paths", "lost_spans", "lost_timed", "lost_processes", "lost_touched", "lost_returns", "lost_inodes"}, into))
	}
	return err
}

// beginSpans tells the programs that a window begins: threads that are younger
// have used nothing before it.
func (p *Probe) beginSpans() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return fmt.Errorf("reading the time since boot: %w", err)
	}
	return p.probe.SetVariable("spans_from", uint64(now.Nano()))
}

func (p *Probe) settle(mode uint32) error {
	p.settling.Lock()
	defer p.settling.Unlock()
	if err := p.probe.SetVariable("settle_mode", mode); err != nil {
		return err
	}
	return p.probe.RunIterator("settle")
}

func (p *Probe) sums() (pagecacheSums, error) {
	var perCPU []pagecacheSums
	if err := p.probe.Map("totals").Lookup(uint32(0), &perCPU); err != nil {
		return pagecacheSums{}, fmt.Errorf("reading the page-cache totals: %w", err)
	}
	var t pagecacheSums
	for _, c := range perCPU {
		t.Accesses += c.Accesses
		t.Calls += c.Calls
		t.Misses += c.Misses
		t.MappedMisses += c.MappedMisses
		t.Inserted += c.Inserted
		t.WriteAlloc += c.WriteAlloc
		t.Wasted += c.Wasted
		t.Evicted += c.Evicted
		t.Reread += c.Reread
	}
	return t, nil
}

func (p *Probe) emitSums(a, b *pagecacheSums, into sample.Sink) {
	all := sample.Entity{}
	into.Put(sample.CacheAccesses, all, float64(b.Accesses-a.Accesses), p.from.reads)
	into.Put(sample.CacheMisses, all, float64(b.Misses-a.Misses), p.from.reads)
	into.Put(sample.CacheMappedMisses, all, float64(b.MappedMisses-a.MappedMisses), p.from.faults)
	into.Put(sample.CacheInserted, all, float64(b.Inserted-a.Inserted), p.from.inserts)
	into.Put(sample.CacheWriteAlloc, all, float64(b.WriteAlloc-a.WriteAlloc), p.from.dirty)
	into.Put(sample.CacheWasted, all, float64(b.Wasted-a.Wasted), fromDelete)
	into.Put(sample.CacheEvicted, all, float64(b.Evicted-a.Evicted), fromDelete)
	into.Put(sample.CacheReread, all, float64(b.Reread-a.Reread), p.from.inserts)
	fresh := (b.Inserted - b.WriteAlloc) - (b.Misses + b.MappedMisses + b.Wasted)
	into.Put(sample.CacheUnread, all, float64(int64(fresh)), p.from.inserts)
}
