package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// writebackInterference: the kernel writes dirty pages out, and the victim's
// requests wait behind that.
func writebackInterference() Cause {
	return Cause{
		ID: WritebackInterference, Title: "writeback of dirty pages keeps the device busy",
		Needs: [][]sample.Metric{{sample.BlockDeviceTime}, {sample.WritebackBytes}, {sample.BlockDepthOps}},
		Over:  append(deviceCauses(), ColdCache, MetadataBound, CacheBusting, DirectIO, SyncWrites, NoisyNeighbour),
		Judge: func(c *Case) Verdict {
			s := c.shared()
			switch {
			case s.missing:
				return cannotTell(s.why)
			case s.why != "":
				return no(s.why)
			case !c.w.Has(sample.WritebackBytes):
				return cannotTell(c.w.WhyAbsent(sample.WritebackBytes))
			case s.discards.time >= s.others.time/2:
				return no("most of what others have in flight are discards")
			case s.flusher.ops == 0:
				return no("no dirty pages are written back to " + c.device)
			case s.flusher.part(&s.others) <= s.rivals.part(&s.others):
				return no(fmt.Sprintf("only %s of the request time of others is the kernel's writeback on %s",
					percent(s.flusher.time/max(s.others.time, 1e-9)), c.device))
			}
			seconds := c.w.Seconds()
			flushed, _ := c.w.Sum(sample.WritebackBytes, sample.Entity{Device: c.device})
			e := append(c.sharingEvidence(&s),
				c.figure("of the others', writeback", s.flusher.time/s.others.time, "ratio", sample.BlockDeviceTime),
				c.figure("written back to "+c.device, flushed/seconds, "bytes/s", sample.WritebackBytes).as("written-back"))
			if bg, ok := c.gauge(sample.VMDirtyBg); ok {
				e = append(e, c.figure("writeback begins at", bg, "bytes", sample.VMDirtyBg))
			}
			k := c.dirtier()
			if c.syncs() && k.PID != 0 && (k.PID == c.victim.pid || c.sameProgram(k.PID)) {
				return no("what is written back is the victim's own: its syncs wait for that")
			}
			if k.PID != 0 {
				e = append(e, c.figure("pages made dirty by the culprit", c.sumOf(sample.CacheDirtied, k.PID)/seconds, "pages/s", sample.CacheDirtied))
			}
			conf := confidence((s.latency/s.base-queueingRatio)/3+0.2, true)
			if s.bound {
				conf *= 0.9
			}
			weight := c.blamed(&s) * s.flusher.part(&s.others)
			return Verdict{
				Answer: Yes, Confidence: conf, Weight: weight, Culprit: k, Evidence: e,
				Disprove: "the victim's requests take as long while nothing is written back",
				Advice: []Advice{c.promise(c.without(weight)).advise(
					fmt.Sprintf("make the writer write less or more slowly (now %s/s reach the device), or bypass the cache at a steady rate (sync_file_range, O_DIRECT)",
						bytes(flushed/seconds)),
					fmt.Sprintf("requests of the victim fall from %s towards %s", duration(s.latency), duration(s.base)),
				), {
					Do:     fmt.Sprintf("or throttle writeback: a lower /sys/block/%s/queue/wbt_lat_usec, or an I/O scheduler that prefers reads (mq-deadline, bfq)", c.device),
					Expect: "fewer writes are in flight when a read comes; the flush takes longer",
				}},
			}
		},
	}
}

// dirtier is the process that made most pages dirty of the files that were
// written back to the victim's device, and of these its busiest file.
func (c *Case) dirtier() Culprit {
	by, files := map[int]float64{}, map[int]map[string]float64{}
	c.w.Each(sample.CacheDirtied, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 || e.File == (sample.FileID{}) || c.w.Processes[e.PID].Kernel {
			return
		}
		if _, ok := c.w.Sum(sample.WritebackBytes, sample.Entity{Device: c.device, File: e.File}); !ok {
			return
		}
		by[e.PID] += s.Sum()
		if files[e.PID] == nil {
			files[e.PID] = map[string]float64{}
		}
		files[e.PID][c.w.Files[e.File].Path] += s.Sum()
	})
	k := Culprit{Device: c.device}
	most := 0.0
	for pid, n := range by {
		if n > most || n == most && pid < k.PID {
			k.PID, most = pid, n
		}
	}
	if k.PID != 0 {
		p := c.w.Processes[k.PID]
		k.Comm, k.Cgroup, k.File = p.Comm, p.MemoryCgroup, largest(files[k.PID])
		return k
	}
	// who made them dirty did so before: the file is known all the same
	paths := map[string]float64{}
	c.w.Each(sample.WritebackBytes, func(e sample.Entity, s *sample.Series) {
		if e.Device == c.device && c.w.Files[e.File].Path != "" {
			paths[c.w.Files[e.File].Path] += s.Sum()
		}
	})
	k.File = largest(paths)
	return k
}

// sumOf is a counter of one process's over the window.
func (c *Case) sumOf(m sample.Metric, pid int) float64 {
	v, _ := c.w.Sum(m, sample.Entity{PID: pid})
	return v
}
