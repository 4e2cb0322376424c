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
	ownPages    = 0.75   // pages that a read asks for which the one before did not, from which on a buffer has nothing to give
)

// tinyCalls: the program makes so many tiny reads or writes that the calls
// themselves take its time.
func tinyCalls() Cause {
	return Cause{
		ID: SmallIO, Title: "tiny reads or writes: the calls themselves take the time",
		Needs: [][]sample.Metric{{sample.ProcReadCalls}, {sample.ProcUser}},
		Over:  []ID{CPUBound, CPUSaturated}, // what processors are needed for in vain comes before their number
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.ProcReadCalls) {
				return cannotTell(c.w.WhyAbsent(sample.ProcReadCalls))
			}
			s := c.w.Seconds()
			op, calls, chars := "read", c.of(sample.ProcReadCalls), c.of(sample.ProcReadChars)
			m := sample.ProcReadCalls
			if n := c.of(sample.ProcWriteCalls); n > calls {
				op, calls, chars, m = "write", n, c.of(sample.ProcWriteChars), sample.ProcWriteCalls
			}
			size := chars / max(1, calls)
			system := c.of(sample.ProcSystem)
			switch {
			case c.held():
				return no("the victim waits most of the time: the calls themselves are not the problem")
			case calls < smallCalls*s:
				return no(fmt.Sprintf("the victim makes %.0f calls a second at most", calls/s))
			case c.of(sample.ProcChildren) > c.victim.cpu:
				return no("its children that ended took more processor time than it did itself, and the kernel counts their calls as its own")
			case size > smallBytes:
				return no(fmt.Sprintf("a %s of the victim takes %s on average", op, bytes(size)))
			case system < smallSystem*c.victim.cpu:
				return no("only " + percent(system/max(c.victim.cpu, 1e-9)) + " of its processor time is the kernel's")
			case op == "read" && c.exact() && c.of(sample.CacheCalls) < 0.5*calls:
				return no("most of its small reads are not of files")
			case op == "read" && c.exact() && c.of(sample.CacheAccesses) >= ownPages*c.of(sample.CacheCalls):
				return no("each of its reads is of another page: a buffer would not save any")
			}
			k := c.culprit()
			if f := c.topFile("", sample.CacheAccesses); f != (sample.FileID{}) && op == "read" {
				c.at(&k, f)
			}
			fewer := largeBytes / max(1, size)
			return Verdict{
				Answer: Yes, Confidence: confidence((calls/s-smallCalls)/100_000+0.3, c.victim.known),
				Weight: c.inCalls(system) / c.victim.awake(), WeightOf: OfTime, Culprit: k,
				Evidence: []Evidence{
					c.figure(op+" calls", calls/s, "count/s", m).as("calls"),
					c.figure("bytes of one "+op, size, "bytes", m).as("bytes-of-one-call"),
					c.figure("processor time of one, in the kernel", system/calls, "seconds", sample.ProcSystem),
					c.figure("processor time that is the kernel's", system/c.victim.cpu, "ratio", sample.ProcSystem),
					c.onProcessors("time on a processor", c.victim.cpu/s).as("time-on-a-processor"),
				},
				Disprove: "the speed stays the same with a buffer of 64 KiB in front of the file",
				Advice: []Advice{c.working(promise{low: c.victim.awake() / (c.victim.awake() - c.inCalls(system)*(1-1/fewer))}).advise(
					fmt.Sprintf("%s through a buffer of 64 KiB (stdio, bufio, BufferedReader) or map the file", op),
					fmt.Sprintf("%.0f times fewer calls", fewer))},
			}
		},
	}
}

// inCalls is the seconds that a victim's calls take, of which system are on a processor:
// with those that its threads wait for a processor behind such calls.
func (c *Case) inCalls(system float64) float64 {
	busy, ok := c.busyProcessors()
	if !ok || busy == 0 {
		return system
	}
	return system + c.victim.delay*min(1, system/(busy*c.w.Seconds()))
}
