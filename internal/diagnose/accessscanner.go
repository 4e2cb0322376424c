package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// leastAsked is the part of the victim's waiting from which on it is the scanner that
// slows it down.
const leastAsked = 0.30

// whoIsAsked is the command that lists who has something marked with fanotify.
const whoIsAsked = "grep -l '^fanotify .*mask' /proc/[0-9]*/fdinfo/*"

// accessScannerSlow: the kernel asks another program before the victim may open, read
// or run a file, and waits for its answer.
func accessScannerSlow() Cause {
	return Cause{
		ID: AccessScannerSlow, Title: "a program that must allow each access to a file is slow to answer (virus scanner)",
		Needs: [][]sample.Metric{{sample.WaitFor}},
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldScannerHung()
			}
			if !c.w.Has(sample.WaitFor) {
				return cannotTell(c.w.WhyAbsent(sample.WaitFor))
			}
			t, s := c.victim.waits[sample.ClassPermit], c.w.Seconds()
			switch {
			case !c.suffers():
				return no("no program waits for I/O long enough to matter")
			case t == 0:
				return no("the victim never waits until another program allows that it opens a file")
			case c.part(t) < leastAsked:
				return no(fmt.Sprintf("the victim waits for permission to open files only %s of its waiting", percent(c.part(t))))
			}
			e := []Evidence{
				c.partOf("time blocked until it may open a file", c.victim.shareOf(t, s), sample.WaitFor),
			}
			k, names := c.scanner()
			conf := 0.85
			if k.PID != 0 {
				conf = 0.95
				own := c.measure(k.PID)
				e = append(e,
					c.figure("processors that the scanner uses", own.cpu/s, "count", sample.ProcUser),
					c.figure("the scanner's threads blocked on I/O", own.waitIO()/s, "count", sample.WaitIO))
			}
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: c.part(t), Culprit: k, Evidence: e,
				Disprove: "files are opened as slowly with the scanner stopped",
				Advice:   c.scannerAdvice(&k, names, t),
			}
		},
	}
}

// scanner is the process that allows accesses, where it is one, or all that do so have
// one name: then the one with the lowest number. names are those of all.
func (c *Case) scanner() (k Culprit, names []string) {
	var pids []int
	c.w.Each(sample.WaitScanner, func(e sample.Entity, _ *sample.Series) {
		pids = append(pids, e.PID)
		names = append(names, c.w.Processes[e.PID].Comm)
	})
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) != 1 {
		return Culprit{}, names
	}
	pid := slices.Min(pids)
	p := c.w.Processes[pid]
	return Culprit{PID: pid, Comm: p.Comm, Cgroup: p.MemoryCgroup}, names
}

// scannerAdvice is what to change.
func (c *Case) scannerAdvice(k *Culprit, names []string, wait float64) []Advice {
	gain := c.promise(removal{sure: wait, kernel: true})
	exclude := gain.advise("leave what this program opens out of the scan: exclude its files or its process in the scanner's settings, or have it scan without making others wait",
		"no access waits for the scanner any more")
	switch {
	case len(names) == 0:
		return []Advice{exclude, {Do: "find who is asked before files are opened", Expect: "its process",
			Command: whoIsAsked}}
	case k.PID == 0:
		return []Advice{exclude, {Do: "see which of these is slow to answer: " + strings.Join(names, ", "), Expect: "all of them are asked",
			Command: "iocause threads"}}
	}
	return []Advice{exclude, {Do: "see what the scanner does with the time: computes, or waits for its disk, its server or its locks", Expect: "what to change there",
		Command: fmt.Sprintf("iocause threads --pid %d", k.PID)}}
}
