package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// compactionStall: threads of the victim move pages about until a large piece of
// memory is free, for a huge page as a rule. There is memory; it is in small pieces.
func compactionStall() Cause {
	return Cause{
		ID: CompactionStall, Title: "the program stalls while memory is compacted for a huge page",
		Needs: [][]sample.Metric{{sample.CompactTime}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldCompaction()
			}
			if !c.w.Has(sample.CompactTime) {
				return cannotTell(c.w.WhyAbsent(sample.CompactTime))
			}
			s, v, t := c.w.Seconds(), &c.victim, c.of(sample.CompactTime)
			switch {
			case t == 0:
				return no("the victim never stalled in compaction")
			case v.stalled(s) < waitShareLimit:
				return no(fmt.Sprintf("the victim stalls in reclaim and compaction for only %s of its time", percent(v.stalled(s))))
			case !c.compacts():
				return no(fmt.Sprintf("only %s of the time that it stalls is compaction, the rest is reclaim", percent(t/v.stall)))
			}
			n := c.of(sample.CompactStalls)
			e := []Evidence{
				c.partOf("time stalled in compaction", v.stalled(s)*t/v.stall, sample.CompactTime),
				c.figure("stalls in compaction", n/s, "count/s", sample.CompactStalls),
				c.figure("mean stall in compaction", t/max(1, n), "seconds", sample.CompactTime),
				c.figure("of all its stalls, in compaction", t/v.stall, "ratio", sample.CompactTime),
			}
			if free, ok := c.gauge(sample.MemFree); ok {
				e = append(e, c.figure("memory free, in pieces", free, "bytes", sample.MemFree).as("memory-free"))
			}
			background := c.promise(removal{sure: t, maybe: v.waitIO() - t, kernel: true}).advise(
				inBackground,
				"the program gets small pages at once, and khugepaged joins them later")
			background.Command = inBackgroundCommand
			return Verdict{
				Answer: Yes, Confidence: confidence((v.stalled(s)-waitShareLimit)/0.4+0.3, true),
				Weight: c.part(t), Culprit: c.victimCulprit(), Evidence: e,
				Disprove: "it stalls as long with huge pages off (never in /sys/kernel/mm/transparent_hugepage/enabled)",
				Advice: []Advice{background, {
					Do:     "or, if the program asks for huge pages itself (madvise), reserve them at the start (vm.nr_hugepages), or let the kernel compact ahead of need (vm.compaction_proactiveness, 20 is usual)",
					Expect: "a large piece of memory is then free when it is asked for",
				}},
			}
		},
	}
}

// How huge pages are made without a program waiting for them.
const (
	inBackground        = "let huge pages be made in the background: defer+madvise in /sys/kernel/mm/transparent_hugepage/defrag"
	inBackgroundCommand = "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag"
)

// compacts tells whether the victim stalls in compaction more than in reclaim.
func (c *Case) compacts() bool { return c.of(sample.CompactTime) > 0.5*c.victim.stall }
