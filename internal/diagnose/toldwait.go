package diagnose

import (
	"strings"

	"iocause/internal/sample"
)

// toldWaiting is the time, summed over requests, that the device with most of
// it spent on requests that somebody waits for. Reads are waited for. Writes
// are too, unless the text shows that nobody does: the kernel may write back
// behind everybody's back.
func (c *Case) toldWaiting() float64 {
	by := map[string]float64{}
	c.w.Each(sample.DiskReadTime, func(e sample.Entity, s *sample.Series) { by[e.Device] += s.Sum() })
	if !c.toldIdle() {
		c.w.Each(sample.DiskWriteTime, func(e sample.Entity, s *sample.Series) { by[e.Device] += s.Sum() })
	}
	most := 0.0
	for _, t := range by {
		most = max(most, t)
	}
	return most
}

// toldIdle tells whether the text shows that nobody waits for I/O, whatever the
// devices do: by the kernel's account of pressure, by the number of blocked
// threads, or by processors that idle without any I/O under way.
func (c *Case) toldIdle() bool {
	s := c.w.Seconds()
	if t, ok := c.w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO}); ok {
		return t/s < waitShareLimit
	}
	if b := c.w.Get(sample.ProcsBlocked, sample.Entity{}); b != nil && b.Mean() >= waitShareLimit {
		return false
	}
	idle, hasIdle := c.all(sample.CPUIdle)
	t, ok := c.all(sample.CPUIOWait)
	if !ok || !hasIdle || idle/s < waitShareLimit { // who waits does not show where no processor is idle
		return false
	}
	limit := waitShareLimit
	if n, ok := c.gauge(sample.CPUCount); !ok || n == 0 {
		// a share of all processors: of how many is not known. In a thousandth
		// of it nobody waits on machines of up to a hundred.
		limit = waitShareLimit / 100
	}
	return t/s < limit
}

// toldJournal is the share of the time that a journal's thread of a file system
// waits for I/O, 0 to 1, and its name: who syncs a file waits for it.
func (c *Case) toldJournal() (share float64, name string) {
	c.w.Each(sample.ProcBlkioDelay, func(e sample.Entity, s *sample.Series) {
		comm := c.w.Processes[e.PID].Comm
		if t := s.Sum() / c.w.Seconds(); t > share && isJournal(comm) {
			share, name = min(1, t), comm
		}
	})
	return share, name
}

// isJournal tells the kernel's threads that commit: of ext4, XFS, btrfs and ZFS.
func isJournal(comm string) bool {
	comm = strings.TrimPrefix(comm, "[")
	for _, name := range []string{"jbd2/", "xfs-cil/", "xfs-log/", "xfsaild/", "btrfs-transacti", "txg_sync", "kjournald"} {
		if strings.HasPrefix(comm, name) {
			return true
		}
	}
	return false
}

// toldUser is the program with most bytes read and written: its process with
// most of them, and its share of those of all programs. A program may have many
// processes of one name. pid is 0 where the text has no bytes of processes.
func (c *Case) toldUser() (pid int, share float64) {
	by, programs := map[int]float64{}, map[string]float64{}
	total, largest := 0.0, 0.0
	for _, m := range []sample.Metric{sample.ProcReadBytes, sample.ProcWriteBytes} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 {
				by[e.PID] += s.Sum()
				programs[c.w.Processes[e.PID].Comm] += s.Sum()
				total += s.Sum()
			}
		})
	}
	if total == 0 {
		return 0, 0
	}
	for _, t := range programs {
		largest = max(largest, t)
	}
	of := map[int]float64{}
	for pid, t := range by {
		if programs[c.w.Processes[pid].Comm] == largest {
			of[pid] = t
		}
	}
	return most(of), largest / total
}

// toldCulprit names who keeps the device busy where the text tells it: who has
// most of the bytes of all processes, not who waits for them.
func (c *Case) toldCulprit(k Culprit) Culprit {
	pid, share := c.toldUser()
	if !c.w.Told || pid == 0 || share < othersLimit || c.w.Processes[pid].Comm == k.Comm {
		return k
	}
	if c.victim.pid != 0 && c.victim.known && c.of(sample.CallTime) > 0 {
		return k // a program that measured itself
	}
	p := c.w.Processes[pid]
	return Culprit{PID: pid, Comm: p.Comm, Cgroup: p.IOCgroup, Device: k.Device}
}

// toldNeighbour judges from a text whether another program keeps the device
// busy: who waits moves a small part of the bytes, and one other most of them.
func (c *Case) toldNeighbour(missing string) Verdict {
	pid, share := c.toldUser()
	switch {
	case pid == 0:
		return cannotTell(missing)
	case !c.suffers():
		return no("no program waits for I/O long enough to matter")
	case c.victim.pid == 0:
		return cannotTell("the pasted output does not show which process waits for I/O: paste iotop -b -n 3 or pidstat -d 1 3 with kernel.task_delayacct=1")
	case c.w.Processes[pid].Comm == c.victim.process.Comm:
		return no("the waiting program itself moves most of the bytes")
	case share < othersLimit:
		return no("no other program moves half of the bytes: the most is " + percent(share))
	}
	p := c.w.Processes[pid]
	e := []Evidence{
		c.figure("of all bytes read and written, those of "+p.Comm, share, "ratio", sample.ProcWriteBytes).as("of-all-bytes"),
		c.figure("time that "+c.victim.process.Comm+" waits", c.victim.share(c.w.Seconds()), "ratio", sample.ProcBlkioDelay).as("time-that-the-victim-waits"),
	}
	own := c.of(sample.ProcReadBytes) + c.of(sample.ProcWriteBytes)
	e = append(e, c.figure("read and written by "+c.victim.process.Comm, own/c.w.Seconds(), "bytes/s", sample.ProcReadBytes).as("read-and-written"))
	return Verdict{
		Answer: Yes, Confidence: confidence((share-othersLimit)/(1-othersLimit), false), Weight: share,
		Culprit: Culprit{PID: pid, Comm: p.Comm, Cgroup: p.IOCgroup, Device: c.device}, Evidence: e,
		Disprove: "the waiting stays the same while the other program is stopped",
		Advice: []Advice{{
			Do:     "throttle the other program (io.max or io.weight of its cgroup, ionice, fewer requests at a time), or run it at another time",
			Expect: c.victim.process.Comm + " then has the device to itself",
		}},
	}
}

// toldSync judges from a text whether somebody waits for what was written to
// reach the device: by calls that a program timed itself, now or since it started,
// by a journal's thread, or by the flushes of the device.
func (c *Case) toldSync() Verdict {
	times, timed := c.toldSyncTimes()
	if timed && times.told() {
		return c.judgeSyncTimes(&times)
	}
	if !c.suffers() && timed {
		return no(times.fast())
	}
	if !c.suffers() {
		return no("no program waits for I/O long enough to matter")
	}
	v := &c.victim
	if v.known && v.wait[sample.ClassSync] > 0 {
		return c.toldSyncCalls()
	}
	share, journal := c.toldJournal()
	flush, flushes := c.toldFlushes()
	if share < waitShareLimit && flush < waitShareLimit {
		return cannotTell(c.w.WhyAbsent(sample.WaitIO))
	}
	var e []Evidence
	if share >= waitShareLimit {
		e = append(e, c.figure("time that "+journal+" waits", share, "ratio", sample.ProcBlkioDelay).as("time-that-the-journal-waits"))
	}
	if flush >= waitShareLimit {
		e = append(e, c.figure("time of flushes of "+c.device, flush, "ratio", sample.DiskFlushTime).as("time-of-flushes"),
			c.figure("flushes of "+c.device, flushes, "count/s", sample.DiskFlushes).as("flushes"))
	}
	d := c.deviceTold()
	if d.known && d.why == "" {
		e = append(e, c.deviceEvidenceTold(&d)...)
	}
	k := c.toldCulprit(Culprit{Device: c.device})
	return Verdict{
		Answer: Yes, Confidence: confidence(max(share, flush), false), Weight: clamp01(max(share, flush)), Culprit: k, Evidence: e,
		Disprove: "the program waits as long on a copy of the data without the syncs, or no program waits for the journal's flushes (iocause latency shows fsync)",
		Advice:   syncAdvice("less waiting; the pasted output does not show how much less"),
	}
}

// toldSyncCalls judges syncs that a program timed itself.
func (c *Case) toldSyncCalls() Verdict {
	v, s := &c.victim, c.w.Seconds()
	wait, total := v.wait[sample.ClassSync], v.waitTotal+v.pause
	if wait < 0.3*total {
		return no("the victim waits in fsync and similar for " + percent(wait/total) + " of its waiting time")
	}
	k := c.victimCulprit()
	k.Device = c.device
	e := append([]Evidence{c.figure("time blocked in fsync, fdatasync, msync, O_SYNC", wait/(s*max(1, v.threads)), "ratio", sample.WaitIO)}, c.callEvidence()...)
	return Verdict{
		Answer: Yes, Confidence: confidence(wait/total, true), Weight: c.part(wait), Culprit: k, Evidence: e,
		Disprove: "the program is as slow on a copy of the data without the syncs",
		Advice:   syncAdvice("half the syncs, half this waiting"),
	}
}

func syncAdvice(expect string) []Advice {
	return []Advice{{
		Do:     "sync less often: commit in groups, or write several records before one fdatasync",
		Expect: expect,
	}, {
		Do:     "or put the log on a device with a lower flush time (power-loss protected cache)",
		Expect: "waiting falls with the time of one flush",
	}}
}

// toldFlushes is the share of the time that the device's flushes take, 0 to 1,
// and how many there are a second.
func (c *Case) toldFlushes() (share, rate float64) {
	e := sample.Entity{Device: c.device}
	t, _ := c.w.Sum(sample.DiskFlushTime, e)
	n, _ := c.w.Sum(sample.DiskFlushes, e)
	return min(1, t/c.w.Seconds()), n / c.w.Seconds()
}
