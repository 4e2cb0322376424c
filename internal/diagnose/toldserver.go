package diagnose

import "iocause/internal/sample"

// slowAnswer is the mean time of reads and writes of a file server, in seconds,
// from which on a text shows a slow one: a disk that turns takes as long, and so
// does a network that is not of the same data centre.
const slowAnswer = 0.010

// toldServed is what a text tells of requests to file servers that take long: the
// mount with most of their time, and the seconds for all of them. Who waits for
// them is not in it; writes may be the kernel's.
func (c *Case) toldServed() (most served, all float64) {
	for _, m := range c.servedMounts() {
		v := c.nfs(m)
		silent := v.requests == 0 && v.timeouts > 0 // the kernel's log says that it does not answer
		if byDaemon(m.kind) || !silent && (v.requests == 0 || v.time/v.requests < slowAnswer) {
			continue
		}
		if m.wait = v.time; silent {
			m.wait = c.w.Seconds()
		}
		all += m.wait
		if m.wait > most.wait || m.wait == most.wait && m.device < most.device {
			most = *m
		}
	}
	return most, all
}

// tellServed lets the host wait for file servers, where the text shows that their
// requests are in flight for longer than those of its disks.
func (c *Case) tellServed(v *victim) bool {
	s := c.w.Seconds()
	_, all := c.toldServed()
	if v.pid != 0 || v.known || all/s < waitShareLimit || all < c.toldWaiting() {
		return false
	}
	v.wait[sample.ClassOther] = min(s, all)
	v.waitTotal = v.wait[sample.ClassOther]
	return true
}
