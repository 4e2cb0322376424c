package pid

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// Threads that compute by turns: all of them want to run, and a lock of the program
// lets one at a time, as the global lock of Python's and Ruby's interpreters does. Who
// waits for it sleeps in futex(2) with a time limit, as idle workers do, so no account
// of locks has it. What tells them apart: again and again exactly one of the threads
// runs, another one each time, and all others that ever ran sleep on the same word.
//
// Only processes with several threads that take one processor are looked at.

const (
	// A process that takes so much of one processor is looked at.
	turnsLeast, turnsMost = 0.80, 1.15
	// mostTurning bounds how many processes are looked at, and mostTurners how many
	// threads of each may be.
	mostTurning, mostTurners = 4, 256
	// looksPerTick is how often each is looked at in a tick, at random distances of
	// looksApart on average: the interpreter of Python changes threads every 5 ms.
	looksPerTick = 12
	looksApart   = 4 * time.Millisecond
	// wakersEach is for how many threads one more may be found running: all that wait
	// for their turn wake up every 5 ms to ask for it.
	wakersEach = 16
	// oneLock is how many bytes the words that belong to one lock are apart at most.
	oneLock = 64

	fromTurns = "/proc/PID/task/TID/syscall, sampled"
)

// turnLook is what one look at the threads of a process found.
type turnLook struct {
	running []int          // threads that run, or wait for a processor
	asleep  map[int]uint64 // those that sleep on a futex with a time limit: its address
}

// turns are the looks at processes in a window.
type turns struct {
	chosen bool
	looks  map[int][]turnLook
}

// lookAtTurns looks at the processes that took one processor since the window began; the
// first call in each window chooses them.
func (s *source) lookAtTurns() {
	t := &s.turns
	if !t.chosen {
		t.chosen, t.looks = true, s.inTurns()
	}
	for range looksPerTick {
		if len(t.looks) == 0 {
			return
		}
		time.Sleep(time.Duration((0.5 + rand.Float64()) * float64(looksApart)))
		for pid := range t.looks {
			if l, ok := s.r.lookAtThreads(pid); ok {
				t.looks[pid] = append(t.looks[pid], l)
			}
		}
	}
}

// inTurns finds who has several threads and takes one processor.
func (s *source) inTurns() map[int][]turnLook {
	found := map[int][]turnLook{}
	past, known := s.past()
	if !known || !s.host.IsLive {
		return found
	}
	for pid := range s.before {
		l := s.before[pid]
		if l.stat.Threads < 2 || l.stat.Threads > mostTurners || l.stat.Kernel || len(found) == mostTurning {
			continue
		}
		b, err := s.r.read(pid, "/stat")
		if err != nil {
			continue
		}
		st, err := parseStat(b)
		if err != nil || st.Start != l.stat.Start {
			continue
		}
		if used := float64(st.User+st.System) - float64(l.stat.User+l.stat.System); used >= turnsLeast*past && used <= turnsMost*past {
			found[pid] = nil
		}
	}
	return found
}

// lookAtThreads tells what each thread of a process does now.
func (r *reader) lookAtThreads(pid int) (turnLook, bool) {
	l := turnLook{asleep: map[int]uint64{}}
	tids, err := numbers(r.proc + strconv.Itoa(pid) + "/task")
	if err != nil {
		return l, false
	}
	for _, tid := range tids {
		b, err := r.readThread(pid, tid, "/syscall")
		if err != nil {
			continue
		}
		if bytes.HasPrefix(b, []byte("running")) {
			l.running = append(l.running, tid)
		} else if word, ok := timedFutex(b); ok {
			l.asleep[tid] = word
		}
	}
	return l, true
}

// timedFutex reads the line of a thread that sleeps in a system call, "202 0x7f...
// 0x189 0x0 0x7ffd... ...": the word that it sleeps on in futex(2), with a time limit.
func timedFutex(line []byte) (word uint64, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 5 {
		return 0, false
	}
	if nr, err := strconv.Atoi(string(f[0])); err != nil || nr != unix.SYS_FUTEX {
		return 0, false
	}
	var of [4]uint64
	for i := range of {
		v, err := strconv.ParseUint(string(f[i+1]), 0, 64)
		if err != nil {
			return 0, false
		}
		of[i] = v
	}
	const wait, waitBitset, private, realtime = 0, 9, 128, 256
	op := of[1] &^ (private | realtime)
	return of[0], (op == wait || op == waitBitset) && of[3] != 0
}

// emitTurns emits what the looks of a window found, and forgets them.
func (s *source) emitTurns(into sample.Sink) {
	for pid, looks := range s.turns.looks {
		if len(looks) == 0 {
			continue
		}
		e := sample.Entity{PID: pid}
		one, idle, threads := byTurns(looks)
		into.Put(sample.ProcLooks, e, float64(len(looks)), fromTurns)
		into.Put(sample.ProcLooks, sample.Entity{PID: pid, Class: sample.ClassResting}, float64(idle), fromTurns)
		into.Put(sample.ProcTurns, e, float64(one), fromTurns)
		into.Put(sample.ProcTurnThreads, e, float64(threads), fromTurns)
	}
	s.turns = turns{}
}

// byTurns tells in how many looks one thread ran (and one more for each wakersEach) and
// all others that take turns slept on the same lock, in how many none ran, and how many
// threads take turns: those that were found alone a quarter as often as the first of them.
// One that looks for work while another one computes is alone for a moment, too.
func byTurns(looks []turnLook) (one, idle, threads int) {
	alone := map[int]int{}
	most := 0
	for i := range looks {
		switch running := looks[i].running; len(running) {
		case 0:
			idle++
		case 1:
			alone[running[0]]++
			most = max(most, alone[running[0]])
		}
	}
	maps.DeleteFunc(alone, func(_, n int) bool { return 4*n < most })
	for i := range looks {
		if l := &looks[i]; len(l.running) <= 1+(len(l.running)+len(l.asleep))/wakersEach && l.othersAsleep(alone) {
			one++
		}
	}
	return one, idle, len(alone)
}

// othersAsleep tells whether one of the threads of turning runs, and all of them that do
// not sleep on the same lock.
func (l *turnLook) othersAsleep(turning map[int]int) bool {
	var words []uint64
	if !slices.ContainsFunc(l.running, func(tid int) bool { return turning[tid] > 0 }) {
		return false
	}
	for tid := range turning {
		if slices.Contains(l.running, tid) {
			continue
		}
		word, asleep := l.asleep[tid]
		if !asleep {
			return false
		}
		words = append(words, word)
	}
	return len(words) > 0 && slices.Max(words)-slices.Min(words) < oneLock
}
