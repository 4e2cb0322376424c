package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// What a text tells of processors and of tasks that hang.
const (
	compacting   = 0.10 // of all samples of running threads in compaction, from which on it matters
	encrypting   = 0.30 // the same of ciphers
	compactStall = 10   // stalls in compaction a second, where their time is not told
)

// toldCompaction judges compaction by where running threads are sampled, or by how
// often threads had to compact memory themselves.
func (c *Case) toldCompaction() Verdict {
	share, sampled := c.w.Value(sample.CPUSampled, sample.Entity{Class: "compaction"})
	stalls, counted := c.all(sample.VMCompact)
	rate := stalls / c.w.Seconds()
	v := Verdict{
		Answer: Yes, Confidence: 0.60, Weight: share, WeightOf: OfTime,
		Disprove: "it is as slow with huge pages off (never in /sys/kernel/mm/transparent_hugepage/enabled)",
		Advice: []Advice{{
			Do:      inBackground,
			Expect:  "programs get small pages at once, and khugepaged joins them later",
			Command: inBackgroundCommand,
		}},
	}
	if counted {
		v.Evidence = append(v.Evidence, c.figure("stalls in compaction", rate, "count/s", sample.VMCompact))
	}
	switch {
	case sampled && share >= compacting:
		v.Evidence = append([]Evidence{c.figureOf("of the time of running threads, in compaction", share, "ratio", sample.CPUSampled, sample.Entity{Class: "compaction"}).as("time-in-compaction")}, v.Evidence...)
		return v
	case counted && rate >= compactStall && c.suffers():
		v.Confidence, v.Weight, v.WeightOf = 0.40, c.part(min(c.victim.waitTotal, stalls*stallGuess)), ""
		return v
	case counted && rate < 1:
		return no(fmt.Sprintf("threads compact memory themselves %.2g times a second", rate))
	case sampled:
		return no(fmt.Sprintf("%s of the time of running threads is in compaction", percent(share)))
	}
	return c.toldLacks("whether threads stall in compaction is not in the text: paste perf top, or /proc/vmstat twice (compact_stall)")
}

// stallGuess is what a stall in compaction takes at least, in seconds, where nobody
// has measured it.
const stallGuess = 0.001

// toldEncryption judges dm-crypt by where running threads are sampled.
func (c *Case) toldEncryption() Verdict {
	of := sample.Entity{Class: "encryption"}
	share, ok := c.w.Value(sample.CPUSampled, of)
	switch {
	case !ok:
		return c.toldLacks("how long dm-crypt takes is not in the text: paste perf top, or run iocause diagnose while it happens")
	case share < encrypting:
		return no(fmt.Sprintf("%s of the time of running threads is in ciphers", percent(share)))
	}
	return Verdict{
		Answer: Yes, Confidence: 0.60, Weight: share, WeightOf: OfTime,
		Evidence: []Evidence{c.figureOf("of the time of running threads, in ciphers", share, "ratio", sample.CPUSampled, of).as("time-in-ciphers")},
		Disprove: "I/O to the disk below takes as long without dm-crypt, or the ciphers are those of a network (IPsec, WireGuard, TLS)",
		Advice: []Advice{{
			Do:      "see that the processor's AES instructions are used (cryptsetup benchmark), and let dm-crypt work in the thread that reads or writes (no_read_workqueue, no_write_workqueue)",
			Expect:  "the time in dm-crypt falls to that of the encryption alone",
			Command: "cryptsetup benchmark",
		}},
	}
}

// toldHung is how many tasks the kernel's log tells of that hang in one thing, and how
// many hang in all.
func (c *Case) toldHung(class string) (n, all float64) {
	n, _ = c.w.Sum(sample.TasksHung, sample.Entity{Class: class})
	all, _ = c.all(sample.TasksHung)
	return n, all
}

// toldHungIn judges tasks that hang in one thing: half of them or more.
func (c *Case) toldHungIn(class, where string, advice Advice) Verdict {
	n, all := c.toldHung(class)
	if n == 0 || n < all/2 {
		if all == 0 {
			return c.toldLacks("what threads sleep for in the kernel is not in the text: run iocause diagnose while it happens, or paste the stacks of hung tasks (dmesg)")
		}
		return no(fmt.Sprintf("of %.0f tasks that hang, %.0f hang in %s", all, n, where))
	}
	return Verdict{
		Answer: Yes, Confidence: 0.60, Weight: n / all, WeightOf: OfLog,
		Evidence: []Evidence{
			c.figureOf("tasks that hang in "+where, n, "count", sample.TasksHung, sample.Entity{Class: class}).as("tasks-that-hang-in-it"),
			c.figure("tasks that hang in all", all, "count", sample.TasksHung),
		},
		Disprove: "the device below answers nothing either: then it is what everybody waits for (iostat, errors in the log)",
		Advice:   []Advice{advice},
	}
}

func (c *Case) toldJournalHung() Verdict {
	return c.toldHungIn(sample.ClassJournal, "the file system's journal", Advice{
		Do:     "see who has the journal committed (a program that syncs often, on the same file system), whether the device below is slow, and whether the journal is small (dumpe2fs -h, xfs_info)",
		Expect: "what changes files waits until the last commit is on the device",
	})
}

func (c *Case) toldFuseHung() Verdict {
	return c.toldHungIn(sample.ClassFUSE, "a FUSE file system", Advice{
		Do:     "look at the daemon that serves it: is it there, and what does it wait for",
		Expect: "all that ask it wait until it answers, or until its connection is aborted (/sys/fs/fuse/connections)",
	})
}

func (c *Case) toldScannerHung() Verdict {
	return c.toldHungIn(sample.ClassPermit, "fanotify, until a program allows that files are opened", Advice{
		Do:     "look at the program that is asked (a virus scanner, fapolicyd): is it there, and what does it wait for; who it is: " + whoIsAsked,
		Expect: "all that open files wait until it answers, or until it ends",
	})
}
