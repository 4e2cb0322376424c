package diagnose

// groupShareLimit is the part of their time awake from which on like processes
// are held up together, where none of them waits for a tenth of the window: each
// would then do its work in three quarters of the time. More is asked than of a
// single process, because nobody tells that they work on the same: what one
// waits for may hold no other up.
const groupShareLimit = 0.25

// programs are told apart by their name and by the cgroup that they run in.
type program struct{ comm, cgroup string }

// sumLikeProcesses makes one of the processes of a program that wait by turns:
// the many short ones of a shell's loop, or workers of which each has little to
// do. Each of them alone seems to be well. From here on the window tells of the
// one with most waiting, and it stands for all of them.
func (c *Case) sumLikeProcesses() {
	groups := map[program][]int{}
	for i := range c.asked {
		v := &c.asked[i]
		if v.process.Comm != "" && !v.process.Kernel {
			k := program{v.process.Comm, v.process.MemoryCgroup}
			groups[k] = append(groups[k], i)
		}
	}
	into := map[int]int{}
	for _, members := range groups {
		if !c.heldTogether(members) {
			continue
		}
		first := &c.asked[members[0]]
		for _, i := range members {
			if v := &c.asked[i]; v.blocked() > first.blocked() || v.blocked() == first.blocked() && v.pid < first.pid {
				first = v
			}
		}
		for _, i := range members {
			into[c.asked[i].pid] = first.pid
		}
	}
	if len(into) == 0 {
		return
	}
	c.w = c.w.Merged(into)
	c.stand = map[int]int{}
	var asked []victim
	for i := range c.asked {
		pid := c.asked[i].pid
		to, merged := into[pid]
		if merged && c.asked[i].blocked() > 0 {
			c.stand[to]++
		}
		if !merged || to == pid {
			asked = append(asked, c.measure(pid))
		}
	}
	c.asked = asked
}

// heldTogether tells whether processes that are well one by one are held up as
// one: they wait for a tenth of the window in all, for much of the time that
// they are awake, and none of them for half as much alone.
func (c *Case) heldTogether(members []int) bool {
	if len(members) < 2 {
		return false
	}
	var wait, weighted, alone float64
	for _, i := range members {
		v := &c.asked[i]
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
	if wait == 0 || weighted/wait < groupShareLimit {
		return false
	}
	share := min(weighted/wait, wait/c.w.Seconds())
	return share >= waitShareLimit && share >= 2*alone
}
