package threads

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// maxCalls is CALLS in thread.bpf.h.
const maxCalls = 512

// CallOptions say what is looked at.
type CallOptions struct {
	PID   int           // only this process; 0 for all
	Calls []int         // by number
	Rows  int           // there is room for so many calls of different processes, 8 KB each; 0: for 4,096
	Slow  time.Duration // of calls of this length the slowest are kept with their stacks; 0: of none
	Met   func(pid int) // is told of every slow call's process at once, from another goroutine

	// Unwind follows user stacks without frame pointers, from the goroutine that
	// calls Met; nil: by frame pointers only.
	Unwind bpf.Unwinder
}

// DefaultCalls are all system calls but those that wait for something to happen
// (sleep, poll, wait for children) and futexes.
func DefaultCalls() []int {
	var all []int
	for nr, class := range callClasses() {
		if class != callIdle && class != callFutex && class != callFutexNew {
			all = append(all, nr)
		}
	}
	return all
}

// Latency is the attached probe of system calls. It is used by one goroutine.
type Latency struct {
	probe   *bpf.Probe
	slow    *slowCalls // nil if none is kept
	era     uint32     // of the slowest calls
	missing []string
	missed  uint64
	names   map[int]string // of the calls
	last    map[latencyCallKey]*Call
	ended   map[latencyCallKey]*Call // of processes that ended since they were last read
}

// OpenLatency loads and attaches the probe. It needs root, or CAP_BPF and CAP_PERFMON.
func OpenLatency(h *host.Host, o CallOptions) (*Latency, error) {
	spec, err := loadLatency()
	if err != nil {
		return nil, fmt.Errorf("reading the latency object: %w", err)
	}
	var wanted [maxCalls]uint8
	for _, nr := range o.Calls {
		wanted[nr] = 1
	}
	switch {
	case o.PID != 0:
		spec.Maps["calls"].MaxEntries = maxCalls
	case o.Rows > 0:
		spec.Maps["calls"].MaxEntries = uint32(o.Rows)
	}
	constants, missing := stateConstants(h)
	constants["only_tgid"] = uint32(o.PID)
	constants["wanted"] = wanted
	constants["part_of_state"] = partOfState()
	constants["slow_ns"] = uint64(max(0, o.Slow))
	constants["want_copies"] = uint32(0)
	if o.Unwind != nil {
		constants["want_copies"] = uint32(1)
	}
	p, err := bpf.OpenWays(spec, append(statePrograms(),
		bpf.Program{Name: "on_call", Tracepoint: "sys_enter"},
		bpf.Program{Name: "on_return", Tracepoint: "sys_exit"},
		bpf.Program{Name: "on_rename", Tracepoint: "task_rename"},
		bpf.Program{Name: "begin"},
	), stateWays(), constants)
	if err != nil {
		return nil, fmt.Errorf("opening the latency probe: %w", err)
	}
	missing = append(missing, p.Lacks()...)
	l := &Latency{probe: p, missing: missing, names: CallNames(), last: map[latencyCallKey]*Call{}, ended: map[latencyCallKey]*Call{}}
	if o.Slow > 0 {
		if l.slow, err = watchSlowCalls(p, &o); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return l, nil
}

// Missing says what this kernel does not show.
func (l *Latency) Missing() []string { return l.missing }

// Close detaches the probe.
func (l *Latency) Close() error {
	var err error
	if l.slow != nil {
		err = l.slow.reader.Close()
	}
	return errors.Join(err, l.probe.Close())
}

// Begin begins the account. Calls that are under way are not counted.
func (l *Latency) Begin() error {
	if err := l.probe.SetVariable("enabled", uint32(1)); err != nil {
		return err
	}
	var err error
	if l.missed, err = l.probe.Missed(); err != nil {
		return err
	}
	return l.probe.RunIterator("begin")
}

// Sweep makes room for new processes: it takes in what those did that have
// ended. It must be called every second or so: there is room for so many calls
// of different processes as CallOptions.Rows says.
func (l *Latency) Sweep() error {
	calls := l.probe.Map("calls")
	ended := map[uint32]bool{}
	var keys []latencyCallKey
	var k latencyCallKey
	for err := calls.NextKey(nil, &k); ; err = calls.NextKey(k, &k) {
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the system calls: %w", err)
		}
		if _, asked := ended[k.Tgid]; !asked {
			ended[k.Tgid] = errors.Is(unix.Kill(int(k.Tgid), 0), unix.ESRCH)
		}
		if ended[k.Tgid] {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err := l.retire(k); err != nil {
			return fmt.Errorf("reading the system calls of an ended process: %w", err)
		}
	}
	return nil
}

// retire takes a row out of the kernel that nobody adds to any more.
func (l *Latency) retire(k latencyCallKey) error {
	var row latencyCallRow
	calls := l.probe.Map("calls")
	if err := calls.Lookup(k, &row); err != nil {
		return err
	}
	c := callOf(k, &row)
	if before := l.ended[k]; before != nil { // of an earlier process with this id
		c.Add(before)
	}
	l.ended[k] = c
	return calls.Delete(k)
}

// Read returns the calls that returned since they were last read.
func (l *Latency) Read() ([]Call, error) {
	slow, err := l.slowest()
	if err != nil {
		return nil, err
	}
	now := map[latencyCallKey]*Call{}
	err = bpf.Each(l.probe.Map("calls"), func(k latencyCallKey, row latencyCallRow) { now[k] = callOf(k, &row) })
	if err != nil {
		return nil, fmt.Errorf("reading the system calls: %w", err)
	}
	var calls []Call
	returned := func(k latencyCallKey, c *Call) {
		if d := c.since(l.last[k]); d.Count > 0 {
			d.Name, d.Slowest = cmp.Or(l.names[d.Number], fmt.Sprintf("call %d", d.Number)), slow[k]
			calls = append(calls, d)
		}
	}
	renameAll(l.ended)
	renameAll(now)
	for k, c := range l.ended {
		returned(k, c)
		delete(l.last, k) // what has this id now is another process
	}
	clear(l.ended)
	for k, c := range now {
		returned(k, c)
	}
	l.last = now
	return calls, nil
}

// renameAll gives all rows of a process the newest of their names: the first call
// that returns after a process is renamed takes that down.
func renameAll(rows map[latencyCallKey]*Call) {
	newest := map[uint32]*Call{}
	for k, c := range rows {
		if n := newest[k.Tgid]; n == nil || c.named > n.named {
			newest[k.Tgid] = c
		}
	}
	for k, c := range rows {
		c.Process = newest[k.Tgid].Process
	}
}

// slowest are the slowest calls since they were last read; from here on the kernel
// looks for those that are slowest until the next.
func (l *Latency) slowest() (map[latencyCallKey][]SlowCall, error) {
	if l.slow == nil {
		return nil, nil
	}
	l.era++
	if err := l.probe.SetVariable("era", l.era); err != nil {
		return nil, err
	}
	return l.slow.take()
}

func callOf(k latencyCallKey, r *latencyCallRow) *Call {
	c := &Call{PID: int(k.Tgid), Number: int(k.Nr), Process: name(&r.Process), Failed: r.Failed, named: r.Named}
	c.Walls = timesOf(r.Wall[:], r.MostWall).Plus(timesOf(r.Plain[:], r.MostWall))
	for p := range c.In {
		c.In[p] = time.Duration(r.PartNs[p])
		c.Wall += c.In[p]
		c.Times[p] = timesOf(r.Part[p][:], r.Most[p])
	}
	c.Times[PartCPU] = c.Times[PartCPU].Plus(timesOf(r.Plain[:], min(r.MostWall, r.PartNs[PartCPU])))
	c.Count = c.Walls.N()
	return c
}

// timesOf is nil where nothing was counted.
func timesOf(slots []uint32, longest uint64) *sample.Times {
	var t *sample.Times
	for i, n := range slots {
		if n == 0 {
			continue
		}
		if t == nil {
			t = &sample.Times{Longest: time.Duration(longest)}
		}
		t.Count(i, uint64(n))
	}
	return t
}

// Losses are the counters of what could not be kept or was not seen, since the
// probe was opened. Their names say what was lost.
func (l *Latency) Losses() (Losses, error) {
	return losses(l.probe, l.missed, map[string]string{
		"lost_calls": "calls lost: too many pairs of process and call",
		"lost_slow":  "slow calls whose stacks were lost: others may be the slowest",
		"lost_held":  "waits of slow calls without memory for their stacks",
	})
}
