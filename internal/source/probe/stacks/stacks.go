// Package stacks finds out where threads wait and where they run: it adds up
// time in the kernel by thread, kind of wait, kernel stack and user stack.
//
// A stack is taken when the thread comes back, and only for a wait that was
// long enough; shorter ones of a thread are added up until together they are,
// and the stack of the last of them then stands for all. So the time of a
// thread is complete whatever the threshold is.
package stacks

import (
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Options say what is looked at.
type Options struct {
	OnCPU  bool          // sample running threads instead of timing those that wait
	Hz     int           // samples per second on each processor, for OnCPU
	Min    time.Duration // waits shorter than that are added up, not for OnCPU
	Wakers bool          // take the stack of who ends a wait, too
	PID    int           // 0 all
	Comm   string        // name of the process or of the thread, "" all
	Cgroup uint64        // with those below it: the inode of its directory, 0 all
	Tree   string        // of which hierarchy: "memory", "io" or "" (version 2)
	Unwind bpf.Unwinder  // follows user stacks without frame pointers; nil: frame pointers only

	eager bool // as on a kernel without sched_exit_tp, for tests
}

// Row is the time of one thread in one place.
type Row struct {
	TID, TGID     int
	Comm, Process string // any bytes
	How           How
	Kernel, User  Stack
	Waker         *Waker // nil when it was not asked for, or none is known
	Time          time.Duration
	Queued        time.Duration // the part of Time after it was woken
	Longest       time.Duration // of one wait
	Count         uint64        // waits, or samples
}

// Waker is who ended a wait.
type Waker struct {
	TGID         int // 0: an interrupt of an idle processor
	Comm         string
	Kernel, User Stack
}

// Stack is a call stack, innermost address first. It is shared: do not change it.
type Stack struct {
	IPs  []uint64
	Cut  bool // deeper than what is taken
	Lost bool // there was one, and no room to keep it
	// IsWhole tells that it is known to reach where the thread began.
	IsWhole bool
}

// Probe is the attached probe. Its methods but Fresh are for one goroutine.
type Probe struct {
	o      Options
	host   *host.Host
	probe  *bpf.Probe
	fresh  *ringbuf.Reader
	event  string // what samples are taken by
	eager  bool
	rows   map[stacksKey]*stacksRow
	stacks map[uint64][]uint64
	side   uint32
	begun  time.Time
	made   uint64 // stacks made when they were last dropped from the kernel
	folded folded
	added  []stacksKey   // rows that Added has not told
	walked map[int]Stack // user stacks of threads that still wait, by thread id
	stalls *bpf.Ring     // waits and samples with a copy of their user stack, nil without Unwind
	stall  stacksStall
	whole  map[uint64]bool // of stacks
	seed   maphash.Seed    // of identities of stacks that are unwound
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, o Options) (*Probe, error) {
	spec, err := loadStacks()
	if err != nil {
		return nil, fmt.Errorf("reading the stacks object: %w", err)
	}
	types, err := bpf.LoadTypes()
	if err != nil {
		return nil, err
	}
	returns, _ := types.HasTracepoint("sched_exit_tp")
	p := &Probe{o: o, host: h, eager: returns != bpf.Supported || o.eager, rows: map[stacksKey]*stacksRow{}, stacks: map[uint64][]uint64{}, walked: map[int]Stack{}, whole: map[uint64]bool{}, seed: maphash.MakeSeed()}
	programs := []bpf.Program{
		{Name: "on_switch", Tracepoint: "sched_switch", Arguments: 4},
		{Name: "on_switch_old", Tracepoint: "sched_switch", Arguments: 3},
		{Name: "on_return", Tracepoint: "sched_exit_tp", Optional: true},
		{Name: "on_waking", Tracepoint: "sched_waking"},
		{Name: "look"},
	}
	locks := bpf.KernelLocks()
	locks.Optional = true
	ways := []bpf.Capability{locks}
	if o.OnCPU {
		for name := range spec.Programs {
			if name != "on_sample" {
				delete(spec.Programs, name)
			}
		}
		programs, ways = nil, nil
	} else {
		delete(spec.Programs, "on_sample")
	}
	if p.eager {
		delete(spec.Programs, "on_return")
	}
	unwinds := o.Unwind != nil && (o.OnCPU || !p.eager)
	if !unwinds {
		spec.Maps["stalls"].MaxEntries = uint32(os.Getpagesize()) // its memory is taken at once
	}
	if p.probe, err = bpf.OpenWays(spec, programs, ways, o.constants(h, !p.eager, unwinds)); err != nil {
		return nil, fmt.Errorf("opening the stacks probe: %w", err)
	}
	if p.fresh, err = ringbuf.NewReader(p.probe.Map("fresh")); err != nil {
		p.probe.Close()
		return nil, fmt.Errorf("opening the buffer of new processes: %w", err)
	}
	if unwinds {
		if p.stalls, err = bpf.OpenRing(p.probe.Map("stalls"), "waits with their stacks"); err != nil {
			p.Close()
			return nil, err
		}
	}
	if o.OnCPU {
		if p.event, err = p.probe.Sample("on_sample", o.Hz); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

func (o *Options) constants(h *host.Host, canReturn, unwinds bool) map[string]any {
	flag := func(on bool) uint32 {
		if on {
			return 1
		}
		return 0
	}
	c := map[string]any{
		"want_stalls": flag(unwinds),
		"only_tgid":   uint32(o.PID),
		"not_tgid":    uint32(h.Self),
		"match_comm":  flag(o.Comm != ""),
		"only_comm":   commOf(o.Comm),
		"only_cgroup": o.Cgroup, "cgroup_tree": map[string]uint32{"memory": 0, "io": 1}[o.Tree],
	}
	if o.Tree == "" {
		c["cgroup_tree"] = uint32(2)
	}
	if o.OnCPU {
		c["sample_ns"] = uint64(time.Second) / uint64(o.Hz)
		return c
	}
	c["min_ns"] = uint64(max(0, o.Min))
	c["can_return"] = flag(canReturn)
	c["want_wakers"] = flag(o.Wakers)
	return c
}

func commOf(name string) (comm [16]int8) {
	for i := 0; i < min(len(name), len(comm)-1); i++ {
		comm[i] = int8(name[i])
	}
	return comm
}

// Close detaches the probe.
func (p *Probe) Close() error {
	p.fresh.Close()
	if p.stalls != nil {
		p.stalls.Close()
	}
	return p.probe.Close()
}

// Event is what samples are taken by: "cycles" or "cpu-clock".
func (p *Probe) Event() string { return p.event }

// Eager tells whether the kernel cannot say when a thread comes back, so that
// user stacks are taken whenever one leaves, which costs more.
func (p *Probe) Eager() bool { return p.eager && !p.o.OnCPU }

// Fresh calls met with the number of every process that gets its first row,
// at once, until the probe is closed.
func (p *Probe) Fresh(met func(pid int)) {
	var r ringbuf.Record
	for p.fresh.ReadInto(&r) == nil {
		if len(r.RawSample) >= 4 {
			met(int(uint32(r.RawSample[0]) | uint32(r.RawSample[1])<<8 | uint32(r.RawSample[2])<<16 | uint32(r.RawSample[3])<<24))
		}
	}
}

// Begin begins the window.
func (p *Probe) Begin(into sample.Sink) error {
	p.begun = p.host.Now()
	if !p.o.OnCPU {
		for name, clock := range map[string]int32{"started": unix.CLOCK_MONOTONIC, "started_boot": unix.CLOCK_BOOTTIME} {
			if err := p.setClock(name, clock); err != nil {
				return err
			}
		}
	}
	return p.probe.Phase(sample.First, p.begun, into)
}

func (p *Probe) setClock(name string, clock int32) error {
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	return p.probe.SetVariable(name, uint64(now.Nano()))
}

// Tick takes over what was added in the kernel so far. It is to be called some
// times a second, so that the kernel's tables do not fill up; isSecond once a
// second, when the programs' cost is looked at.
func (p *Probe) Tick(into sample.Sink, isSecond bool) error {
	if isSecond {
		if err := p.probe.Phase(sample.Tick, p.host.Now(), into); err != nil {
			return err
		}
	}
	return p.drain()
}

// End ends the window, and adds the waits that go on.
func (p *Probe) End(into sample.Sink) (length time.Duration, err error) {
	now := p.host.Now()
	if err := p.probe.Phase(sample.Last, now, into); err != nil {
		return 0, err
	}
	length = now.Sub(p.begun)
	if p.o.OnCPU {
		return length, p.drain()
	}
	if err := p.setClock("ended", unix.CLOCK_MONOTONIC); err != nil {
		return 0, err
	}
	if err := p.drain(); err != nil { // room for what comes
		return 0, err
	}
	if err := p.probe.RunIterator("look"); err != nil {
		return 0, err
	}
	p.walk()
	return length, p.drain()
}

// settle is how long a program may still be at a row of the other table: they
// do not sleep, and take microseconds.
const settle = 5 * time.Millisecond

// drain empties the kernel's table of rows into ours.
func (p *Probe) drain() error {
	names := [2]string{"rows_a", "rows_b"}
	full := p.probe.Map(names[p.side])
	p.side = 1 - p.side
	if err := p.probe.SetVariable("side", p.side); err != nil {
		return err
	}
	time.Sleep(settle)
	if err := empty(full, p.add); err != nil {
		return fmt.Errorf("reading the rows: %w", err)
	}
	if err := p.drainStalls(); err != nil {
		return err
	}
	p.fold()
	return p.dropStacks()
}

func (p *Probe) add(k stacksKey, r stacksRow) {
	old := p.rows[k]
	if old == nil {
		p.rows[k] = &r
		for _, id := range []uint64{k.Kernel, k.User, k.WakerKernel, k.WakerUser} {
			p.learn(id)
		}
		p.added = append(p.added, k)
		return
	}
	old.Ns += r.Ns
	old.Queued += r.Queued
	old.Count += r.Count
	old.Longest = max(old.Longest, r.Longest)
}

// Identities that name no stack, as in rows.bpf.h.
const (
	noStack   = 0
	lostStack = 1
)

// learn reads a stack that is not known yet.
func (p *Probe) learn(id uint64) {
	if _, known := p.stacks[id]; known || id <= lostStack {
		return
	}
	var s stacksStack
	if p.probe.Map("stacks").Lookup(&id, &s) == nil {
		p.stacks[id] = s.addresses()
	}
}

func (s *stacksStack) addresses() []uint64 { return slices.Clone(s.Ip[:min(int(s.N), len(s.Ip))]) }

// dropStacks empties the kernel's table of stacks when a quarter of it is taken.
// Those that are in use are ours by now, and made anew when they come again.
func (p *Probe) dropStacks() error {
	m := p.probe.Map("stacks")
	made, err := p.probe.Counter("made_stacks")
	if err != nil || made-p.made < uint64(m.MaxEntries())/4 {
		return err
	}
	p.made = made
	err = empty(m, func(id uint64, s stacksStack) {
		if _, known := p.stacks[id]; !known {
			p.stacks[id] = s.addresses()
		}
	})
	if err != nil {
		return fmt.Errorf("reading the stacks: %w", err)
	}
	return nil
}

// atOnce is how many entries a call takes out of a table: more than share a
// bucket of it.
const atOnce = 1024

// empty takes all entries out of a hash map. Those that are added meanwhile may
// stay.
func empty[K, V any](m *ebpf.Map, each func(K, V)) error {
	keys, values := make([]K, atOnce), make([]V, atOnce)
	var at ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookupAndDelete(&at, keys, values, nil)
		for i := range n {
			each(keys[i], values[i])
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
