package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// What makes calls small, and their number what takes the time.
const (
	smallBytes  = 4096   // a call, at most
	smallCalls  = 50_000 // a second, at least: at 1 us each a twentieth of a processor
	smallSystem = 0.40   // of the processor time that is the kernel's, at least
	largeBytes  = 65536  // what the advice compares with
	pagePart    = 0.50   // of a call for a page, what the page itself takes: cached reads 690 to 910 ns, 400 a page in calls of 64 KiB (Linux 6.18)
	ownPages    = 0.75   // pages that a read asks for which the one before did not, from which on a buffer has nothing to give
)

// small is what is known of a victim's calls, of reads or writes, whichever are more.
type small struct {
	op          string // "read" or "write"
	from        sample.Metric
	calls, size float64 // in the window; bytes of one
	system      float64 // seconds of a processor in the kernel
	why         string  // these calls are not the problem, "" where they are
}

// small judges the victim's calls.
func (c *Case) small() small {
	s := c.w.Seconds()
	m := small{op: "read", from: sample.ProcReadCalls, calls: c.of(sample.ProcReadCalls), system: c.of(sample.ProcSystem)}
	chars := c.of(sample.ProcReadChars)
	if n := c.of(sample.ProcWriteCalls); n > m.calls {
		m.op, m.from, m.calls, chars = "write", sample.ProcWriteCalls, n, c.of(sample.ProcWriteChars)
	}
	m.size = chars / max(1, m.calls)
	switch {
	case c.held():
		m.why = "the victim waits most of the time: the calls themselves are not the problem"
	case m.calls < smallCalls*s:
		m.why = fmt.Sprintf("the victim makes %.0f calls a second at most", m.calls/s)
	case c.of(sample.ProcChildren) > c.victim.cpu:
		m.why = "its children that ended took more processor time than it did itself, and the kernel counts their calls as its own"
	case m.size > smallBytes:
		m.why = fmt.Sprintf("a %s of the victim takes %s on average", m.op, bytes(m.size))
	case m.system < smallSystem*c.victim.cpu:
		m.why = "only " + percent(m.system/max(c.victim.cpu, 1e-9)) + " of its processor time is the kernel's"
	case m.op == "read" && c.exact() && c.of(sample.CacheCalls) < 0.5*m.calls:
		m.why = "most of its small reads are not of files"
	case m.op == "read" && c.exact() && c.of(sample.CacheAccesses) >= ownPages*c.of(sample.CacheCalls):
		m.why = "each of its reads is of another page: a buffer would not save any"
	}
	return m
}

// fewer is how many times fewer calls a buffer needs.
func (m *small) fewer() float64 { return largeBytes / max(1, m.size) }

// inCalls is the seconds that a victim's calls take: on a processor, and waiting for one
// behind such calls of its other threads.
func (c *Case) inCalls(m *small) float64 {
	busy, ok := c.busyProcessors()
	if !ok || busy == 0 {
		return m.system
	}
	return m.system + c.victim.delay*min(1, m.system/(busy*c.w.Seconds()))
}

// saved is how many of these seconds larger calls save.
func (c *Case) saved(m *small) float64 {
	return c.inCalls(m) * (1 - pagePart*m.size/smallBytes) * (1 - 1/m.fewer())
}

// callsFill tells that tiny calls of the victim are what the processors are busy with.
func (c *Case) callsFill() bool {
	m := c.small()
	return c.w.Has(sample.ProcReadCalls) && m.why == "" && c.saved(&m) >= 0.5*c.victim.awake()
}

// tinyCalls: the program makes so many tiny reads or writes that the calls
// themselves take its time.
func tinyCalls() Cause {
	return Cause{
		ID: SmallIO, Title: "tiny reads or writes: the calls themselves take the time",
		Needs: [][]sample.Metric{{sample.ProcReadCalls}, {sample.ProcUser}},
		Over:  []ID{CPUBound},
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.ProcReadCalls) {
				return cannotTell(c.w.WhyAbsent(sample.ProcReadCalls))
			}
			m := c.small()
			if m.why != "" {
				return no(m.why)
			}
			s, awake := c.w.Seconds(), c.victim.awake()
			k := c.culprit()
			if f := c.topFile("", sample.CacheAccesses); f != (sample.FileID{}) && m.op == "read" {
				c.at(&k, f)
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((m.calls/s-smallCalls)/100_000+0.3, c.victim.known),
				Weight: c.inCalls(&m) / awake, WeightOf: OfTime, Culprit: k,
				Evidence: []Evidence{
					c.figure(m.op+" calls", m.calls/s, "count/s", m.from).as("calls"),
					c.figure("bytes of one "+m.op, m.size, "bytes", m.from).as("bytes-of-one-call"),
					c.figure("processor time of one, in the kernel", m.system/m.calls, "seconds", sample.ProcSystem),
					c.figure("processor time that is the kernel's", m.system/c.victim.cpu, "ratio", sample.ProcSystem),
					c.onProcessors("time on a processor", c.victim.cpu/s).as("time-on-a-processor"),
				},
				Disprove: "the speed stays the same with a buffer of 64 KiB in front of the file",
				Advice: []Advice{c.working(promise{low: awake / (awake - c.saved(&m))}).advise(
					fmt.Sprintf("%s through a buffer of 64 KiB (stdio, bufio, BufferedReader) or map the file", m.op),
					fmt.Sprintf("%.0f times fewer calls", m.fewer()))},
			}
		},
	}
}
