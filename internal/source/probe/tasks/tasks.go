// Package tasks reads what every process has done, as /proc/PID/io and stat
// have it, in one pass of a kernel program over all threads: that costs less
// than a microsecond a thread, where opening and reading the files of a process
// takes ten and more.
package tasks

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// From is the source of the figures.
const From = "bpf_iter:task"

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.ProcReadBytes, sample.ProcWriteBytes, sample.ProcReadChars, sample.ProcWriteChars,
		sample.ProcUser, sample.ProcSystem, sample.ProcBlkioDelay, sample.ProcRunDelay, sample.ProcMajorFault,
		sample.ProcWaiters,
	}
}

// Probe is the loaded iterator. It is attached to nothing: between two passes
// it costs nothing.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup

	before []tasksRow // of the pass before, sums of processes in the rows of their first threads
	bufs   [2][]byte  // the older one is written next
	rises  []rise
	began  uint64 // of the window, ns since boot
}

// Open loads the iterator and runs it once. It needs root or CAP_BPF and
// CAP_PERFMON.
func Open(h *host.Host) (sample.Source, error) {
	p, err := load(h, []bpf.Program{{Name: "look"}}, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the tasks probe: %w", err)
	}
	s := &Probe{host: h, probe: p, lookup: host.NewLookup(h)}
	rows, _, err := s.look()
	if err == nil {
		err = ownName(h, rows)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the tasks probe: %w", err), p.Close())
	}
	return s, nil
}

// load loads the object with these of its programs.
func load(h *host.Host, programs []bpf.Program, constants map[string]any) (*bpf.Probe, error) {
	if !h.IsLive {
		return nil, fmt.Errorf("%w: this host is a captured copy", bpf.ErrNotSupported)
	}
	spec, err := loadTasks()
	if err != nil {
		return nil, fmt.Errorf("reading the tasks object: %w", err)
	}
	if len(programs) == 1 { // the iterator alone: nothing is kept of threads that end
		delete(spec.Programs, "on_free")
		delete(spec.Maps, "ended")
	}
	return bpf.Open(spec, programs, constants)
}

// ownName fails where the kernel's numbers of processes are not ours: it tells
// those of the first process name space. Ours may by chance be another process's
// there, which began at another time.
func ownName(h *host.Host, rows []tasksRow) error {
	fields, err := h.StatFields(h.Self)
	if err != nil {
		return fmt.Errorf("reading our own start time: %w", err)
	}
	began, err := strconv.ParseUint(fields[host.StatStart], 10, 64)
	if err != nil {
		return fmt.Errorf("reading our own start time: %w", err)
	}
	if i := find(rows, uint32(h.Self)); i < 0 || rows[i].Start/uint64(time.Second/host.TickHz) != began {
		return fmt.Errorf("%w: %s; %s", bpf.ErrNotSupported, host.NumbersApart, host.SharePIDs)
	}
	return nil
}

// now is the time since boot, in nanoseconds, as the kernel has it of threads.
func now() (uint64, error) {
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &clock); err != nil {
		return 0, fmt.Errorf("reading the clock: %w", err)
	}
	return uint64(clock.Nano()), nil
}

// Close unloads the iterator.
func (p *Probe) Close() error { return p.probe.Close() }

// look runs the iterator. The rows are good until the one after the next.
func (p *Probe) look() (rows []tasksRow, began uint64, err error) {
	if began, err = now(); err != nil {
		return nil, 0, err
	}
	buf, err := p.probe.ReadIterator("look", rowSize, p.bufs[0])
	if err != nil {
		return nil, 0, err
	}
	p.bufs[0], p.bufs[1] = p.bufs[1], buf
	rows, err = rowsIn(buf)
	return rows, began, err
}

// Collect implements sample.Source. Ticks read nothing.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.Tick {
		return nil
	}
	rows, began, err := p.look()
	if err != nil {
		return err
	}
	if phase == sample.First {
		p.before, p.began = nil, 0
	}
	p.rises = sum(rows, p.before, p.began, p.rises)
	if phase == sample.First {
		for i := range rows {
			rows[i].share(&tasksRow{})
		}
	} else {
		p.changes(rows, into)
	}
	p.before, p.began = rows, began
	return nil
}

// changes emits the processes that did something since the pass before, and
// what is not known.
func (p *Probe) changes(rows []tasksRow, into sample.Sink) {
	delays, tookOver := p.delays(rows), inherited(rows, p.before)
	old, seen, late, has := 0, 0, 0, uint32(0)
	for i := range rows {
		r := &rows[i]
		has |= r.Flags
		if r.Tid != r.Tgid {
			continue
		}
		for old < len(p.before) && p.before[old].Tid < r.Tid {
			old++
		}
		was := &tasksRow{}
		switch {
		case old < len(p.before) && p.before[old].Tid == r.Tid && p.before[old].Tgid == r.Tgid && p.before[old].Start == r.Start:
			was = &p.before[old]
			seen++
		case r.Start < p.began:
			late++
			r.share(was)
			continue
		}
		r.hold(was)
		r.share(was)
		if took, ok := tookOver[int(r.Tgid)]; ok {
			was = was.with(took, r)
		}
		if int(r.Tgid) != p.host.Self {
			p.emit(r, was, p.rises[i], delays, into)
		}
	}
	ended := -seen
	for i := range p.before {
		if p.before[i].Tid == p.before[i].Tgid {
			ended++
		}
	}
	if ended > 0 {
		into.PutGap(sample.Gap{Why: sample.Counted(ended, "process") + " exited before the end of the window: what they did since is missing, or among the I/O of their parents"})
	}
	if late > 0 {
		into.PutGap(sample.Gap{Why: sample.Counted(late, "process") + " could not be read at the start of the window: the figures are missing"})
	}
	lacks := func(why string, metrics ...sample.Metric) { into.PutGap(sample.Gap{Why: why, Metrics: metrics}) }
	if has&hasChars == 0 {
		lacks("the kernel does not count what is read and written: one with CONFIG_TASK_XACCT does", sample.ProcReadChars, sample.ProcWriteChars)
	}
	if has&hasBytes == 0 {
		lacks("the kernel does not account I/O: one with CONFIG_TASK_IO_ACCOUNTING does", sample.ProcReadBytes, sample.ProcWriteBytes)
	}
	if has&hasRunDelay == 0 {
		lacks("the kernel does not account waits for a processor: one with CONFIG_SCHED_INFO (SCHEDSTATS or TASK_DELAY_ACCT) does", sample.ProcRunDelay)
	}
	if !delays {
		lacks("the kernel does not account waits for I/O: sysctl kernel.task_delayacct=1, or boot with delayacct", sample.ProcBlkioDelay)
	}
}

// emit emits one process if it did something, or waits.
func (p *Probe) emit(r, was *tasksRow, up rise, delays bool, into sample.Sink) {
	if r.User+r.System == was.User+was.System && r.MajorFaults == was.MajorFaults && up == (rise{}) &&
		r.ReadChars == was.ReadChars && r.WriteChars == was.WriteChars && r.ReadBytes == was.ReadBytes && r.WriteBytes == was.WriteBytes {
		return
	}
	e := sample.Entity{PID: int(r.Tgid)}
	const nano = 1e-9
	into.Put(sample.ProcUser, e, float64(r.User-was.User)*nano, From)
	into.Put(sample.ProcSystem, e, float64(r.System-was.System)*nano, From)
	into.Put(sample.ProcMajorFault, e, float64(r.MajorFaults-was.MajorFaults), From)
	if r.Flags&hasChars != 0 {
		into.Put(sample.ProcReadChars, e, float64(r.ReadChars-was.ReadChars), From)
		into.Put(sample.ProcWriteChars, e, float64(r.WriteChars-was.WriteChars), From)
	}
	if r.Flags&hasBytes != 0 {
		into.Put(sample.ProcReadBytes, e, float64(r.ReadBytes-was.ReadBytes), From)
		into.Put(sample.ProcWriteBytes, e, float64(r.WriteBytes-was.WriteBytes), From)
	}
	if r.Flags&hasRunDelay != 0 {
		into.Put(sample.ProcRunDelay, e, float64(up.run)*nano, From)
	}
	if delays && r.Flags&hasBlkioDelay != 0 {
		into.Put(sample.ProcBlkioDelay, e, float64(up.blkio)*nano, From)
	}
	for class, n := range map[string]uint32{sample.ClassIO: up.io, sample.ClassOther: up.other} {
		if n > 0 {
			into.Put(sample.ProcWaiters, sample.Entity{PID: int(r.Tgid), Class: class}, float64(n), From)
		}
	}
	into.PutProcess(int(r.Tgid), r.process(p.lookup))
}

// delays tells whether the kernel accounts waits for I/O. Before Linux 5.14 no
// file tells: then it does if it has room for them in some thread.
func (p *Probe) delays(rows []tasksRow) bool {
	if on, known := p.host.DelayAccounting(); known {
		return on
	}
	for i := range rows {
		if rows[i].Flags&hasBlkioDelay != 0 {
			return true
		}
	}
	return false
}
