// Package pid reads /proc/PID: what every process did between the start and
// the end of the window. Threads are summed up in their process.
package pid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

type source struct {
	host    *host.Host
	rested  func(pid int, start uint64) bool // nil where nobody knows
	readers []*reader
	r       *reader // the first of them
	delays  bool    // the kernel accounts waits for I/O
	page    float64 // bytes
	start   uint64  // of the window, clock ticks since boot; 0 when not known
	online  int     // processors, 0 when not known
	before  map[int]look
	pids    []int     // those in before, in order
	spare   []int     // memory for the next of these
	found   []outcome // of the last pass
	missed  bool      // there was none at the Collect before
	after   tally

	turns    turns           // threads that compute by turns
	tookOver map[int]host.IO // by parents, of children that ended in this window
}

// tally counts what one phase met.
type tally struct {
	seen, ended, late, broken, truncated int

	denied int   // their io may not be read
	active int   // of these, may have used it
	slices bool  // some thread has counted its runs
	err    error // the first of broken
}

// Open opens the source. It fails when the processes cannot be listed.
func Open(h *host.Host) (sample.Source, error) { return OpenBeside(h, nil) }

// OpenBeside is Open beside somebody who knows which processes have not run: no
// file of these is read. rested tells, of the process that began at a time (in
// ticks since boot), whether none of its threads has run between the instant just
// before this Collect and the one just before the Collect ahead of it. It is
// called by several goroutines at once.
func OpenBeside(h *host.Host, rested func(pid int, start uint64) bool) (sample.Source, error) {
	s := &source{host: h, rested: rested, page: float64(h.PageSize()), before: map[int]look{}}
	s.r = newReader(h)
	s.readers = []*reader{s.r}
	if _, err := numbers(h.Proc()); err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	return s, nil
}

// Collect implements sample.Source. Ticks read little: a pass over thousands
// of processes takes tens of milliseconds.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.Tick {
		s.lookAtTurns()
		return nil
	}
	began := s.ticks() // before they are listed: who is not in the list began later
	pids, err := numbers(s.host.Proc())
	if err != nil {
		s.missed = true
		return fmt.Errorf("listing the processes: %w", err)
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == s.host.Self })
	slices.Sort(pids)
	if phase == sample.First {
		s.turns = turns{}
		s.begin(pids, began)
		s.missed = false
		return nil
	}
	s.after = tally{}
	found := s.pass(pids, s.before)
	s.missed = false
	s.tookOver = s.inherited(found)
	for i := range found {
		s.end(&found[i], into)
	}
	s.after.ended = max(0, len(s.before)-s.after.seen)
	s.gaps(into)
	s.emitTurns(into)
	if phase == sample.Last { // not in every interval of what watches all the time
		s.emitPipes(found, into)
	}
	if phase == sample.IntervalEnd {
		s.goOn(found, began)
	}
	return s.after.err
}

// goOn makes what ends one window the start values of the next, which began then.
func (s *source) goOn(found []outcome, began uint64) {
	kept := s.spare[:0]
	for i := range found {
		o := &found[i]
		switch {
		case o.same:
			kept = append(kept, o.pid)
		case o.error == nil:
			s.before[o.pid] = o.look
			kept = append(kept, o.pid)
		}
	}
	i := 0
	for _, pid := range s.pids {
		for i < len(kept) && kept[i] < pid {
			i++
		}
		if i == len(kept) || kept[i] != pid {
			delete(s.before, pid)
		}
	}
	s.pids, s.spare = kept, s.pids
	s.begun(began)
}

// begun notes when the window began.
func (s *source) begun(began uint64) { s.start, s.online = began, s.host.Processors() }

// ticks is how long ago the kernel began, in its ticks; 0 when that is not known.
func (s *source) ticks() uint64 {
	up, err := s.host.Uptime()
	if err != nil {
		return 0
	}
	return uint64(up / (time.Second / host.TickHz))
}

// past is how long the window has lasted, in the kernel's ticks.
func (s *source) past() (ticks float64, known bool) {
	up, err := s.host.Uptime()
	return float64(up)/float64(time.Second/host.TickHz) - float64(s.start), err == nil && s.start != 0
}

// begin takes the start values of a window that began then.
func (s *source) begin(pids []int, began uint64) {
	clear(s.before)
	s.pids = s.pids[:0]
	s.begun(began)
	accounting, waited := s.accounting(), false
	s.delays = accounting != delaysOff
	for _, o := range s.pass(pids, nil) {
		if o.error == nil {
			s.before[o.pid] = o.look
			s.pids = append(s.pids, o.pid)
			waited = waited || o.look.stat.BlkioDelay > 0
		}
	}
	s.delays = accounting == delaysOn || accounting == delaysUnknown && waited
}

// end compares one process with its start and emits it if it did something.
func (s *source) end(o *outcome, into sample.Sink) {
	old, known := s.before[o.pid]
	if o.same {
		s.after.seen++
		s.after.slices = s.after.slices || old.sched.Slices > 0
		if old.denied {
			s.after.denied++
		}
		s.taken(o.pid, &old)
		s.holds(o.pid, &old, into)
		return
	}
	l, err := &o.look, o.error
	switch {
	case err == nil:
	case gone(err):
		return
	case errors.Is(err, fs.ErrPermission): // hidepid=1
		return
	default:
		s.after.broken++
		if s.after.err == nil {
			s.after.err = err
		}
		if known {
			s.after.seen++
		}
		return
	}
	if known && old.stat.Start != l.stat.Start {
		known = false // the number was given to another process
		old = look{}
	} else if known {
		s.after.seen++
	}
	if l.denied || old.denied {
		s.after.denied++
		if !known || l.sched != old.sched || l.stat.Threads > 1 {
			s.after.active++
		}
	}
	if l.truncated || old.truncated {
		s.after.truncated++
	}
	s.after.slices = s.after.slices || l.sched.Slices > 0
	if !known {
		if s.start == 0 || l.stat.Start < s.start {
			s.after.late++
			return
		}
		old = look{hasIO: true, hasSched: true} // counts from zero
	}
	s.emit(o.pid, &old, l, into)
}

// change is one counter's increase; a negative one never leaves here.
type change struct {
	metric sample.Metric
	rise   float64
	from   string
	fell   bool
}

func (s *source) emit(pid int, old, l *look, into sample.Sink) {
	var changes [16]change
	all := changes[:0]
	active := false
	add := func(m sample.Metric, before, now uint64, unit float64, from string) {
		c := change{metric: m, from: from, fell: now < before}
		if !c.fell {
			c.rise = float64(now-before) * unit
			active = active || now > before
		}
		all = append(all, c)
	}
	const tick, nano = 1.0 / host.TickHz, 1e-9
	add(sample.ProcUser, old.stat.User, l.stat.User, tick, "/proc/PID/stat")
	add(sample.ProcSystem, old.stat.System, l.stat.System, tick, "/proc/PID/stat")
	add(sample.ProcChildren, old.stat.Children, l.stat.Children, tick, "/proc/PID/stat")
	add(sample.ProcMajorFault, old.stat.MajorFaults, l.stat.MajorFaults, 1, "/proc/PID/stat")
	if old.hasIO && l.hasIO {
		const from = "/proc/PID/io"
		old.io = old.io.With(s.tookOver[pid], l.io)
		add(sample.ProcReadChars, old.io.ReadChars, l.io.ReadChars, 1, from)
		add(sample.ProcWriteChars, old.io.WriteChars, l.io.WriteChars, 1, from)
		add(sample.ProcReadCalls, old.io.ReadCalls, l.io.ReadCalls, 1, from)
		add(sample.ProcWriteCalls, old.io.WriteCalls, l.io.WriteCalls, 1, from)
		add(sample.ProcReadBytes, old.io.ReadBytes, l.io.ReadBytes, 1, from)
		add(sample.ProcWriteBytes, old.io.WriteBytes, l.io.WriteBytes, 1, from)
	}
	delay, blkio := threadRise(old, l)
	if old.hasSched && l.hasSched && l.sched.Slices > 0 {
		add(sample.ProcRunDelay, 0, delay, nano, "/proc/PID/schedstat")
	}
	if s.delays && l.stat.HasBlkioDelay {
		add(sample.ProcBlkioDelay, 0, blkio, tick, "/proc/PID/stat")
	}
	if !active {
		s.holds(pid, l, into)
		return
	}
	e := sample.Entity{PID: pid}
	for _, c := range all {
		if c.fell {
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s of process %d: %s fell, so part of its increase is lost", c.from, pid, c.metric),
				Metrics: []sample.Metric{c.metric},
			})
			continue
		}
		into.Put(c.metric, e, c.rise, c.from)
	}
	into.Put(sample.ProcRSS, e, float64(l.stat.RSS)*s.page, "/proc/PID/stat")
	into.Put(sample.ProcThreads, e, float64(l.stat.Threads), "/proc/PID/stat")
	s.describe(pid, longest(old, l), l, into)
}

// longest is the thread that waited longest for a processor: the first one where no
// other waited longer.
func longest(old, l *look) int {
	best, most := l.stat.PID, uint64(0)
	for tid, t := range l.threads {
		d := t.delay - min(t.delay, old.threads[tid].delay)
		if d > most || d == most && d > 0 && tid < best {
			best, most = tid, d
		}
	}
	return best
}

// hog is the resident memory, in bytes, from which on a process is of interest even
// if it did nothing: who fills the memory may sleep.
const hog = 64 << 20

// taken brings the resident memory of a process that has not run up to date: the
// kernel may have taken of it for others since. It has no more than when it ran.
func (s *source) taken(pid int, l *look) {
	if float64(l.stat.RSS)*s.page < hog {
		return
	}
	l.stat.RSS = 0 // it has ended
	if b, err := s.r.read(pid, "/stat"); err == nil {
		if now, err := parseStat(b); err == nil && now.Start == l.stat.Start {
			l.stat.RSS = now.RSS
		}
	}
}

// holds tells of the memory of a process that did nothing.
func (s *source) holds(pid int, l *look, into sample.Sink) {
	if held := float64(l.stat.RSS) * s.page; held >= hog {
		into.Put(sample.ProcRSS, sample.Entity{PID: pid}, held, "/proc/PID/stat")
		s.describe(pid, pid, l, into)
	}
}

// threadRise sums up what the kernel counts for each thread alone: waits for
// a processor (nanoseconds) and for I/O (ticks). A thread that ended in the
// window takes its figures with it; one that began counts from zero.
func threadRise(old, l *look) (delay, blkio uint64) {
	up := func(before, now uint64) uint64 {
		if now < before {
			return 0 // another thread with the number of an ended one
		}
		return now - before
	}
	if l.threads == nil || old.truncated || l.truncated {
		return up(old.sched.Delay, l.sched.Delay), up(old.stat.BlkioDelay, l.stat.BlkioDelay)
	}
	first := threadSum{old.sched.Delay, old.stat.BlkioDelay}
	for tid, t := range l.threads {
		before, ok := old.threads[tid]
		if !ok && tid == l.stat.PID {
			before = first // it had one thread only
		}
		delay += up(before.delay, t.delay)
		blkio += up(before.blkio, t.blkio)
	}
	return delay, blkio
}

// describe names a process that is emitted, and reads what only these need. Threads
// of one process may be pinned each for itself: the one that counts is tid.
func (s *source) describe(pid, tid int, l *look, into sample.Sink) {
	p := sample.Process{
		Start:  time.Duration(min(l.stat.Start, 1<<53)) * (time.Second / host.TickHz),
		Kernel: l.stat.Kernel,
	}
	if b, err := s.r.read(pid, "/stat"); err == nil {
		if st, err := ParseStat(b); err == nil && st.Start == l.stat.Start {
			p.Comm = st.Comm
			if st.Nice != 0 {
				into.Put(sample.ProcNice, sample.Entity{PID: pid}, float64(st.Nice), "/proc/PID/stat")
			}
		}
	}
	if b, err := s.r.read(pid, "/cgroup"); err == nil {
		if c, err := procfile.ParseCgroups(b); err == nil {
			p.MemoryCgroup, p.IOCgroup, p.CPUCgroup = s.alive(c.Memory()), s.alive(c.IO()), s.alive(c.CPU())
		}
	}
	if b, err := s.r.read(pid, "/status"); err == nil {
		st, err := procfile.ParseStatus(b)
		if err == nil && st.Swap != nil {
			into.Put(sample.ProcSwap, sample.Entity{PID: pid}, float64(*st.Swap), "/proc/PID/status")
		}
		from := "/proc/PID/status"
		if tid != pid {
			from = "/proc/PID/task/TID/status"
			if b, err = s.r.readThread(pid, tid, "/status"); err == nil {
				st, err = procfile.ParseStatus(b)
			}
		}
		if err == nil && st.Processors > 0 && st.Processors < s.online {
			into.Put(sample.ProcProcessors, sample.Entity{PID: pid}, float64(st.Processors), from)
		}
	}
	into.PutProcess(pid, p)
}

const deleted = " (deleted)"

// alive takes the kernel's mark from the path of a version 2 cgroup that was
// removed under its process. A cgroup may also bear the mark as its name: then
// it is there.
func (s *source) alive(path string) string {
	short, marked := strings.CutSuffix(path, deleted)
	if !marked {
		return path
	}
	if c, err := s.host.Cgroups(); err == nil && c.Unified != nil {
		if dir, err := c.Unified.Join(path); err == nil {
			if _, err := os.Lstat(dir); err == nil {
				return path
			}
		}
	}
	return short
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }

// Delay accounting: whether field 42 of a stat file counts. Before Linux 5.14
// no file tells; then it counts if any process has ever waited.
const (
	delaysOff = iota
	delaysOn
	delaysUnknown
)

func (s *source) accounting() int {
	on, known := s.host.DelayAccounting()
	switch {
	case !known:
		return delaysUnknown
	case on:
		return delaysOn
	}
	return delaysOff
}
