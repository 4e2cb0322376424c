package pid

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Where no kernel program can count who waits for what, the states of all threads
// are read many times a second: a thread that is found in state D in a fifth of
// the snapshots waits a fifth of the time. They are taken at random distances, so
// that nothing periodic hides between them. What sleeps until I/O is complete without
// state D (io_uring, libaio) is not seen, so what is not found here may still be.

const (
	// snapshotEvery is the mean time between two snapshots: 400 in ten seconds tell a
	// tenth from a seventh.
	snapshotEvery = 25 * time.Millisecond
	// snapshotShare bounds what they take of one processor.
	snapshotShare = 0.05
	// heldUp is the share of its time awake from which on a thread counts as held up
	// (wait.held_threads), as in the page cache's probe.
	heldUp        = 0.10
	fromSnapshots = "/proc/PID/task/TID/stat, sampled"
)

// threadSeen is what was seen of one thread, in seconds.
type threadSeen struct{ wait, awake float64 }

// processSeen is what was seen of one process, in seconds summed over threads.
type processSeen struct {
	process sample.Process
	start   uint64
	wait    map[string]float64 // by class of wait.io
	pause   float64
	threads map[int]*threadSeen
}

// waits samples states. Collect and the goroutine that takes snapshots share it.
type waits struct {
	host *host.Host
	r    *reader

	mu    sync.Mutex
	seen  map[int]*processSeen
	taken int       // snapshots
	since time.Time // the last snapshot, or the start
	began time.Time
	err   error // the last snapshot that failed
	lost  int   // snapshots that failed
	cut   bool  // some threads were not read

	stop, done chan struct{}
}

// WaitMetrics is what OpenWaits emits.
func WaitMetrics() []sample.Metric {
	return []sample.Metric{
		sample.WaitIO, sample.WaitThreads, sample.WaitDirtyPause, sample.WaitSnapshots,
		sample.WaitAwake, sample.WaitWeighted, sample.WaitHeld, sample.WaitRan, sample.WaitWorst,
	}
}

// OpenWaits opens the source that samples who waits. It stands in for the probe of
// the page cache where that cannot be loaded.
func OpenWaits(h *host.Host) (sample.Source, error) {
	if !h.IsLive {
		return nil, fmt.Errorf("reading the states of threads: a captured host has none")
	}
	if _, err := numbers(h.Proc()); err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	return &waits{host: h, r: newReader(h)}, nil
}

// Collect implements sample.Source.
func (s *waits) Collect(phase sample.Phase, into sample.Sink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case phase == sample.First:
		s.begin()
		if s.stop == nil {
			s.stop, s.done = make(chan struct{}), make(chan struct{})
			go s.run(s.stop, s.done)
		}
	case phase.Closes():
		s.emit(into)
		s.begin()
	}
	return nil
}

// begin starts an account. The lock is held.
func (s *waits) begin() {
	now := time.Now()
	s.seen, s.taken, s.lost, s.err, s.cut = map[int]*processSeen{}, 0, 0, nil, false
	s.since, s.began = now, now
}

// run takes snapshots until stop is closed.
func (s *waits) run(stop, done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(snapshotEvery)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		began := time.Now()
		s.mu.Lock()
		s.snapshot(began)
		s.mu.Unlock()
		pause := max(snapshotEvery, time.Duration(float64(time.Since(began))/snapshotShare))
		timer.Reset(time.Duration((0.5 + rand.Float64()) * float64(pause)))
	}
}

// snapshot takes the state of every thread as what it was in since the last one. The
// lock is held.
func (s *waits) snapshot(now time.Time) {
	pids, err := numbers(s.host.Proc())
	if err != nil {
		s.lost, s.err = s.lost+1, err
		return
	}
	d := now.Sub(s.since).Seconds()
	s.since = now
	s.taken++
	left := maxThreads
	for _, pid := range pids {
		if pid == s.host.Self {
			continue
		}
		b, err := s.r.read(pid, "/stat")
		if err != nil {
			continue // ended, or hidden
		}
		st, err := parseStat(b)
		if err != nil {
			continue
		}
		name := string(comm(b))
		if st.Threads <= 1 {
			s.note(&st, name, pid, st.State, d)
			continue
		}
		tids, err := numbers(s.r.proc + strconv.Itoa(pid) + "/task")
		if err != nil {
			continue
		}
		if left -= len(tids); left < 0 {
			s.cut = true
			return
		}
		for _, tid := range tids {
			b, err := s.r.readThread(pid, tid, "/stat")
			if err != nil {
				continue
			}
			if t, err := parseStat(b); err == nil {
				s.note(&st, name, tid, t.State, d)
			}
		}
	}
}

// note adds one thread of a snapshot.
func (s *waits) note(st *Stat, name string, tid int, state byte, d float64) {
	if state != 'R' && state != 'D' {
		return
	}
	p := s.seen[st.PID]
	if p == nil || p.start != st.Start {
		p = &processSeen{start: st.Start, wait: map[string]float64{}, threads: map[int]*threadSeen{}}
		s.seen[st.PID] = p
	}
	p.process = sample.Process{Comm: name, Kernel: st.Kernel, Start: time.Duration(min(st.Start, 1<<53)) * (time.Second / host.TickHz)}
	t := p.threads[tid]
	if t == nil {
		t = &threadSeen{}
		p.threads[tid] = t
	}
	t.awake += d
	if state != 'D' {
		return
	}
	switch class := s.class(st, tid); class {
	case "":
	case "pause":
		p.pause += d
		t.wait += d
	default:
		p.wait[class] += d
		t.wait += d
	}
}

// class is what a thread in state D waits in: a class of wait.io, "pause", or ""
// for what is no I/O. The stack says most, and takes CAP_SYS_ADMIN; the function
// and the call can be read by whoever may trace the process.
func (s *waits) class(st *Stat, tid int) string {
	for _, file := range []string{"/stack", "/wchan"} {
		b, err := s.r.readThread(st.PID, tid, file)
		if err != nil {
			continue
		}
		if in, known := classOfFunctions(string(b)); known {
			return in
		}
	}
	if st.Kernel {
		return sample.ClassOther
	}
	b, err := s.r.readThread(st.PID, tid, "/syscall")
	if err != nil {
		return sample.ClassOther
	}
	return classOfCall(b)
}

// telling are functions of the kernel that say what a thread sleeps for, those that
// say more first: a write that waits for its journal is a sync.
func telling() []struct{ function, class string } {
	return []struct{ function, class string }{
		{"balance_dirty_pages", "pause"},
		{"rwsem_down", ""}, {"mutex_lock", ""}, {"__down", ""}, // locks
		{"wait_for_vfork_done", ""}, {"wait_for_completion_state", ""},
		{"fsync", sample.ClassSync}, {"sync_file", sample.ClassSync}, {"jbd2_log_wait_commit", sample.ClassSync}, {"folio_wait_writeback", sample.ClassSync},
		{"xlog_wait_on_iclog", sample.ClassSync}, {"xfs_log_force", sample.ClassSync}, {"blkdev_issue_flush", sample.ClassSync}, {"generic_write_sync", sample.ClassSync},
		{"filemap_fault", sample.ClassFault}, {"do_swap_page", sample.ClassFault},
	}
}

// classOfFunctions tells by the functions of a stack, or by the one that a thread
// sleeps in, where these are enough.
func classOfFunctions(names string) (class string, known bool) {
	for _, t := range telling() {
		if strings.Contains(names, t.function) {
			return t.class, true
		}
	}
	return "", false
}

// classOfCall is the class of wait.io for a line of /proc/PID/syscall.
func classOfCall(line []byte) string {
	f, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	nr, err := strconv.Atoi(string(f))
	if err != nil {
		return sample.ClassOther // it runs again
	}
	switch nr {
	case -1:
		return sample.ClassFault // in the kernel, and in no call
	case unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_SENDFILE:
		return sample.ClassRead
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		return sample.ClassWrite
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_MSYNC, unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE:
		return sample.ClassSync
	}
	return sample.ClassOther
}

// emit hands over what was seen. The lock is held.
func (s *waits) emit(into sample.Sink) {
	length := time.Since(s.began).Seconds()
	if s.taken == 0 || length <= 0 {
		why := "no snapshot was taken in time"
		if s.err != nil {
			why = s.err.Error()
		}
		into.PutGap(sample.Gap{Why: "reading the states of threads: " + why, Metrics: WaitMetrics()})
		return
	}
	into.Put(sample.WaitSnapshots, sample.Entity{}, float64(s.taken)/length, fromSnapshots)
	for pid, p := range s.seen {
		var blocked, held int
		var awake, weighted, worst float64
		for _, t := range p.threads {
			awake += t.awake
			if t.wait == 0 {
				continue
			}
			blocked++
			weighted += t.wait * t.wait / t.awake
			worst = max(worst, t.wait)
			if t.wait >= heldUp*t.awake {
				held++
			}
		}
		if blocked == 0 {
			continue
		}
		into.PutProcess(pid, s.known(pid, p))
		e := sample.Entity{PID: pid}
		for _, x := range []struct {
			metric sample.Metric
			value  float64
		}{
			{sample.WaitThreads, float64(blocked)}, {sample.WaitHeld, float64(held)}, {sample.WaitRan, float64(len(p.threads))},
			{sample.WaitAwake, awake}, {sample.WaitWeighted, weighted}, {sample.WaitWorst, worst},
		} {
			into.Put(x.metric, e, x.value, fromSnapshots)
		}
		if p.pause > 0 {
			into.Put(sample.WaitDirtyPause, e, p.pause, fromSnapshots)
		}
		for class, t := range p.wait {
			e.Class = class
			into.Put(sample.WaitIO, e, t, fromSnapshots)
		}
	}
	// that nobody was found waiting is a measurement too
	into.Put(sample.WaitIO, sample.Entity{}, 0, fromSnapshots)
	into.Put(sample.WaitDirtyPause, sample.Entity{}, 0, fromSnapshots)
	if s.lost > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("%d snapshots of the states of threads failed, last: %v", s.lost, s.err)})
	}
	if s.cut {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("there are more than %d threads: the states of the others were not read", maxThreads)})
	}
}

// known is the process with its cgroups, where they can still be read.
func (s *waits) known(pid int, p *processSeen) sample.Process {
	out := p.process
	if b, err := s.r.read(pid, "/cgroup"); err == nil {
		if c, err := procfile.ParseCgroups(b); err == nil {
			out.MemoryCgroup, out.IOCgroup, out.CPUCgroup = c.Memory(), c.IO(), c.CPU()
		}
	}
	return out
}

// Close implements sample.Source.
func (s *waits) Close() error {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.stop = nil
	s.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
	return nil
}
