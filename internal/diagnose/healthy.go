package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// healthy is the finding when nobody waits. unchecked is how many causes could not
// be judged.
func (c *Case) healthy(excluded []Excluded, unchecked int) Finding {
	f := Finding{
		Cause: Healthy, Title: "nothing holds I/O up", Answer: Yes, Excluded: excluded, Confidence: 0.95,
		Disprove: "a program waits for I/O a tenth of its time or more while it is observed",
	}
	if !c.counted() {
		f.Confidence, f.Likely = likelyMost, !c.w.Told
	}
	if unchecked > 0 && !c.w.Told {
		f.Title = fmt.Sprintf("no problem seen, %s unchecked", sample.Counted(unchecked, "cause"))
	}
	if at := c.asleep(); at >= mostlyAsleep {
		often, or := "all the time", ", or it is stopped (SIGSTOP, docker pause)"
		if at < 0.995 {
			often, or = "at least "+percent(at)+" of the time", ""
		}
		f.Title += "; the program sleeps " + often + ", for a timer, the network or another program" + or
	}
	if why := c.background(); why != "" {
		f.Title += "; " + why
	}
	if (c.victim.pid != 0 || c.w.Told) && c.victim.known {
		m := sample.WaitIO
		if !c.w.Has(m) && !c.w.Told {
			m = sample.ProcBlkioDelay
		}
		f.Evidence = append(f.Evidence, c.figure("longest blocked process", c.longest, "ratio", m))
	}
	if c.w.Told && c.victim.pid != 0 && c.of(sample.CacheAccesses) > 0 {
		v := c.cache()
		f.Evidence = append(f.Evidence, c.figure("page cache hit ratio", v.hitRatio(), "ratio", sample.CacheAccesses))
	}
	if c.w.Told {
		f.Evidence = append(f.Evidence, c.callEvidence()...)
		limit, ok1 := c.gauge(sample.VMDirtyLimit)
		background, ok2 := c.gauge(sample.VMDirtyBg)
		if written := c.of(sample.ProcWriteChars); written > 0 && ok1 && ok2 {
			f.Evidence = append(f.Evidence, c.figure("written", written, "bytes", sample.ProcWriteChars),
				c.figure("pauses of writers begin at", (limit+background)/2, "bytes", sample.VMDirtyLimit),
				c.figure("dirty limit", limit, "bytes", sample.VMDirtyLimit))
		}
	}
	if t, ok := c.all(sample.CPUIOWait); ok && c.w.Told {
		idle, _ := c.all(sample.CPUIdle)
		f.Evidence = append(f.Evidence, c.figure("idle time with I/O in flight", t/max(t+idle, 1e-9), "ratio", sample.CPUIOWait).as("idle-time-with-i-o-under-way"))
	}
	if p := c.w.Get(sample.PSISome, sample.Entity{Class: sample.ClassIO}); p != nil {
		f.Evidence = append(f.Evidence, Evidence{Name: "I/O pressure, some", Value: p.Sum() / c.w.Seconds(), Unit: "ratio", Source: p.Source})
	}
	accesses, _ := c.all(sample.CacheAccesses)
	misses, _ := c.all(sample.CacheMisses)
	if r, ok := figure.HitRatio(accesses, misses); ok {
		f.Evidence = append(f.Evidence, c.figure("page cache hit ratio", r, "ratio", sample.CacheAccesses))
	}
	c.w.Each(sample.DiskBusy, func(e sample.Entity, s *sample.Series) {
		if e.Device == c.device {
			f.Evidence = append(f.Evidence, Evidence{ID: "busiest-device", Name: "busiest device " + e.Device, Value: s.Sum() / c.w.Seconds(), Unit: "ratio", Source: s.Source})
		}
	})
	return f
}

// mostlyAsleep is the part of the time from which on a program's pace is not its own
// or the machine's to set: it is asked too seldom for more, or keeps to a rate.
const mostlyAsleep = 0.5

// asleep is the part of the window, 0 to 1, in which no thread of the program asked
// about was awake, at least: neither on a processor nor queueing for one, nor held up,
// nor with I/O in flight. 0 where that is not known, or the question is about more than one program.
func (c *Case) asleep() float64 {
	if len(c.target.PIDs) != 1 && c.target.Comm == "" || c.w.Told {
		return 0
	}
	if len(c.asked) == 0 && (len(c.target.PIDs) != 1 || !c.tasksKnown() || !c.w.Has(sample.ProcUser)) {
		return 0 // of nobody anything is known
	}
	left := c.w.Seconds()
	for i := range c.asked { // all processes of that name
		v := &c.asked[i]
		if _, counted := c.w.Sum(sample.ProcUser, sample.Entity{PID: v.pid}); !v.known || !counted {
			return 0
		}
		unnamed, _ := c.w.Sum(sample.WaitUnnamed, sample.Entity{PID: v.pid})
		left -= v.awake() + v.outstanding*c.w.Seconds() + unnamed
	}
	return clamp01(left / c.w.Seconds())
}
