package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// pollsShare is the part of the most requests ever in flight that are on average, from
// which on a program that never sleeps may do nothing but poll for them. One that computes
// with what it read keeps fewer in flight: while it computes, what is complete is not asked
// for again.
const pollsShare = 0.5

// polls says what cannot be told of a program that has I/O in flight past the cache all
// the time, and keeps a processor busy meanwhile: it may compute, or poll until the I/O is
// complete, in a loop of its own or by a thread of io_uring's (IORING_SETUP_SQPOLL). ""
// where that is no question. fio with such a thread and 16 in flight was cpu-bound by its
// processor time (145 %), and 13.9 were in flight on average: the device set its pace.
func (c *Case) polls() string {
	v, s := &c.victim, c.w.Seconds()
	if c.w.Told || v.pid == 0 || c.suffers() || v.cpu < cpuShareLimit*s || v.outstanding < outstandingLimit ||
		c.direct(v.pid) == 0 && !c.submits(v.pid) {
		return ""
	}
	if asleep, _ := c.w.Sum(sample.WaitCompletions, sample.Entity{PID: v.pid}); asleep >= waitShareLimit*s {
		return "" // it waits for them, and was found to lose too little
	}
	most, ok := c.w.Value(sample.BlockMaxFlight, sample.Entity{Device: c.device})
	if !ok || v.outstanding < pollsShare*most {
		return ""
	}
	return fmt.Sprintf("%s computes with %.2g requests in flight at %s on average (%.0f at most), or polls for them and goes as fast as the device: none of its threads sleeps until they are complete; see what it runs (perf top -p %d)",
		v.process.Comm, v.outstanding, c.device, most, v.pid)
}
