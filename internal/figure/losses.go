package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Loss is what the kernel programs of a window could not count.
type Loss struct {
	Events float64
	Share  float64 // of all such events; below 0 where these are not counted
	Text   string  // how many, of what, and what that means for the figures
}

// Losses are what the kernel programs could not count, the largest share first; those
// of unknown share before them.
func Losses(w *sample.Window) []Loss {
	var out []Loss
	w.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
		l := Loss{Events: s.Sum(), Share: -1}
		one, rest := lossWords(e.Class)
		all, known := seenEvents(w, e.Class)
		l.Text = sample.Counted(l.Events, one)
		if known {
			l.Share = l.Events / max(all, l.Events)
			l.Text += " (" + percentOf(l.Share) + ")"
		}
		l.Text += " " + rest
		out = append(out, l)
	})
	slices.SortFunc(out, func(a, b Loss) int {
		if (a.Share < 0) != (b.Share < 0) {
			return cmp.Compare(a.Share, b.Share)
		}
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Text, b.Text))
	})
	return out
}

// Small tells whether so little was lost that no figure of two digits changes.
func (l *Loss) Small() bool { return l.Share >= 0 && l.Share < 0.005 }

// recursion ends the class of events that came while their program was running.
const recursion = " recursion"

// seenEvents is how many events of a class there were in all, where they are counted.
func seenEvents(w *sample.Window, class string) (n float64, known bool) {
	if program, ok := strings.CutSuffix(class, recursion); ok {
		runs, ok := w.Sum(sample.CostBPFRuns, sample.Entity{Class: program})
		missed, _ := w.Sum(sample.CostLost, sample.Entity{Class: class})
		return runs + missed, ok && runs > 0
	}
	switch class {
	case "blockio missed_completions", "blockio lost_requests":
		n, ok := w.SumWhere(sample.BlockOps, func(e sample.Entity) bool { return e.Device != "" && e.PID == 0 && e.Cgroup == "" })
		return n, ok && n > 0
	}
	return 0, false
}

// percentOf writes a small share with two digits.
func percentOf(share float64) string {
	if share > 0 && share < 0.00001 {
		return "less than 0.001 %"
	}
	return fmt.Sprintf("%.2g %%", share*100)
}

// lossWords are what one event of a class is called, and what became of it.
func lossWords(class string) (one, rest string) {
	if program, ok := strings.CutSuffix(class, recursion); ok {
		return "event", "came while the kernel program for such events (" + program + ") was still running: not counted"
	}
	for _, l := range knownLosses() {
		if strings.Replace(class, "pagecache watch ", "pagecache ", 1) == l.class {
			return l.one, l.rest
		}
	}
	return "event", "lost (" + class + "): the figures made of them are too low"
}

// knownLosses are the counters of the probes, in words.
func knownLosses() []struct{ class, one, rest string } {
	const full = "the kernel had no room for another row: "
	return []struct{ class, one, rest string }{
		{"blockio missed_completions", "disk request", "whose end the kernel did not report: missing in latencies and in bytes by process"},
		{"blockio lost_requests", "disk request", "could not be followed: missing in latencies and in bytes by process"},
		{"blockio lost_rows", "disk request", "not counted by process and file: " + full + "these figures are too low"},
		{"blockio lost_bins", "disk request", "missing in bursts and in the course of latency: " + full + "totals have them"},
		{"blockio lost_direct", "O_DIRECT read", "not compared with earlier ones: " + full + "what is re-read is too low"},
		{"blockio lost_layers", "request", "missing by layer of stacked devices: " + full + "the disks' figures have them"},
		{"blockio lost_processes", "process", "of disk requests without name and cgroup: they had ended, or " + full + "only the process ID is known"},
		{"disklatency lost_disks", "disk request", "missing in latencies: there are more disks than rows"},
		{"disklatency untimed", "disk request", "missing in latencies: the kernel kept no start"},
		{"fuse lost_requests", "FUSE request", "could not be followed: missing in the time of the daemon"},
		{"fuse lost_rows", "FUSE request", "not counted: " + full + "the daemon's figures are too low"},
		{"fuse lost_processes", "process", "that uses FUSE without name and cgroup: " + full + "only the process ID is known"},
		{"ended lost_ended", "thread", "whose end was not counted, as too many ended at once: their last CPU time is missing"},
		{"writeback lost_rows", "write", "to the device not counted by file: " + full + "who makes pages dirty is too low"},
		{"reclaim lost_tasks", "stall", "in reclaim not timed, as there was no memory for it: waits for memory are too low"},
		{"reclaim lost_rows", "stall", "in reclaim not counted: " + full + "waits for memory are too low"},
		{"reclaim lost_refaults", "page", "read back after eviction not counted by cgroup: " + full + "the advice on sizes of memory is too low"},
		{"reclaim lost_processes", "process", "that waits for memory without name and cgroup: " + full + "only the process ID is known"},
		{"locks lost_tasks", "wait", "for a lock not timed, as there was no memory for it: waits for locks are too low"},
		{"locks lost_rows", "wait", "for a lock not counted: " + full + "waits for locks are too low"},
		{"locks lost_threads", "wait", "for a lock missing in the number of threads that wait: " + full + "that number is too low"},
		{"locks missed_ends", "wait", "for a lock whose end the kernel did not report: waits for locks are too low"},
		{"locks lost_processes", "process", "that waits for locks without name and cgroup: " + full + "only the process ID is known"},
		{"pagecache lost_accounts", "page-cache event", "not counted by process and file: " + full + "these figures are too low, totals have them"},
		{"pagecache lost_chunks", "stretch", "of a file not remembered: " + full + "misses may be counted as hits, re-reads as first reads"},
		{"pagecache lost_tasks", "event", "of threads that there was no memory for: their reads and waits are too low"},
		{"pagecache lost_waits", "wait", "for I/O not counted: " + full + "waiting is too low"},
		{"pagecache lost_inodes", "page-cache event", "not counted, as the kernel did not tell of which file it was: hits and misses are too low"},
		{"pagecache lost_paths", "file", "shown without a path: " + full + "its device and inode are known"},
		{"pagecache lost_spans", "thread", "whose time awake is not known, as there was no memory for it: shares of waiting are less certain"},
		{"pagecache lost_timed", "call", "whose time was not counted: " + full + "rates of reads and syncs that wait are too low"},
		{"pagecache lost_touched", "page", "left out of the sample that advice on sizes of memory is made of: " + full + "that advice is less certain"},
		{"pagecache lost_returns", "read call", "whose end the kernel did not report: missing in hits and misses"},
		{"pagecache lost_processes", "process", "that reads or writes files without name and cgroup: " + full + "only the process ID is known"},
	}
}
