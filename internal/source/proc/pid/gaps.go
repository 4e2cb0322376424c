package pid

import (
	"fmt"

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
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"%d processes exited before the end of the window; their last figures are missing", t.ended)})
	}
	if t.late > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"%d processes could not be read at the start of the window; their figures are missing", t.late)})
	}
	if t.broken > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"%d processes could not be read at the end of the window, first: %v", t.broken, t.err)})
	}
	if t.denied > 0 {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("reading /proc/PID/io of %d processes was not permitted: run as root to see the I/O of all", t.denied),
			Metrics: ioMetrics(),
		})
	}
	if t.truncated > 0 {
		into.PutGap(sample.Gap{Why: fmt.Sprintf(
			"of %d processes with many threads only the first thread's waits are known: more than %d threads are not read", t.truncated, maxThreads)})
	}
	if !t.slices {
		into.PutGap(sample.Gap{
			Why:     "/proc/PID/schedstat counts nothing: a kernel with CONFIG_SCHED_INFO (SCHEDSTATS or TASK_DELAY_ACCT) does",
			Metrics: []sample.Metric{sample.ProcRunDelay},
		})
	}
	if !s.delays {
		into.PutGap(sample.Gap{
			Why:     "the kernel does not account waits for I/O: sysctl kernel.task_delayacct=1, or boot with delayacct",
			Metrics: []sample.Metric{sample.ProcBlkioDelay},
		})
	}
}
