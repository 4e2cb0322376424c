package diagnose

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
)

const (
	// lockShareLimit is the part of a waiting thread's time from which on locks
	// are what slows a program down: without them it would be 1.25 times as
	// fast. Busy programs with many threads wait for a few percent and are well.
	lockShareLimit = 0.20
	// lockIOLimit is the mean number of threads of the same process that wait
	// for I/O or memory, from which on locks are not the root: the one that all
	// wait for is then likely the one that waits for the disk.
	lockIOLimit = 0.50
	// lockMapShare is the part of the waiting that has to be in calls that
	// change the address space for the advice to be about mappings.
	lockMapShare = 0.50
	// directoryCalls are those that change a directory, and take its lock.
	directoryCalls = "open openat openat2 creat unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat"
)

// waitIO is the time that threads are held up by I/O and for want of memory.
func (v *victim) waitIO() float64 { return v.waitTotal + v.pause + v.stall }

// locked is the part of a waiting thread's time that it waits for locks, 0 to 1: of
// the window, and of short processes of the time that they are awake.
func (v *victim) locked(seconds float64) float64 {
	if v.brief {
		return v.shared / v.notResting()
	}
	return clamp01(v.lock / (seconds * max(1, v.lockers)))
}

// contended is that part where it is enough to matter and nothing else is
// what the holders of the locks wait for, else 0.
func (c *Case) contended(v *victim) float64 {
	s := c.w.Seconds()
	if v.waitIO() >= lockIOLimit*s || v.locked(s) < lockShareLimit || c.waitsForItsTurn(v) || c.hasAll(v) {
		return 0
	}
	return v.locked(s)
}

// waitsForItsTurn tells of a process whose one thread waits for a lock of a file from
// the beginning of the window to its end, as a job does that shall not run beside
// another one (flock(1) in a crontab). That is its purpose, unless the question is
// about it, or several processes stand still so.
func (c *Case) waitsForItsTurn(v *victim) bool {
	if c.narrowed() || !c.oneLongFileWait(v.pid) || v.lockers > 1 {
		return false
	}
	n := 0
	c.w.Each(sample.LockWait, func(e sample.Entity, _ *sample.Series) {
		if e.Class == sample.ClassFile && c.oneLongFileWait(e.PID) {
			n++
		}
	})
	return n < standstill
}

// standstill is how many processes must wait for locks of files without an end for
// somebody to have to look.
const standstill = 3

// oneLongFileWait tells whether a process waits for a lock of a file once, for all of
// the window.
func (c *Case) oneLongFileWait(pid int) bool {
	e := sample.Entity{PID: pid, Class: sample.ClassFile}
	t, _ := c.w.Sum(sample.LockWait, e)
	n, counted := c.w.Sum(sample.LockWaits, e)
	return counted && n <= 1 && t >= 0.9*c.w.Seconds()
}

// measureLocks adds up how long a process waits for locks. Waits for locks of
// the program are followed from the first look on that saw one: what was seen
// stands for the whole window.
func (c *Case) measureLocks(v *victim) {
	for _, class := range []string{sample.ClassMmapLock, sample.ClassRWSem, sample.ClassMutex, sample.ClassOther, sample.ClassFreeze, sample.ClassFile} {
		t, _ := c.w.Sum(sample.LockWait, sample.Entity{PID: v.pid, Class: class})
		if v.lock += t; class != sample.ClassMmapLock {
			v.shared += t
		}
	}
	v.futex, _ = c.w.Sum(sample.LockWait, sample.Entity{PID: v.pid, Class: sample.ClassFutex})
	if followed, _ := c.gauge(sample.LockFutexes); followed > 0 {
		v.futex *= max(1, c.w.Seconds()/followed)
	}
	v.lock += v.futex
	v.lockers, _ = c.w.Value(sample.LockThreads, sample.Entity{PID: v.pid})
}

// lockContention: threads wait for one another.
func lockContention() Cause {
	return Cause{
		ID: LockContention, Title: "threads wait for a lock that another thread holds",
		Needs: [][]sample.Metric{{sample.LockWait}},
		Over:  []ID{CPUSaturated},
		Judge: func(c *Case) Verdict {
			if v, ok := c.oneAtATime(); ok {
				return v
			}
			if !c.locksKnown() {
				return cannotTell(c.w.WhyAbsent(sample.LockWait))
			}
			s, v := c.w.Seconds(), &c.victim
			switch {
			case v.pid == 0:
				return no("no process waited for a lock")
			case v.locked(s) < lockShareLimit:
				return no("the victim waits for locks " + percent(v.locked(s)) + " of its time")
			case c.waitsForItsTurn(v):
				return no("one thread waits for a file lock all the time, like a job that waits for its turn (flock); if that is the problem, diagnose it alone: --pid")
			case c.hasAll(v):
				return no("the victim has all processors and computes most of the time: without locks its threads would wait for a processor")
			case c.contended(v) == 0:
				return no(fmt.Sprintf("the victim waits for locks, but on average %.1f of its threads wait for I/O or memory, and those may hold the locks", v.waitIO()/s))
			case v.delay >= 2*v.lock:
				return no("the victim waits longer for a processor than for locks")
			}
			kind, of := c.largestClass(sample.LockWait)
			waits, _ := c.w.Sum(sample.LockWaits, sample.Entity{PID: v.pid, Class: kind})
			from := c.w.Get(sample.LockWait, sample.Entity{PID: v.pid, Class: kind}).Source
			e := []Evidence{
				{Name: "time waiting for locks", Value: v.locked(s), Unit: "ratio", Source: from},
				{Name: "threads waiting for locks", Value: v.lock / s, Unit: "count", Source: from},
				{ID: "of-the-waiting-for-one-lock", Name: "of that, for " + lockName(kind), Value: of, Unit: "ratio", Source: from},
				{Name: "waits for it", Value: waits / s, Unit: "count/s", Source: from},
			}
			calls := c.lockCalls()
			for _, call := range calls[:min(3, len(calls))] {
				e = append(e, c.figure("of the waiting in "+call.name, call.share, "ratio", sample.LockWaitIn).as("waiting-in-one-call"))
			}
			own := c.of(sample.LockOwn) / max(c.seenLocks(), 1e-9)
			if c.w.Has(sample.LockOwn) {
				e = append(e, c.figure("held by a thread of the same process", own, "ratio", sample.LockOwn))
			}
			k := c.culprit()
			if rival, t := c.lockHolder(); own < 0.5 && t >= 0.5*(1-own)*v.lock {
				p := c.w.Processes[rival]
				k = Culprit{PID: rival, Comm: p.Comm, Cgroup: p.MemoryCgroup}
				e = append(e, c.figure("held by the culprit", t, "seconds", sample.LockHeld))
			}
			if v.delay > 0 {
				e = append(e, c.figure("threads waiting for a processor", v.delay/s, "count", sample.ProcRunDelay))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((v.locked(s)-lockShareLimit)/0.3+0.3, v.known),
				Weight: c.part(v.lock), Culprit: k, Evidence: e,
				Disprove: "one thread alone does the same work in the same time as all of them",
				Advice:   c.lockAdvice(kind, calls),
			}
		},
	}
}

// locksKnown tells whether waits for locks were measured. Those for locks of files
// are told by the account of waits, whether or not the others are.
func (c *Case) locksKnown() bool {
	known := false
	c.w.Each(sample.LockWait, func(e sample.Entity, _ *sample.Series) {
		known = known || e.Class != sample.ClassFile || e.PID == c.victim.pid
	})
	return known
}

// lockName is a class of lock.wait, for people.
func lockName(class string) string {
	switch class {
	case sample.ClassMmapLock:
		return class
	case sample.ClassRWSem, sample.ClassMutex:
		return "a kernel " + class
	case sample.ClassFutex:
		return "a lock of the program"
	case sample.ClassFreeze:
		return "a frozen file system"
	case sample.ClassFile:
		return "a lock of a file (flock, fcntl)"
	}
	return "another kernel lock"
}

// largestClass is the class of lock that the victim waits for most, and its
// share of all.
func (c *Case) largestClass(m sample.Metric) (class string, share float64) {
	by, total := c.byClass(m), 0.0
	for _, t := range by {
		total += t
	}
	class = largest(by)
	return class, by[class] / max(total, 1e-9)
}

// byClass is the victim's part of a metric by its class.
func (c *Case) byClass(m sample.Metric) map[string]float64 {
	by := map[string]float64{}
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.PID == c.victim.pid && e.Class != "" {
			by[e.Class] += s.Sum()
		}
	})
	return by
}

// seenLocks is the victim's waiting for locks, as it was seen.
func (c *Case) seenLocks() float64 {
	total := 0.0
	for _, t := range c.byClass(sample.LockWait) {
		total += t
	}
	return total
}

type lockCall struct {
	name  string
	share float64
}

// lockCalls are the calls that the victim waits for locks in, the longest first.
func (c *Case) lockCalls() []lockCall {
	by, total := c.byClass(sample.LockWaitIn), max(c.seenLocks(), 1e-9)
	var calls []lockCall
	for len(by) > 0 {
		name := largest(by)
		if name == "" || by[name] < 0.01*total {
			break
		}
		calls = append(calls, lockCall{name, by[name] / total})
		delete(by, name)
	}
	return calls
}

// lockHolder is the process that kept others waiting longest.
func (c *Case) lockHolder() (pid int, seconds float64) {
	by := map[int]float64{}
	c.w.Each(sample.LockHeld, func(e sample.Entity, s *sample.Series) {
		if e.PID != c.victim.pid {
			by[e.PID] += s.Sum()
		}
	})
	pid = most(by)
	return pid, by[pid]
}

// lockAdvice is what to change, by where the waiting is.
func (c *Case) lockAdvice(kind string, calls []lockCall) []Advice {
	share := func(names string) (sum float64) {
		for _, call := range calls {
			if strings.Contains(" "+names+" ", " "+call.name+" ") {
				sum += call.share
			}
		}
		return sum
	}
	faults := 0.0
	for _, call := range calls {
		if call.name == "page fault" {
			faults = call.share
		}
	}
	gain := c.promise(removal{maybe: c.victim.lock, kernel: kind != sample.ClassFutex})
	path := Advice{
		Do:      "see the code path",
		Expect:  "the stacks that wait for the lock, by time",
		Command: fmt.Sprintf("iocause offcpu --pid %d --state lock", c.victim.pid),
	}
	switch maps := share("mmap munmap mremap"); {
	case maps >= lockMapShare/2 && maps+faults >= lockMapShare:
		return []Advice{gain.advise(
			"read the file with read(2) or pread(2) instead of mapping and unmapping it, or map it once, in larger parts, and keep it mapped",
			"mmap and munmap take the address space's lock exclusively, so only one thread runs at a time; read takes no lock"), path}
	case kind == sample.ClassMmapLock:
		return []Advice{gain.advise(
			"change the address space less often: use an allocator that keeps freed memory (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD), fewer madvise and mprotect calls, or processes instead of threads",
			"all threads of a process share that lock"), path}
	case kind == sample.ClassFreeze:
		return []Advice{{
			Do:     "thaw the file system: fsfreeze --unfreeze MOUNT; a snapshot or backup that froze it (qemu-guest-agent, LVM, xfs_freeze) has not ended, or failed",
			Expect: "writes go on at once",
		}}
	case kind == sample.ClassFile:
		return []Advice{gain.advise(
			"find who holds the lock: lslocks -o PID,COMMAND,PATH,BLOCKER; hold it for less time, or give each its own file",
			"only one of them runs at a time now")}
	case kind == sample.ClassFutex:
		return []Advice{gain.advise(
			"do less while the lock is held (no I/O, no system calls), or split it into several locks",
			"threads then wait for each other less"), path}
	case share(directoryCalls) >= lockMapShare:
		return []Advice{gain.advise(
			"spread the files over several directories, or create and remove fewer of them: truncate a file instead of removing it (SQLite: journal_mode=WAL or TRUNCATE)",
			"only one thread at a time can create, rename or remove files in a directory"), path}
	case share("write pwrite64 writev pwritev pwritev2 ftruncate fallocate") >= lockMapShare:
		return []Advice{gain.advise(
			"let each thread write a file of its own, or write with O_DIRECT into space that was filled before",
			"only one thread at a time writes to a file"), path}
	}
	return []Advice{gain.advise(
		"let fewer threads work on the same file, directory or address space at once",
		"only one of them runs at a time now"), path}
}
