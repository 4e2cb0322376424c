package diagnose

import "iocause/internal/sample"

// coldCache: the data is read for the first time since it could have been
// cached, or since somebody dropped it. Told from cache-busting by refaults, not
// by the hit ratio.
func coldCache() Cause {
	return Cause{
		ID: ColdCache, Title: "data is read for the first time: the cache is cold",
		Needs: [][]sample.Metric{{sample.CacheMisses, sample.ProcReadBytes}, {sample.CacheReread, sample.VMRefaultFile}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			v, refused := c.missedReads()
			if refused != nil {
				return *refused
			}
			if c.untold() {
				return c.toldCache(&v, ColdCache)
			}
			if v.refault >= refaultLimit {
				return no(percent(v.refault) + " of the pages read had been in the cache before and were evicted")
			}
			if r := c.reading(); r.byMetadata() && c.w.Has(sample.WaitFor) {
				return no("it waits for inodes and directories (" + percent(c.part(r.metadata)) + " of its waiting), not for data of files")
			}
			out := Verdict{
				Answer: Yes, Confidence: confidence(1-v.refault/refaultLimit, c.exact()),
				Weight: c.readWeight(&v), Culprit: c.culprit(), Evidence: c.cacheEvidence(&v),
				Disprove: "pages that are read again after an eviction (refaults), or a slow device when the same reads are repeated",
				Advice: []Advice{c.promise(c.servedFromMemory(&v, 1)).advise(
					"let it warm up, or read the files ahead of use (vmtouch -t, cat FILE >/dev/null) after a start or reboot",
					"reads of data that is in the cache do not wait for the device")},
			}
			if d, found := c.dropped(&v); found {
				out.Evidence = append(out.Evidence, c.figure("of its files dropped on request", d.pages*pageSize/c.w.Seconds(), "bytes/s", sample.CacheDropped).as("dropped-on-request"))
				out.Advice[0].Do = d.leave()
			}
			if size, room := c.filesFromDisk(), c.room(); size > 0 && room.known {
				if size <= fitsShare*room.bytes {
					out.Advice[0].Expect += "; the files read (" + bytes(size) + ") fit into " + room.String()
				} else {
					out.Advice = append(out.Advice, Advice{
						Do:     "expect the next pass to miss again: the files read (" + bytes(size) + ") exceed " + room.String(),
						Expect: "from the second pass on the cause is cache-busting or cgroup-cache-limit",
					})
				}
			}
			return out
		},
	}
}
