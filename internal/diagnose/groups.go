package diagnose

import "slices"

// groupShareLimit is the part of their time awake from which on like processes
// are held up together, where none of them waits for a tenth of the window: each
// would then do its work in three quarters of the time. More is asked than of a
// single process, because nobody tells that they work on the same: what one
// waits for may hold no other up.
const groupShareLimit = 0.25

// commitsLimit is the part of the window from which on a program whose processes
// are in a sync, all added up, commits nearly all the time. Then what is asked of a
// single process is enough: who has to commit while another one syncs the same log
// sleeps until that is done, and no account of I/O shows it.
const commitsLimit = 0.50

// rowLimit is from how many short processes on they are those of a loop.
const rowLimit = 8

// programs are told apart by their name and by the cgroup that they run in.
type program struct{ comm, cgroup string }

// group is the like processes that one stands for.
type group struct {
	several int  // of them wait or compute, 0 where it stands for itself alone
	row     bool // they run one after the other
	brief   bool // they are short, and wait for locks
}

// sumLikeProcesses makes one of the processes of a program that wait or compute by
// turns: the many short ones of a shell's loop, or workers of which each has little
// to do. Each of them alone seems to be well. From here on the window tells of the
// one with most of it, and it stands for all of them.
func (c *Case) sumLikeProcesses() {
	groups := map[program][]int{}
	for i := range c.asked {
		v := &c.asked[i]
		if v.process.Comm != "" && !v.process.Kernel {
			k := program{v.process.Comm, v.process.MemoryCgroup}
			groups[k] = append(groups[k], i)
		}
	}
	into, stand := map[int]int{}, map[int]group{}
	for _, members := range groups {
		first, along := c.beginAllAlong(members)
		of := group{row: along && c.inARow(members)}
		by := (*victim).blocked
		switch {
		case c.heldTogether(members, of.row):
		case along && c.lockedTogether(members, first):
			by, of.brief = func(v *victim) float64 { return v.shared }, true
		case c.computeTogether(members):
			by = (*victim).runnable
		default:
			continue
		}
		one := &c.asked[members[0]]
		for _, i := range members {
			if v := &c.asked[i]; by(v) > by(one) || by(v) == by(one) && v.pid < one.pid {
				one = v
			}
		}
		for _, i := range members {
			v := &c.asked[i]
			into[v.pid] = one.pid
			if by(v) > 0 {
				of.several++
			}
		}
		stand[one.pid] = of
	}
	if len(into) == 0 {
		return
	}
	c.w, c.stand = c.w.Merged(into), stand
	var asked []victim
	for i := range c.asked {
		pid := c.asked[i].pid
		if to, merged := into[pid]; !merged || to == pid {
			asked = append(asked, c.measure(pid))
		}
	}
	c.asked = asked
}

// runnable is the seconds, summed over threads, that it is on a processor or waits
// for one.
func (v *victim) runnable() float64 { return v.cpu + v.delay }

// lockedTogether tells whether short processes of a program, of which the first began
// then (in seconds since boot), wait for locks as one, as scripts that take turns by
// flock(1): of the window each has too small a part, but of the time that it is there a
// large one. Those as old as the window are judged by themselves. The threads of a
// process that wait for one another, as those of sort(1) for the one that has more to do,
// hold up no other process.
func (c *Case) lockedTogether(members []int, first float64) bool {
	var lock, awake, most float64
	for _, i := range members {
		if v := &c.asked[i]; v.process.Start.Seconds() >= first {
			lock += v.shared
			awake += v.notResting()
			most = max(most, v.shared)
		}
	}
	return lock >= lockShareLimit*c.w.Seconds() && lock >= groupShareLimit*awake && most <= lock/2
}

// computeTogether tells whether processes that hardly wait for I/O keep a processor
// busy as one, or wait for one for a tenth of the window in all, and none of them
// for half as much alone.
func (c *Case) computeTogether(members []int) bool {
	s := c.w.Seconds()
	var wait, weighted, runnable, delay, most float64
	for _, i := range members {
		v := &c.asked[i]
		if v.spans != nil {
			weighted += v.spans.weighted
		}
		wait += v.blocked()
		runnable += v.runnable()
		delay += v.delay
		most = max(most, v.runnable())
	}
	if wait > 0 && min(weighted/wait, wait/s) >= waitShareLimit {
		return false // too little to be held up together, and too much to be well
	}
	return (runnable >= cpuShareLimit*s || delay >= waitShareLimit*s) && most <= runnable/2
}

// heldTogether tells whether processes that are well one by one are held up as
// one: they wait for a tenth of the window in all, for much of the time that
// they are awake, and none of them for half as much alone. row: they run one after
// the other.
func (c *Case) heldTogether(members []int, row bool) bool {
	if len(members) < 2 {
		return false
	}
	var wait, weighted, alone, syncs float64
	for _, i := range members {
		v := &c.asked[i]
		syncs += v.syncs()
		if v.spans == nil {
			if v.blocked() > 0 {
				return false
			}
			continue // it never waited: the shell or master of the others
		}
		wait += v.blocked()
		weighted += v.spans.weighted
		alone = max(alone, c.notable(v))
	}
	seconds := c.w.Seconds()
	if wait == 0 {
		return false
	}
	if weighted/wait >= turnsLimit && syncs <= seconds && syncs >= max(waitShareLimit, 2*alone)*seconds && c.shareLog(members) {
		return true
	}
	limit := groupShareLimit
	if syncs >= commitsLimit*seconds || row {
		limit = waitShareLimit
	}
	if weighted/wait < limit {
		return false
	}
	share := min(weighted/wait, wait/seconds)
	return share >= waitShareLimit && share >= 2*alone
}

// inARow tells whether processes that begin all through the window run one after the
// other, as those of a shell's loop: what one of them waits for holds up all that come
// after it. Several may run at a time, if processors are idle for a tenth of that: what
// no longer waits computes then.
func (c *Case) inARow(members []int) bool {
	seconds, awake := c.w.Seconds(), 0.0
	for _, i := range members {
		v := &c.asked[i]
		awake += v.blocked() + v.runnable()
	}
	unused, known := c.unusedProcessors()
	return awake <= seconds*(1+waitShareLimit) || known && unused*seconds >= waitShareLimit*awake
}

// beginAllAlong tells whether short processes of a program begin all through the
// window, and when the first of them did, in seconds since boot. What is older may be
// their shell.
func (c *Case) beginAllAlong(members []int) (first float64, ok bool) {
	seconds := c.w.Seconds()
	if len(members) < rowLimit {
		return 0, false
	}
	starts := make([]float64, 0, len(members))
	for _, i := range members {
		starts = append(starts, c.asked[i].process.Start.Seconds())
	}
	slices.Sort(starts)
	newest := starts[len(starts)-1]
	short := starts[slices.IndexFunc(starts, func(s float64) bool { return s > newest-seconds }):]
	most := 0.0
	for i := 1; i < len(short); i++ {
		most = max(most, short[i]-short[i-1])
	}
	return short[0], len(short) >= max(rowLimit, len(starts)/2) && newest-short[0] >= seconds/2 && most <= seconds/4
}
