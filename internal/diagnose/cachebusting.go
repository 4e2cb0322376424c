package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// cacheBusting: what is read again and again is larger than what can be
// cached.
func cacheBusting() Cause {
	return Cause{
		ID: "cache-busting", Title: "the data set is larger than the memory that can cache it",
		Needs: [][]sample.Metric{{sample.CacheCold, sample.ProcReadBytes}, {sample.CacheReread, sample.VMRefaultFile}},
		Over:  append(deviceCauses(), "cold-cache", "reclaim-stall"),
		Judge: func(c *Case) Verdict {
			v := c.cache()
			if !v.known {
				return cannotTell(v.why)
			}
			if why := c.readsMatter(&v); why != "" {
				return no(why)
			}
			if c.untold() {
				return c.toldCache(&v, "cache-busting")
			}
			if v.refault < refaultLimit {
				return no(fmt.Sprintf("only %s of the pages read had been evicted before: most are first reads", percent(v.refault)))
			}
			if cg, _, limit, ok := c.memoryLimit(); ok {
				return no(fmt.Sprintf("not the host's memory but the limit of cgroup %q (%s) keeps the cache small", cg, bytes(limit)))
			}
			out := Verdict{
				Answer: Yes, Confidence: confidence((v.refault-refaultLimit)/(1-refaultLimit)+0.3, c.exact()),
				Weight: c.readWeight(&v), Culprit: c.culprit(), Evidence: c.cacheEvidence(&v),
				Disprove: "refaults that stop while the same data is read on",
				Advice:   c.memoryAdvice(&v),
			}
			if cached, ok := c.gauge(sample.MemCache); ok {
				out.Evidence = append(out.Evidence, c.figure("page cache", cached, "bytes", sample.MemCache))
			}
			if avail, ok := c.gauge(sample.MemAvailable); ok {
				out.Evidence = append(out.Evidence, c.figure("memory available", avail, "bytes", sample.MemAvailable))
			}
			return out
		},
	}
}

// memoryAdvice says how much memory the re-read files need.
func (c *Case) memoryAdvice(v *cacheView) []Advice {
	gain := c.promise(c.servedFromMemory(v, v.refault))
	cached, _ := c.gauge(sample.MemCache)
	set := c.rereadSet(v, cached)
	if set == 0 {
		return []Advice{gain.advise("give the cache more memory, or read the data in fewer passes or smaller parts",
			"once what is re-read fits, its reads stop waiting")}
	}
	more := "add memory (or move other uses away) until what is re-read, " + bytes(set) + ", fits into the cache"
	if cached > 0 && set > cached {
		more += fmt.Sprintf(": about %s more than the %s cached now", bytes(set-cached), bytes(cached))
	}
	return []Advice{
		gain.advise(more, "reads are then served from memory"),
		{Do: "or work through the data in parts that fit, instead of passing over all of it several times",
			Expect: "each part is read from disk once"},
	}
}
