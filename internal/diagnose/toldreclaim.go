package diagnose

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
)

const (
	reclaiming = 0.20 // of all samples of running threads in reclaim, from which on it matters
	kswapdBusy = 0.50 // of a processor, used by the threads of kswapd, from which on it does not keep up
)

// toldReclaim judges reclaim by what kswapd uses of the processors, or by where running
// threads are sampled. Without swap it can only free pages of files, programs and
// libraries among them, which are read again: so it runs and runs.
func (c *Case) toldReclaim() Verdict {
	used, seen := 0.0, false
	c.w.Each(sample.ProcSystem, func(e sample.Entity, s *sample.Series) {
		if strings.HasPrefix(c.w.Processes[e.PID].Comm, "kswapd") {
			used, seen = used+s.Sum()/c.w.Seconds(), true
		}
	})
	share, sampled := c.w.Value(sample.CPUSampled, sample.Entity{Class: "reclaim"})
	switch {
	case used < kswapdBusy && share < reclaiming && seen:
		return no(fmt.Sprintf("kswapd uses %s of a processor", percent(used)))
	case share < reclaiming && sampled && !seen:
		return no(fmt.Sprintf("%s of the time of running threads is in reclaim", percent(share)))
	case used < kswapdBusy && share < reclaiming:
		return cannotTell(c.w.WhyAbsent(sample.ReclaimTime))
	}
	v := Verdict{
		Answer: Yes, Confidence: 0.50, Weight: clamp01(max(used, share)), WeightOf: OfTime,
		Disprove: "kswapd runs on although gigabytes of memory are free or of clean files: then see for what size of pages it looks (/proc/zoneinfo, /proc/buddyinfo)",
	}
	if seen {
		v.Evidence = append(v.Evidence, c.figure("processors that kswapd uses", used, "count", sample.ProcSystem))
	}
	if sampled {
		v.Evidence = append(v.Evidence, c.figureOf("of the time of running threads, in reclaim", share, "ratio", sample.CPUSampled, sample.Entity{Class: "reclaim"}).as("time-in-reclaim"))
	}
	if available, ok := c.gauge(sample.MemAvailable); ok {
		v.Evidence = append(v.Evidence, c.figure("memory available", available, "bytes", sample.MemAvailable))
	}
	more := Advice{
		Do:     "use less memory or give the machine more",
		Expect: "kswapd rests when there is free memory above its high watermark",
	}
	if swap, ok := c.gauge(sample.SwapTotal); ok {
		v.Evidence = append(v.Evidence, c.figure("swap", swap, "bytes", sample.SwapTotal))
		if swap == 0 {
			v.Confidence = 0.60
			more.Do += ", or add swap (zram, a file), to which memory can go that nobody uses"
			more.Expect += "; without swap only pages of files can be freed, those of running programs among them, which are read again at once"
		}
	}
	v.Advice = []Advice{more}
	return v
}
