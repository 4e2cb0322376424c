// Package threads is the exact account of what every thread does with its
// time, and of what every system call's time is made of. docs/threads.md says
// how it is told.
package threads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"iocause/internal/bpf"
	"iocause/internal/host"
)

// Options say what is looked at.
type Options struct {
	PID   int  // only this process; 0 for all
	Waits bool // count waits by their length, too
}

// Probe is the attached probe. It is used by one goroutine.
type Probe struct {
	probe   *bpf.Probe
	ended   *bpf.Ring
	last    map[uint64]*account
	round   int
	missed  uint64
	over    []threadsRecord // ended since they were last read
	buf     []byte
	waits   map[threadsWaitKey]threadsWaitLengths
	missing []string
}

// account is what was last seen of a thread.
type account struct {
	record threadsRecord
	round  int
}

// Open loads and attaches the probe. It needs root, or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, o Options) (*Probe, error) {
	spec, err := loadThreads()
	if err != nil {
		return nil, fmt.Errorf("reading the threads object: %w", err)
	}
	constants, missing := stateConstants(h)
	constants["only_tgid"] = uint32(o.PID)
	constants["want_waits"] = uint32(0)
	if o.Waits {
		constants["want_waits"] = uint32(1)
	} else {
		spec.Maps["waits"].MaxEntries = 1 // its memory is taken at once
	}
	p, err := bpf.OpenWays(spec, append(statePrograms(), bpf.Program{Name: "look"}), stateWays(), constants)
	if err != nil {
		return nil, fmt.Errorf("opening the threads probe: %w", err)
	}
	ended, err := bpf.OpenRing(p.Map("ended"), "threads that ended")
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	missing = append(missing, p.Lacks()...)
	return &Probe{probe: p, ended: ended, last: map[uint64]*account{}, waits: map[threadsWaitKey]threadsWaitLengths{}, missing: missing}, nil
}

// statePrograms are the programs of programs.bpf.h.
func statePrograms() []bpf.Program {
	return []bpf.Program{
		{Name: "on_switch", Tracepoint: "sched_switch", Arguments: 4},
		{Name: "on_switch_old", Tracepoint: "sched_switch", Arguments: 3},
		{Name: "on_wakeup", Tracepoint: "sched_wakeup"},
		{Name: "on_wakeup_new", Tracepoint: "sched_wakeup_new"},
		{Name: "on_balance", Tracepoint: "balance_dirty_pages", Arguments: 8},
		{Name: "on_balance_old", Tracepoint: "balance_dirty_pages", Arguments: 12},
		{Name: "on_reclaim", Tracepoint: "mm_vmscan_direct_reclaim_begin"},
		{Name: "on_reclaim_end", Tracepoint: "mm_vmscan_direct_reclaim_end"},
		{Name: "on_cgroup_reclaim", Tracepoint: "mm_vmscan_memcg_reclaim_begin", Optional: true},
		{Name: "on_cgroup_reclaim_end", Tracepoint: "mm_vmscan_memcg_reclaim_end", Optional: true},
	}
}

// stateWays are those that there are several of.
func stateWays() []bpf.Capability {
	locks := bpf.KernelLocks()
	locks.Optional = true
	return []bpf.Capability{locks}
}

// stateConstants are the constants of thread.bpf.h, and what they lack.
func stateConstants(h *host.Host) (constants map[string]any, missing []string) {
	rules, err := readRules(h)
	if err != nil {
		missing = append(missing, fmt.Sprintf("waits for journals and file systems are shown as other: %v", err))
	}
	constants, left := bpf.RuleConstants(rules)
	if left > 0 {
		missing = append(missing, fmt.Sprintf("%d of %d kernel functions are ignored: too many", left, len(rules)))
	}
	constants["call_class"] = callClasses()
	return constants, missing
}

// Missing says what this kernel does not show.
func (p *Probe) Missing() []string { return p.missing }

// Close detaches the probe.
func (p *Probe) Close() error { return errors.Join(p.ended.Close(), p.probe.Close()) }

// Begin begins the account of all threads that there are.
func (p *Probe) Begin() error {
	if err := p.probe.SetVariable("enabled", uint32(1)); err != nil {
		return err
	}
	if _, err := p.Read(); err != nil {
		return err
	}
	if _, err := p.Waits(); err != nil {
		return err
	}
	var err error
	p.missed, err = p.probe.Missed()
	return err
}

// SweepEvery is how often what has ended is to be taken in: Probe.Drain,
// Latency.Sweep.
const SweepEvery = 500 * time.Millisecond

// Drain takes in the threads that have ended. It must be called every second
// or so: the kernel keeps about 10,000 of them.
func (p *Probe) Drain() error {
	return p.ended.Each(func(raw []byte) error {
		if len(raw) >= recordSize {
			p.over = append(p.over, decode(raw))
		}
		return nil
	})
}

const recordSize = int(unsafe.Sizeof(threadsRecord{}))

// decode copies a record. It may lie at any address.
func decode(b []byte) (r threadsRecord) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&r)), recordSize), b)
	return r
}

// Read returns what each thread did since they were last read, those that ended
// meanwhile included. What a thread is doing counts up to now.
func (p *Probe) Read() ([]Usage, error) {
	p.round++
	var err error
	if p.buf, err = p.probe.ReadIterator("look", recordSize, p.buf); err != nil {
		return nil, err
	}
	if err := p.Drain(); err != nil { // after the iterator: so that the last word on a thread counts
		return nil, err
	}
	usages := make([]Usage, 0, len(p.buf)/recordSize+len(p.over))
	over := map[uint64]bool{}
	for i := range p.over {
		over[p.over[i].Serial] = true
		usages = append(usages, p.usage(&p.over[i], true))
		delete(p.last, p.over[i].Serial)
	}
	p.over = p.over[:0]
	for b := p.buf; len(b) > 0; b = b[recordSize:] {
		if r := decode(b); !over[r.Serial] {
			usages = append(usages, p.usage(&r, false))
		}
	}
	for serial, a := range p.last {
		if p.round-a.round > 2 { // its end was lost, and counted as such
			delete(p.last, serial)
		}
	}
	return usages, nil
}

// usage is what a thread did since it was last seen, and remembers it.
func (p *Probe) usage(r *threadsRecord, ended bool) Usage {
	a := p.last[r.Serial]
	if a == nil {
		a = &account{record: threadsRecord{Now: r.Born}}
		p.last[r.Serial] = a
	}
	u := difference(&a.record, r)
	u.Ended = ended
	a.record, a.round = *r, p.round
	return u
}

// Losses are the counters of what could not be kept or was not seen, since the
// probe was opened. Their names say what was lost.
func (p *Probe) Losses() (Losses, error) {
	return losses(p.probe, p.missed, map[string]string{
		"lost_ended":   "threads whose last figures were lost: too many ended at once",
		"lost_waits":   "waits missing in the histogram: its table was full or in use",
		"torn_records": "threads that changed too fast to be read",
	})
}

// Losses are counts by what was lost.
type Losses map[string]uint64

// Since says what was lost after before was.
func (l Losses) Since(before Losses) (notes []string) {
	for _, what := range slices.Sorted(maps.Keys(l)) {
		if n := l[what] - before[what]; n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n, what))
		}
	}
	return notes
}

// losses are the counters of thread.bpf.h and those of an object of its own. missed
// is how many events had interrupted their own program when the probe was opened.
func losses(p *bpf.Probe, missed uint64, own map[string]string) (Losses, error) {
	counters := map[string]string{
		"lost_threads":    "threads counted late, from their second event on",
		"missed_wakeups":  "missed wake-ups, corrected by the scheduler's own figures",
		"missed_switches": "missed context switches, corrected by the scheduler's own figures",
	}
	maps.Copy(counters, own)
	all := Losses{}
	var errs []error
	for name, what := range counters {
		n, err := p.Counter(name)
		errs = append(errs, err)
		if n > 0 {
			all[what] = n
		}
	}
	now, err := p.Missed()
	if now > missed {
		all["events that interrupted their own program"] = now - missed
	}
	return all, errors.Join(append(errs, err)...)
}
