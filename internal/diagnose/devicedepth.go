package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// What the device does with more or fewer requests in flight, from how long they
// took by how many were there when they came (block.depth_ops). By Little's law as
// many as are in flight complete in the time that one takes.

// sameRate is by what part rates may differ and be the same to anybody who reads
// them: two windows of the same load differ by as much.
const sameRate = 0.10

// depthRates are those of the victim's device.
func (c *Case) depthRates() []figure.DepthRate { return figure.DepthRates(c.w, c.device) }

// grows tells that the device does more with more in flight: that the rate rises at
// least half as fast as the depth does, between the two highest depths. One that
// comes at a lower depth may be the first of a batch, and shares all of its time.
func grows(rates []figure.DepthRate) bool {
	if len(rates) < 2 {
		return false
	}
	few, many := rates[len(rates)-2], rates[len(rates)-1]
	return many.Ops/few.Ops-1 >= 0.5*(many.Depth/few.Depth-1)
}

// queueAdvice is what to do about a queue at the device: fewer in flight where the
// device was seen to do as much with fewer. That helps who waits for one request,
// and takes nothing from who counts them.
func (c *Case) queueAdvice(d *deviceView) []Advice {
	more := Advice{
		Do:     "use a device with more parallelism, or send this one less (cache, larger blocks), if throughput is what is missing",
		Expect: "more requests are served at the base latency",
	}
	rates := c.depthRates()
	if c.oneByOne(c.device) {
		more.Do = "attach the loop device with direct I/O (losetup --direct-io=on), so that the disk below gets several requests at a time, or " + more.Do
		return []Advice{more}
	}
	text, gain := c.after(figure.OfDevice, 2)
	if len(rates) < 2 {
		return []Advice{more.giving(text, gain)}
	}
	now := rates[len(rates)-1]
	for _, r := range rates[:len(rates)-1] {
		if r.Ops >= (1-sameRate)*now.Ops {
			more.Do = "or " + more.Do
			return []Advice{{
				Do: fmt.Sprintf("if latency matters, keep about %.0f requests in flight (now %.0f): lower the queue depth or the number of workers",
					r.Depth, d.depth),
				Expect: fmt.Sprintf("one takes %s instead of %s; more in flight do not raise the rate (about %.0f and %.0f a second)",
					duration(r.Latency), duration(now.Latency), r.Ops, now.Ops),
			}, more.giving(text, gain)}
		}
	}
	more.Expect += fmt.Sprintf("; fewer in flight would lower the rate: with %.0f about %.0f a second, with %.0f about %.0f",
		rates[0].Depth, rates[0].Ops, now.Depth, now.Ops)
	return []Advice{more.giving(text, gain)}
}

// aheadAdvice is what to do where requests come one by one: more in flight, where
// the program can know what it will read next. What walks a directory tree learns
// that only from what it reads.
func (c *Case) aheadAdvice(d *deviceView) []Advice {
	v := &c.victim
	latency := Advice{
		Do:     "cut the latency: local NVMe instead of network storage, or serve the reads from memory",
		Expect: "the rate grows as the latency falls",
	}
	latency = latency.giving(c.after(figure.OfDevice, 2))
	ahead := Advice{
		Do:     "keep several requests in flight: more threads, asynchronous I/O (io_uring), or read-ahead",
		Expect: "the device serves them in parallel until it is saturated",
	}
	switch largest(v.wait) {
	case sample.ClassOther: // stat, getdents, open: each tells which comes next
		ahead.Do = "let several threads or processes walk different parts of the tree: within one walk each request depends on the previous one"
	case sample.ClassFault:
		ahead.Do = "prefetch the mapping (madvise(MADV_WILLNEED), MAP_POPULATE), or touch it with several threads"
	case sample.ClassSync:
		ahead.Do = "let several commits share a flush (group commit), or commit in several threads at once"
	}
	if rates := c.depthRates(); len(rates) > 1 && rates[0].Depth == 1 && !c.w.Told {
		one, two := rates[0], rates[1]
		if two.Ops < (1+sameRate)*one.Ops {
			return []Advice{latency} // more in flight was seen to give nothing
		}
		ahead.Expect = fmt.Sprintf("with %.0f in flight this device did about %.0f operations a second instead of %.0f",
			two.Depth, two.Ops, one.Ops)
	}
	if largest(v.wait) != sample.ClassOther {
		ahead = ahead.giving(c.after(figure.OfCrowd, 2))
	}
	latency.Do = "or " + latency.Do
	return []Advice{ahead, latency}
}
