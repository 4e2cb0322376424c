package pid

import (
	"fmt"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func ioMetrics() []sample.Metric {
	return []sample.Metric{
		sample.ProcReadChars, sample.ProcWriteChars, sample.ProcReadCalls,
		sample.ProcWriteCalls, sample.ProcReadBytes, sample.ProcWriteBytes,
	}
}

// gaps tells what the window lacks, each thing once.
func (s *source) gaps(into sample.Sink) {
	t := &s.after
	if t.ended > 0 {
		into.PutGap(sample.Gap{Why: processes(t.ended) + " exited before the end of the window: their last I/O is missing, or counted for their parents"})
	}
	if t.late > 0 {
		into.PutGap(sample.Gap{Why: processes(t.late) + " could not be read at the start of the window: the figures are missing"})
	}
	if t.broken > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("%s could not be read at the end of the window, first: %v", processes(t.broken), t.err)})
	}
	s.denied(into)
	if s.hidden() {
		into.PutGap(sample.Gap{
			Why:     "processes of other users are hidden, because /proc is mounted with hidepid: run as root to see all",
			Metrics: append(ioMetrics(), sample.ProcUser, sample.ProcSystem, sample.ProcMajorFault),
		})
	}
	if t.truncated > 0 {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("of %s only the first thread's waits are known: at most %d threads are read, of all processes together", processes(t.truncated), maxThreads),
			Metrics: []sample.Metric{sample.ProcRunDelay, sample.ProcBlkioDelay},
		})
	}
	if !t.slices {
		into.PutGap(sample.Gap{
			Why:     "/proc/PID/schedstat is zero: it needs a kernel with CONFIG_SCHED_INFO (SCHEDSTATS or TASK_DELAY_ACCT)",
			Metrics: []sample.Metric{sample.ProcRunDelay},
		})
	}
	if !s.delays {
		why := "the kernel does not account waits for I/O: sysctl kernel.task_delayacct=1, or boot with delayacct"
		if s.accounting() == delaysUnknown {
			why = "the kernel counted no wait for I/O: there was none, or it was built without CONFIG_TASK_DELAY_ACCT or started with nodelayacct"
		}
		into.PutGap(sample.Gap{Why: why, Metrics: []sample.Metric{sample.ProcBlkioDelay}})
	}
}

// denied tells whose io could not be read. Even a process that may look into
// all others is kept from some: by a security module, or by a name space above
// its own. Nothing can be done about these, so they are worth a word only when
// they did something.
func (s *source) denied(into sample.Sink) {
	n, why := s.after.denied, "run as root to see the I/O of all"
	if s.host.HasCapability(host.CapSysPtrace) {
		n, why = s.after.active, "the kernel denies that even to root, so their I/O is missing"
	}
	if n > 0 {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("reading /proc/PID/io of %s was not permitted: %s", processes(n), why),
			Metrics: ioMetrics(),
		})
	}
}

// hidden tells whether the mount options of /proc keep others' processes from
// us: hidepid=1 keeps their files, hidepid=2 and 4 all trace of them. Whoever is
// exempt, through a group or a capability, can read the first process.
func (s *source) hidden() bool {
	mounts, err := s.host.Mounts()
	if err != nil && len(mounts) == 0 {
		return false
	}
	for _, m := range mounts {
		if m.Point != "/proc" || m.Type != "proc" {
			continue
		}
		for _, o := range m.Super {
			if mode, ok := strings.CutPrefix(o, "hidepid="); ok && mode != "0" && mode != "off" {
				_, err := s.r.read(1, "/stat")
				return err != nil
			}
		}
	}
	return false
}

func processes(n int) string { return sample.Counted(n, "process") }
