package diagnose

import (
	"cmp"
	"fmt"

	"iocause/internal/sample"
)

// journalCommit: the program changes files, syncs none, and waits all the same for the
// file system's journal: for room in it, or for a block that a commit is writing. What
// it waits for in its own syncs is sync-writes.
func journalCommit() Cause {
	return Cause{
		ID: JournalCommit, Title: "the program waits for commits of the file system's journal that are not its own",
		Needs: [][]sample.Metric{{sample.WaitFor}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldJournalHung()
			}
			if !c.w.Has(sample.WaitFor) {
				return cannotTell(c.w.WhyAbsent(sample.WaitFor))
			}
			held, own, s := c.victim.waits[sample.ClassJournal], c.syncWait(), c.w.Seconds()
			switch {
			case !c.suffers():
				return no("no program waits for I/O long enough to matter")
			case c.part(held) < 0.3:
				return no("outside of its own syncs the victim waits for the journal " + percent(c.part(held)) + " of its waiting")
			case held < own:
				return no("the victim waits longer in its own syncs than for commits of others")
			}
			e := []Evidence{
				c.partOf("time blocked on the journal, outside of its own syncs", c.victim.shareOf(held, s), sample.WaitFor),
				c.partOf("time blocked in its own syncs", c.victim.shareOf(own, s), sample.WaitFor),
			}
			k, t := c.committer()
			if k.PID != 0 {
				e = append(e, c.figure("threads of the culprit that wait for commits", t/s, "count", sample.WaitFor))
			} else {
				k = c.victimCulprit()
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((c.part(held)-0.3)/0.4+0.2, true), Weight: c.part(held), Culprit: k,
				Evidence: append(e, c.journalEvidence()...),
				Disprove: "it is as slow on a file system of its own on the same device",
				Advice:   c.journalAdvice(&k, c.promise(removal{sure: held, maybe: c.victim.waitIO() - held, kernel: true})),
			}
		},
	}
}

// journalAdvice is what to change: at who has the journal committed, or where that is
// nobody, at the journal, which is full again and again.
func (c *Case) journalAdvice(k *Culprit, gain promise) []Advice {
	if k.PID != c.victim.pid {
		return []Advice{gain.advise(
			fmt.Sprintf("let %s sync less often, or put its files on a file system of their own", cmp.Or(k.Comm, "the other program")),
			"each of its syncs commits the journal that both share, and what is being committed cannot be changed until it is on the device"),
			{
				Do:     "or let a sync commit less: on ext4 the feature fast_commit (tune2fs -O fast_commit DEVICE, while it is not mounted)",
				Expect: "a sync of one file then writes the changes of that file only",
			}}
	}
	return []Advice{gain.advise(
		"give the file system a larger journal, or one on a faster device (ext4, while it is not mounted: tune2fs -O ^has_journal DEVICE, then tune2fs -J size=1024 DEVICE; XFS: a larger log when it is made)",
		"who changes files then finds room in it while the last changes are written"),
		{
			Do:     "or change fewer files: append to one, reuse files instead of creating and removing them",
			Expect: "each file that is created, renamed or removed takes room in the journal",
		}}
}

// committer is the process, not the victim, that waits longest for commits of the
// journal, and for how many seconds: nobody where they are few.
func (c *Case) committer() (k Culprit, seconds float64) {
	by := map[int]float64{}
	c.w.Each(sample.WaitFor, func(e sample.Entity, s *sample.Series) {
		if e.Class == sample.ClassCommit && e.PID != 0 && e.PID != c.victim.pid && !c.w.Processes[e.PID].Kernel {
			by[e.PID] += s.Sum()
		}
	})
	pid := most(by)
	if by[pid] < weightLimit*c.w.Seconds() {
		return Culprit{}, by[pid]
	}
	p := c.w.Processes[pid]
	return Culprit{PID: pid, Comm: p.Comm, Cgroup: p.MemoryCgroup, Device: c.device}, by[pid]
}

// journalEvidence is what the journal's own thread writes to the victim's device.
func (c *Case) journalEvidence() []Evidence {
	var ops, moved float64
	for pid, p := range c.w.Processes {
		if !p.Kernel || !isJournal(p.Comm) {
			continue
		}
		e := sample.Entity{PID: pid, Device: c.device, Class: sample.ClassWrite}
		n, _ := c.w.Sum(sample.BlockOps, e)
		b, _ := c.w.Sum(sample.BlockBytes, e)
		ops, moved = ops+n, moved+b
	}
	if ops == 0 {
		return nil
	}
	s := c.w.Seconds()
	return []Evidence{
		c.figure("writes of the journal to "+c.device, ops/s, "count/s", sample.BlockOps).as("writes-of-the-journal"),
		c.figure("written by the journal", moved/s, "bytes/s", sample.BlockBytes),
	}
}
