package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// "healthy" is a claim about every thread: nobody waits for a tenth of its time.
// It takes data of each task's waiting for the whole window, and no other figure
// that says otherwise.
//
// What pressure (PSI) proves, and what not: "some" of io is the share of the time
// in which some thread of a processor was blocked on I/O, averaged over processors
// by how much each had to do (kernel/sched/psi.c, collect_percpu_times). So high
// pressure means that somebody waits. Low pressure means little: one thread that
// waits all the time on a machine of 64 busy processors is a pressure of 1.5 %.
//
// What a busy device proves: nothing about waiting. Pages that are written back in
// the background, and what is read ahead of a program that computes, keep a device
// busy for as long as they like while everybody goes on.

// unseenShare is the part of the pressure that the waits which were seen must
// reach: the pressure of a processor is never longer than what its threads wait
// for together. Half, since both are read some milliseconds apart.
const unseenShare = 0.5

// togetherLimit is the part of the window that all programs must wait together for
// "healthy" to be in doubt where none of them is held up. Five services that each
// commit something every second come to a tenth, and are well.
const togetherLimit = 0.20

// pressureLimit is the part of the window from which on the pressure that programs make
// puts "healthy" in doubt, whatever part of their time each of them waits. It is the time
// in which a processor that had something to do had a thread that waited: at a quarter
// three at least wait for nearly a tenth of their time each, on every such processor, or
// many for less. None is slow for it, and together they lose what one that is held up
// does. Below it, five services that each commit something every second are well.
const pressureLimit = 0.25

// waited is what all programs, and the kernel's threads, waited for I/O.
type waited struct {
	programs, kernel float64 // seconds, summed over threads
	awake            float64 // of the programs that waited
	longest          float64 // of the program that waited longest
}

// waited adds up the waits of every process in the window, asked about or not.
func (c *Case) waited() waited {
	var out waited
	seen := map[int]bool{}
	for _, m := range []sample.Metric{sample.WaitIO, sample.WaitDirtyPause, sample.ProcBlkioDelay} {
		c.w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.PID == 0 || seen[e.PID] {
				return
			}
			seen[e.PID] = true
			v := c.measure(e.PID)
			t := v.waitTotal + v.pause
			switch {
			case t == 0:
			case v.process.Kernel:
				out.kernel += t
			default:
				out.programs += t
				out.awake += v.notResting()
				out.longest = max(out.longest, t)
			}
		})
	}
	return out
}

// doubts are the figures of this window that "healthy" would contradict.
func (c *Case) doubts() []string {
	if c.w.Told {
		return nil // toldBlind weighs those
	}
	out := c.lostWaits()
	if !c.tasksKnown() {
		return append(out, c.busyUnknown()...)
	}
	out = append(out, c.unnamedWaits()...)
	if why := c.polls(); why != "" {
		out = append(out, why)
	}
	if c.narrowed() {
		return out // pressure is the whole host's
	}
	s := c.w.Seconds()
	all := c.waited()
	// No program alone may be slow, and yet all together: whatever is weighed as
	// one program, the sum must agree. Where the kernel, too, saw somebody wait for
	// much of the time, less is enough.
	limit := groupShareLimit
	p, pressed := c.w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO})
	if pressed && p >= togetherLimit*s {
		limit = waitShareLimit
	}
	if all.programs >= togetherLimit*s && all.awake > 0 && all.programs >= limit*all.awake {
		out = append(out, fmt.Sprintf("all programs together waited %s for I/O in %s, %s of their time awake, though none of them waited long alone",
			duration(all.programs), duration(s), percent(min(1, all.programs/all.awake))))
	}
	if !pressed || p < waitShareLimit*s {
		return out
	}
	source := c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassIO}).Source
	if len(out) == 0 && p-all.kernel >= pressureLimit*s { // threads of the kernel make pressure, too, and hold nobody up
		out = append(out, fmt.Sprintf("some thread waited for I/O %s of the time (%s): all programs together %s in %s, though none of them waited for a tenth of its own time",
			percent(p/s), source, duration(all.programs), duration(s)))
	}
	if all.longest >= waitShareLimit*s && c.coarse() != "" {
		out = append(out, fmt.Sprintf("some thread waited for I/O %s of the time (%s), and one program waited %s in %s; how its threads share that is not known",
			percent(p/s), source, duration(all.longest), duration(s)))
	}
	if all.programs+all.kernel < unseenShare*p {
		out = append(out, fmt.Sprintf("some thread waited for I/O %s of the time (%s), but the waits that were counted add up to only %s in %s",
			percent(p/s), source, duration(all.programs+all.kernel), duration(s)))
	}
	return out
}

// busyUnknown are signs of waiting where nobody knows who waits.
func (c *Case) busyUnknown() []string {
	if c.narrowed() {
		return nil
	}
	var out []string
	s := c.w.Seconds()
	if p, ok := c.w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO}); ok && p >= waitShareLimit*s {
		out = append(out, fmt.Sprintf("some thread waited for I/O %s of the time (%s); which one is not known", percent(p/s), c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassIO}).Source))
	}
	var busy []string
	c.w.Each(sample.DiskBusy, func(e sample.Entity, x *sample.Series) {
		if x.Sum() >= waitShareLimit*s {
			busy = append(busy, fmt.Sprintf("%s had I/O in flight %s of the time (%s); whether a program waits for it is not known", e.Device, percent(x.Sum()/s), x.Source))
		}
	})
	slices.Sort(busy)
	return append(out, busy...)
}

// tasksKnown tells whether the window says of each task how long it waits for I/O.
func (c *Case) tasksKnown() bool {
	if c.counted() {
		return true
	}
	// without the probes only /proc tells, and it may hide the processes of others
	hidden := slices.ContainsFunc(c.w.Gaps, func(g sample.Gap) bool { return slices.Contains(g.Metrics, sample.ProcUser) })
	return c.w.Has(sample.ProcBlkioDelay) && !hidden
}

// counted tells whether waits were counted one by one: not told by a text, and not
// sampled from the states of threads, which do not see who sleeps until
// io_uring or libaio is done.
func (c *Case) counted() bool { return c.w.Has(sample.WaitIO) && !c.w.Has(sample.WaitSnapshots) }

// hiding are the counters of lost events behind which a waiter may hide, and what
// of it. Other losses take figures away, and nobody who waits.
func hiding() []struct{ class, what string } {
	return []struct{ class, what string }{
		{"pagecache lost_waits", "waits for I/O"},
		{"pagecache lost_tasks", "threads that wait for I/O"},
		{"reclaim lost_tasks", "threads that wait for memory"},
		{"reclaim lost_rows", "waits for memory"},
		{"locks lost_tasks", "threads that wait for locks"},
		{"locks lost_rows", "waits for locks"},
		{"locks lost_threads", "threads that wait for locks"},
	}
}

// lostWaits says which waits were lost, where they could hide somebody who is held
// up. Whoever waits for a tenth of the time, a tenth of a second or less each
// time, waits at least once a second; longer waits show in the pressure. So fewer
// lost events than one a second hide nobody: a task's account cannot be begun now
// and then, when another one is being begun on the same processor.
func (c *Case) lostWaits() []string {
	var out []string
	for _, h := range hiding() {
		if n, ok := c.w.Sum(sample.CostLost, sample.Entity{Class: h.class}); ok && n >= c.w.Seconds() {
			out = append(out, fmt.Sprintf("no problem seen, but %s about %s were lost: the kernel had no room for another row", sample.Counted(n, "event"), h.what))
		}
	}
	return out
}

// unnamedWaits are the programs, of those asked about, that slept where no signal ends it,
// and nobody knows why: for much of the window, and of the time that they were awake.
func (c *Case) unnamedWaits() []string {
	var out []string
	for i := range c.asked {
		v := &c.asked[i]
		t, _ := c.w.Sum(sample.WaitUnnamed, sample.Entity{PID: v.pid})
		if v.process.Kernel || t < waitShareLimit*c.w.Seconds() || t < waitShareLimit*(v.notResting()+t) {
			continue
		}
		out = append(out, fmt.Sprintf("%s slept %s of %s uninterruptibly in a kernel function that is not known here; iocause offcpu --pid %d shows which",
			c.w.Processes[v.pid].Comm, duration(t), duration(c.w.Seconds()), v.pid))
	}
	return out
}

// background says why a device is busy though nobody waits for it, "" where none
// is, or where that is not known.
func (c *Case) background() string {
	s := c.w.Seconds()
	busy, ok := c.w.Sum(sample.DiskBusy, sample.Entity{Device: c.device})
	if !ok || busy < waitShareLimit*s || !c.tasksKnown() || c.w.Told {
		return ""
	}
	written, _ := c.w.Sum(sample.WritebackBytes, sample.Entity{Device: c.device})
	moved, ok := c.w.SumWhere(sample.BlockBytes, func(e sample.Entity) bool { return e.Device == c.device && e.PID == 0 && e.Cgroup == "" })
	why := "no program waits for that I/O"
	if ok && moved > 0 && written >= 0.5*moved {
		why = "it writes dirty pages back in the background"
	} else if reads, _ := c.w.Sum(sample.BlockBytes, sample.Entity{Device: c.device, Class: sample.ClassRead}); reads >= 0.5*moved && moved > 0 {
		why = "most of it is read-ahead"
	}
	return fmt.Sprintf("%s is busy %s of the time, but no program waits for it: %s", c.device, percent(min(1, busy/s)), why)
}

// blindness says in one line why it is not known who waits, and what would help;
// "" where it is known.
func (c *Case) blindness() string {
	if c.w.Told || c.counted() {
		return ""
	}
	why := "waits could not be counted"
	if looks, ok := c.gauge(sample.WaitSnapshots); ok {
		why = fmt.Sprintf("waits are sampled %.0f times a second, because they could not be counted", looks)
	}
	for _, g := range c.w.Gaps {
		if !slices.Contains(g.Metrics, sample.ProcBlkioDelay) || c.w.Has(sample.ProcBlkioDelay) || !strings.Contains(g.Why, "task_delayacct") {
			continue
		}
		why += "; " + delaySwitch
		break
	}
	// the steps that lead to the reason are among the gaps
	reason := c.w.WhyAbsent(sample.WaitIO)
	if _, last, ok := strings.Cut(reason, " probe: "); ok {
		reason = strings.TrimPrefix(last, "loading: ")
	}
	return why + "; the reason: " + reason
}

// delaySwitch is the one switch that makes /proc tell who waits for I/O.
const delaySwitch = "sysctl kernel.task_delayacct=1 makes the kernel count them"
