package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// FromEnded is the source of the figures of processes that ended.
const FromEnded = "tp:sched_process_free"

// Ended tells what the processes that ended within a window did in it: no file
// of /proc tells that any more, and a shell's loop is made of nothing else. What
// they read and wrote is among the I/O of their parents, and is not told here.
type Ended struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup

	before []tasksRow // threads that lived when the window began, each for itself
	buf    []byte     // what they lie in
	began  uint64     // of the window, ns since boot
	gone   map[uint32]*goneProcess
	ran    [2]map[uint32]ran // at the look before the newest, and at that; nil where one failed
}

// goneProcess is what the threads of a process did in the window until they ended.
type goneProcess struct {
	sum    tasksRow // ticks shared out by sum.User and sum.System, exact by sum.Runtime
	leader bool     // its first thread has ended: nothing is left of it
}

// OpenEnded loads the probe. It needs root, or CAP_BPF and CAP_PERFMON.
func OpenEnded(h *host.Host) (*Ended, error) {
	p, err := load(h, []bpf.Program{{Name: "look"}, {Name: "on_free", Tracepoint: "sched_process_free"}}, map[string]any{"alone": true})
	if err != nil {
		return nil, fmt.Errorf("opening the probe of ended processes: %w", err)
	}
	s := &Ended{host: h, probe: p, lookup: host.NewLookup(h), gone: map[uint32]*goneProcess{}}
	if err = s.begin(); err == nil {
		err = ownName(h, s.before)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the probe of ended processes: %w", err), p.Close())
	}
	return s, nil
}

// Close unloads the probe.
func (p *Ended) Close() error { return p.probe.Close() }

// Collect implements sample.Source.
func (p *Ended) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if phase == sample.First {
		return errors.Join(err, p.begin())
	}
	// In every phase: an empty map is read in no time, and a full one loses threads.
	err = errors.Join(err, p.take())
	if !phase.Closes() {
		return err
	}
	for pid, g := range p.gone {
		if g.leader && int(pid) != p.host.Self {
			p.emit(int(pid), &g.sum, into)
		}
	}
	clear(p.gone) // threads of processes that live on are counted with these
	return errors.Join(err, p.probe.Losses("ended", []string{"lost_ended"}, into), p.begin())
}

// Rested tells whether none of a process's threads has run from the look at all
// threads where the window before began to the one where the newest did. start is
// when the process began, in ticks since boot: of another one with its number,
// or where /proc has other numbers than the kernel, nothing is known. It may be
// called by several goroutines at once.
func (p *Ended) Rested(pid int, start uint64) bool {
	before, ok := p.ran[0][uint32(pid)]
	now := p.ran[1][uint32(pid)]
	return ok && now == before && now.running == 0 && now.first/(nanoseconds/host.TickHz) == start
}

const nanoseconds = 1_000_000_000 // in a second

// begin takes the start values of the threads that live.
func (p *Ended) begin() error {
	before, spare := p.ran[1], p.ran[0]
	p.ran = [2]map[uint32]ran{}
	began, err := now()
	if err != nil {
		return err
	}
	if p.buf, err = p.probe.ReadIterator("look", rowSize, p.buf); err != nil {
		return err
	}
	if p.before, err = rowsIn(p.buf); err != nil {
		return err
	}
	p.began = began
	if spare == nil {
		spare = map[uint32]ran{}
	}
	ranBy(spare, p.before)
	p.ran = [2]map[uint32]ran{before, spare}
	return nil
}

// take takes the threads that have ended out of the kernel's map.
func (p *Ended) take() error {
	var keys []tasksThread
	if err := bpf.Each(p.probe.Map("ended"), func(k tasksThread, _ tasksRow) { keys = append(keys, k) }); err != nil {
		return fmt.Errorf("reading the ended threads: %w", err)
	}
	for _, k := range keys {
		r, ok, err := bpf.Take[tasksThread, tasksRow](p.probe.Map("ended"), k)
		if err != nil {
			return fmt.Errorf("reading the ended threads: %w", err)
		}
		if ok {
			p.add(&r)
		}
	}
	return nil
}

// add adds one thread that ended to its process: what it did in this window.
func (p *Ended) add(r *tasksRow) {
	var was tasksRow
	if i := find(p.before, r.Tid); i >= 0 && p.before[i].Start == r.Start {
		was = p.before[i]
	} else if r.Start < p.began {
		return // it ended before the start values were taken, or while they were
	}
	g := p.gone[r.Tgid]
	if g == nil {
		g = &goneProcess{}
		p.gone[r.Tgid] = g
	}
	s := &g.sum
	s.User += above(r.User, was.User)
	s.System += above(r.System, was.System)
	s.Runtime += above(r.Runtime, was.Runtime)
	s.MajorFaults += above(r.MajorFaults, was.MajorFaults)
	s.RunDelay += above(r.RunDelay, was.RunDelay)
	s.Flags |= r.Flags
	if r.Tid == r.Tgid {
		g.leader = true
		s.Comm, s.Start = r.Comm, r.Start
		s.MemoryCgroup, s.IoCgroup, s.CpuCgroup = r.MemoryCgroup, r.IoCgroup, r.CpuCgroup
	}
}

func (p *Ended) emit(pid int, r *tasksRow, into sample.Sink) {
	r.share(&tasksRow{})
	e := sample.Entity{PID: pid}
	const nano = 1e-9
	into.Put(sample.ProcUser, e, float64(r.User)*nano, FromEnded)
	into.Put(sample.ProcSystem, e, float64(r.System)*nano, FromEnded)
	into.Put(sample.ProcMajorFault, e, float64(r.MajorFaults), FromEnded)
	if r.Flags&hasRunDelay != 0 {
		into.Put(sample.ProcRunDelay, e, float64(r.RunDelay)*nano, FromEnded)
	}
	into.PutProcess(pid, r.process(p.lookup))
}

// process is how a process is named.
func (r *tasksRow) process(lookup *host.Lookup) sample.Process {
	comm, _, _ := bytes.Cut(r.Comm[:], []byte{0})
	return sample.Process{
		Comm: string(comm), Start: time.Duration(r.Start), Kernel: r.Flags&kernelThread != 0,
		MemoryCgroup: lookup.MemoryCgroup(r.MemoryCgroup), IOCgroup: lookup.IOCgroup(r.IoCgroup), CPUCgroup: lookup.CPUCgroup(r.CpuCgroup),
	}
}
