package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// Shares of bytes read with O_DIRECT that had been read before in the window.
const (
	directAgainLimit = 0.20 // from here on the cache would have served them
	directAgainDoubt = 0.08 // below it would not
)

// directIO: data that would fit the cache is read past it.
func directIO() Cause {
	return Cause{
		ID: "direct-io", Title: "the same data is read again and again past the cache (O_DIRECT)",
		Needs: [][]sample.Metric{{sample.BlockDirect}, {sample.MemAvailable}},
		Over:  append(deviceCauses(), "cold-cache"),
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.BlockDirect) {
				return cannotTell(c.w.WhyAbsent(sample.BlockDirect))
			}
			if !c.suffers() {
				return no("nobody waits for I/O long enough to matter")
			}
			direct, again := c.of(sample.BlockDirect), c.of(sample.BlockDirectAgn)
			cached := (c.of(sample.CacheCold) + c.of(sample.CacheColdMapped)) * pageSize
			if direct == 0 {
				return no("the victim reads nothing with O_DIRECT")
			}
			if direct < cached {
				return no("the victim reads mostly through the cache")
			}
			share, distinct := again/direct, direct-again
			if share < directAgainDoubt {
				return no(fmt.Sprintf("only %s of the bytes read with O_DIRECT were read before in this window", percent(share)))
			}
			if share < directAgainLimit {
				return cannotTell(fmt.Sprintf("%s of the bytes read with O_DIRECT were read before: observe longer to see the whole set", percent(share)))
			}
			avail, ok := c.gauge(sample.MemAvailable)
			if !ok {
				return cannotTell(c.w.WhyAbsent(sample.MemAvailable))
			}
			if distinct > avail {
				return no(fmt.Sprintf("the %s read do not fit into the %s available", bytes(distinct), bytes(avail)))
			}
			s, v := c.w.Seconds(), c.cache()
			return Verdict{
				Answer: Yes, Confidence: confidence((share-directAgainLimit)/(1-directAgainLimit)+0.2, true),
				Weight: share * c.directWeight(&v), Culprit: c.culprit(),
				Evidence: []Evidence{
					c.figure("read with O_DIRECT", direct/s, "bytes/s", sample.BlockDirect),
					c.figure("of that read before in this window", share, "ratio", sample.BlockDirectAgn),
					c.figure("distinct data read", distinct, "bytes", sample.BlockDirect),
					c.figure("memory available", avail, "bytes", sample.MemAvailable),
					c.figure("requests in flight", c.victim.outstanding, "count", sample.BlockDeviceTime),
				},
				Disprove: "a set of offsets that keeps growing, so that no block is read twice",
				Advice: []Advice{c.promise(c.cachedInstead(&v)).advise(
					"read through the page cache (without O_DIRECT), or give the program a cache of its own of at least "+bytes(distinct),
					"once all of it has been read, reads are served from memory")},
			}
		},
	}
}

// cachedInstead is what goes away when all that is read past the cache is found
// in it.
func (c *Case) cachedInstead(v *cacheView) removal {
	r := removal{kernel: true, copies: c.of(sample.BlockDirect)}
	if c.neverBlocks() {
		r.sure = c.inFlight()
		return r
	}
	r.sure = c.directWeight(v) * c.waiting()
	r.maybe = c.victim.waitIO() - r.sure
	return r
}
