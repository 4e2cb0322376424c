package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/predict"
	"iocause/internal/sample"
)

// dirtyThrottling: writers are paused because dirty pages reached the limit.
func dirtyThrottling() Cause {
	return Cause{
		ID: DirtyThrottling, Title: "writers are paused: dirty pages reached the limit",
		Needs: [][]sample.Metric{{sample.WaitDirtyPause, sample.MemDirty}, {sample.VMDirtyLimit}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if c.w.Told && !c.w.Has(sample.WaitDirtyPause) {
				return c.dirtyTold()
			}
			limit, ok1 := c.gauge(sample.VMDirtyLimit)
			background, ok2 := c.gauge(sample.VMDirtyBg)
			dirty, ok3 := c.gauge(sample.MemDirty)
			writeback, ok4 := c.gauge(sample.MemWriteback)
			if !ok1 || !ok2 || !ok3 || !ok4 {
				return cannotTell(c.w.WhyAbsent(sample.VMDirtyLimit))
			}
			freerun := (limit + background) / 2
			e := []Evidence{
				c.figure("dirty and under writeback", dirty+writeback, "bytes", sample.MemDirty),
				c.figure("pauses begin at", freerun, "bytes", sample.VMDirtyLimit),
				c.figure("dirty limit", limit, "bytes", sample.VMDirtyLimit),
			}
			if !c.w.Has(sample.WaitDirtyPause) {
				return c.dirtyFromProc(dirty+writeback, freerun)
			}
			if c.victim.pause == 0 {
				return no("no writer of the victim was paused in balance_dirty_pages")
			}
			s := c.w.Seconds()
			share := c.victim.shareOf(c.victim.pause, s)
			of := c.victim.pause / (c.victim.pause + c.victim.waitTotal)
			if share < waitShareLimit || of < 0.2 {
				return no(fmt.Sprintf("the victim was paused in balance_dirty_pages for only %s of its time", percent(share)))
			}
			drain := c.drainRate()
			pauses := c.of(sample.DirtyPauses)
			k := c.culprit()
			if f := c.topFile("", sample.CacheDirtied); f != (sample.FileID{}) {
				c.at(&k, f)
			}
			e = append([]Evidence{
				c.partOf("time paused", share, sample.WaitDirtyPause),
				c.figure("pauses", pauses/s, "count/s", sample.DirtyPauses),
				c.figure("mean pause", c.victim.pause/max(1, pauses), "seconds", sample.WaitDirtyPause),
			}, e...)
			if drain > 0 {
				e = append(e, c.figure("written back to devices", drain, "bytes/s", c.drainMetric()))
			}
			advice := c.dirtyAdvice(limit, background, drain)
			return Verdict{
				Answer: Yes, Confidence: confidence((share-waitShareLimit)/0.5+0.3, true), Weight: c.part(c.victim.pause),
				Culprit: k, Evidence: e, Advice: advice,
				Disprove: "pauses continue while dirty pages stay below the point where they begin",
			}
		},
	}
}

// dirtyAdvice is what a device twice as fast gives, and a larger limit.
func (c *Case) dirtyAdvice(limit, background, drain float64) []Advice {
	twice := c.timesFaster(2, c.victim.pause, c.victim.waitIO()-c.victim.pause).advise(
		fmt.Sprintf("write less, or give the device more write bandwidth: it takes %s/s", bytes(drain)),
		"writers then run at the device's speed, and raising a limit does not make it faster; with one twice as fast")
	avail, ok := c.gauge(sample.MemAvailable)
	if !ok || limit >= dirtySmall*avail {
		return []Advice{twice}
	}
	larger := math.Exp2(math.Floor(math.Log2(dirtySmall * avail)))
	if larger < worthRaising*limit { // a power of two below a tenth may be less than what there is
		return []Advice{twice}
	}
	expect := "bursts up to about half the new limit go at the speed of memory; longer writes go at the speed of the device"
	if dirtied, running := c.of(sample.CacheDirtied)*pageSize, c.w.Seconds()-c.victim.pause; dirtied > 0 && running > 0 && c.victim.waiters() <= 1 {
		least := predict.Dirty{Rate: dirtied / running, Limit: limit, Background: background}.Limited(larger)
		most := least
		most.Drain = drain
		p, q := least.Pauses(), most.Pauses()
		if p.Bytes != nil && q.Bytes != nil {
			expect = fmt.Sprintf("after a rest, %s to %s go at the speed of memory before the first pause; longer writes go at the speed of the device, as now", bytes(*p.Bytes), bytes(*q.Bytes))
		}
	}
	return []Advice{{
		Do: fmt.Sprintf("raise vm.dirty_bytes (or vm.dirty_ratio) to %s: the limit of %s is small beside the %s available",
			bytes(larger), bytes(limit), bytes(avail)),
		Expect:  expect,
		Command: fmt.Sprintf("sysctl vm.dirty_bytes=%.0f", larger),
	}, twice}
}

// dirtySmall is the share of the available memory below which a limit of dirty pages
// is small.
const dirtySmall = 0.1

// worthRaising is how many times the limit another one must be to be advised.
const worthRaising = 1.5

// dirtyFromProc judges by the level of dirty pages alone.
func (c *Case) dirtyFromProc(dirty, freerun float64) Verdict {
	if dirty < 0.9*freerun {
		return no("dirty pages stay below the point where pauses begin (" + bytes(freerun) + ")")
	}
	return cannotTell(fmt.Sprintf("dirty pages (%s) are where pauses begin (%s), but who is paused is not known: %s",
		bytes(dirty), bytes(freerun), c.w.WhyAbsent(sample.WaitDirtyPause)))
}

// drainRate is how fast writes are taken, in bytes a second: by the device that the victim
// waits for, or else by the one that takes most. What a loop device or a RAID takes, the
// devices below it take too, so that all of them together are no rate.
func (c *Case) drainRate() float64 {
	by, most := map[string]float64{}, 0.0
	c.w.Each(c.drainMetric(), func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 && e.Cgroup == "" && e.Device != "" && (e.Class == sample.ClassWrite || e.Class == "") {
			by[e.Device] += s.Sum()
			most = max(most, by[e.Device])
		}
	})
	if own := by[c.mainDevice()]; own > 0 {
		most = own
	}
	return most / c.w.Seconds()
}

func (c *Case) drainMetric() sample.Metric {
	if c.w.Has(sample.BlockBytes) {
		return sample.BlockBytes
	}
	return sample.DiskWriteBytes
}
