package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

const (
	// daemonWaits is the part of a daemon's time for its answers from which on what
	// it waits for itself is what it is slow for.
	daemonWaits = 0.50
	// daemonBusy is the same of its time on processors.
	daemonBusy = 0.50
	// longQueue is the part of a request's time in the queue from which on the daemon
	// has too few threads.
	longQueue = 0.50
)

// fuseView is what became of the victim's requests to a daemon.
type fuseView struct {
	requests, queue, daemon float64 // of those that are over; seconds
	under                   float64 // seconds under way, of all
	oldest                  float64 // seconds that one waits already
	pid                     int     // the daemon's, 0 not known
	took                    float64 // seconds, its time for all answers
	own                     victim  // the daemon's own waiting
}

func (c *Case) fuse(m *served) fuseView {
	var f fuseView
	mine := sample.Entity{PID: c.victim.pid, Device: m.device}
	f.under, _ = c.w.Sum(sample.FuseTime, mine)
	for _, op := range []string{sample.ClassRead, sample.ClassWrite, sample.ClassSync, sample.ClassNames, sample.ClassOther} { // a wait for a lock is not the daemon's
		mine.Class = op
		n, _ := c.w.Sum(sample.FuseRequests, mine)
		q, _ := c.w.Sum(sample.FuseQueueTime, mine)
		d, _ := c.w.Sum(sample.FuseDaemonTime, mine)
		f.requests, f.queue, f.daemon = f.requests+n, f.queue+q, f.daemon+d
	}
	f.oldest, _ = c.w.Value(sample.FuseOldest, sample.Entity{Device: m.device})
	if f.pid, f.took = c.largestOf(sample.FuseAnswerTime, m.device); f.pid == 0 {
		f.pid, _ = c.largestOf(sample.MountDaemon, m.device) // it answers nothing
	}
	if f.pid != 0 {
		f.own = c.measure(f.pid)
	}
	return f
}

// fuseDaemonSlow: programs wait for a FUSE daemon's answers.
func fuseDaemonSlow() Cause {
	return Cause{
		ID: FuseDaemonSlow, Title: "the daemon of a FUSE file system is slow to answer",
		Needs: [][]sample.Metric{{sample.MountKind}, {sample.WaitFor, sample.CacheWait}},
		Over:  append(deviceCauses(), ColdCache, SyncWrites),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldFuseHung()
			}
			if !c.w.Has(sample.MountKind) {
				return cannotTell(c.w.WhyAbsent(sample.MountKind))
			}
			if c.front.PID != 0 {
				return no(fmt.Sprintf("process %d waits for this one, the daemon of a FUSE file system, and it waits for I/O itself for most of the time that its answers take", c.front.PID))
			}
			if why := c.notServed(true); why != "" {
				return no(why)
			}
			m, all := c.servedWait(true)
			f, s := c.fuse(&m), c.w.Seconds()
			if f.took > 0 && f.own.waitIO() >= daemonWaits*f.took {
				return no(fmt.Sprintf("the daemon of %s, process %d, waits for I/O itself for %s of the time that its answers take", m.String(), f.pid, percent(clamp01(f.own.waitIO()/f.took))))
			}
			e := []Evidence{c.figure("time blocked on FUSE", c.victim.shareOf(all, s), "ratio", sample.WaitFor)}
			k, conf := Culprit{File: m.point}, 0.70
			if f.requests > 0 {
				e = append(e,
					c.figure("a request takes", (f.queue+f.daemon)/f.requests, "seconds", sample.FuseDaemonTime),
					c.figure("of that in the daemon's queue", f.queue/f.requests, "seconds", sample.FuseQueueTime),
					c.figure("requests answered", f.requests/s, "count/s", sample.FuseRequests))
			}
			if c.w.Has(sample.FuseTime) {
				e = append(e, c.figure("requests under way", f.under/s, "count", sample.FuseTime))
			}
			if n, ok := c.w.Value(sample.MountWaiting, sample.Entity{Device: m.device}); ok && n > 0 {
				e = append(e, c.figure("requests without an answer at the end", n, "count", sample.MountWaiting))
			}
			if f.oldest >= 1 {
				e = append(e, c.figure("oldest request without an answer", f.oldest, "seconds", sample.FuseOldest))
			}
			if f.pid != 0 {
				p := c.w.Processes[f.pid]
				k.PID, k.Comm, k.Cgroup, conf = f.pid, p.Comm, p.MemoryCgroup, 0.95
				e = append(e,
					c.figure("processors that the daemon uses", f.own.cpu/s, "count", sample.ProcUser),
					c.figure("the daemon's threads blocked on I/O", f.own.waitIO()/s, "count", sample.WaitIO))
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: c.part(all), Culprit: k, Evidence: e,
				Disprove: "requests to the daemon take only a small part of the program's waiting time",
				Advice:   c.fuseAdvice(&m, &f, all),
			}
		},
	}
}

// fuseAdvice is what to change, by what the daemon does with the time.
func (c *Case) fuseAdvice(m *served, f *fuseView, wait float64) []Advice {
	gain := c.promise(removal{maybe: wait, kernel: true})
	fewer := Advice{
		Do:     fmt.Sprintf("send the daemon of %s fewer requests: cache names and attributes for longer (entry_timeout, attr_timeout), keep pages between opens (kernel_cache, auto_cache), combine writes (writeback_cache), use larger requests (max_read, max_write)", m.point),
		Expect: "what the kernel has cached needs no answer of the daemon",
	}
	switch {
	case m.kind == "virtiofs":
		return []Advice{gain.advise("on this guest's host, look at virtiofsd and at the disks of what it shares as "+m.from, "it answers the requests"), fewer}
	case f.pid == 0:
		return []Advice{{
			Do: fmt.Sprintf("find the daemon that serves %s (who has /dev/fuse open) and what it waits for", m.point), Expect: "its process",
			Command: "fuser -v /dev/fuse",
		}, fewer}
	case f.queue >= longQueue*(f.queue+f.daemon) && f.requests > 0:
		return []Advice{gain.advise("let the daemon work on more requests at a time: more threads (max_threads, max_idle_threads of libfuse, no -s), or requests that do not wait for each other",
			fmt.Sprintf("a request spends %s of %s in its queue", duration(f.queue/f.requests), duration((f.queue+f.daemon)/f.requests))), fewer}
	case !c.w.Has(sample.FuseTime):
		return []Advice{gain.advise("see what the daemon does with the time: its disk, its network, its server, its locks, its computing",
			"this kernel does not tell how long its answers take").with(fmt.Sprintf("iocause threads --pid %d", f.pid)), fewer}
	case f.took == 0:
		return []Advice{{
			Do:     fmt.Sprintf("see why process %d does not answer: stopped, in a deadlock, or waiting for its own server; as a last resort abort the connection (umount -f %s, or write 1 to /sys/fs/fuse/connections/N/abort): programs that wait get an error", f.pid, m.point),
			Expect: "every waiting program gets an answer or an error", Command: fmt.Sprintf("iocause threads --pid %d", f.pid),
		}}
	case f.own.cpu >= daemonBusy*f.took:
		return []Advice{gain.advise("see what the daemon spends CPU time on, and reduce it (encryption, compression, logging)",
			"it computes for most of the time that its answers take").with(fmt.Sprintf("iocause oncpu --pid %d", f.pid)), fewer}
	}
	return []Advice{gain.advise("see what the daemon waits for: its network, its server, its locks",
		"for most of the time that its answers take it neither computes nor waits for a disk").with(fmt.Sprintf("iocause threads --pid %d", f.pid)), fewer}
}
