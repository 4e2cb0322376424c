package diagnose

import (
	"cmp"
	"slices"

	"iocause/internal/sample"
)

// Operation is what one kind of request to the victim's device took, the queue
// before the device included. Quantiles are of all programs' requests; they come
// from bins that double in width, queue and device added.
type Operation struct {
	Device  string  `json:"device"`
	Class   string  `json:"class"` // read, write, flush
	PerSec  float64 `json:"per_second"`
	Mean    float64 `json:"mean"` // seconds
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Victims float64 `json:"victims"` // of them, the share that the victim itself sent, 0 to 1
	Source  string  `json:"source"`
}

// operations are the kinds of request to the victim's device, the most time first.
func (c *Case) operations() []Operation {
	s := c.w.Seconds()
	if c.device == "" || s <= 0 || c.w.Told {
		return nil
	}
	var out []Operation
	for _, class := range []string{sample.ClassRead, sample.ClassWrite, sample.ClassFlush} {
		e := sample.Entity{Device: c.device, Class: class}
		n, ok := c.w.Sum(sample.BlockOps, e)
		if !ok || n == 0 {
			continue
		}
		queue, _ := c.w.Sum(sample.BlockQueueTime, e)
		device, _ := c.w.Sum(sample.BlockDeviceTime, e)
		own, _ := c.w.Sum(sample.BlockOps, sample.Entity{PID: c.victim.pid, Device: c.device, Class: class})
		o := Operation{Device: c.device, Class: class, PerSec: n / s, Mean: (queue + device) / n, Victims: clamp01(own / n),
			Source: c.w.Get(sample.BlockOps, e).Source}
		h := c.w.Histogram(sample.HistDevice, e)
		if h == nil || h.N() == 0 {
			continue
		}
		o.P50, o.P99 = h.Quantile(0.5)/1e9, h.Quantile(0.99)/1e9
		if q := c.w.Histogram(sample.HistQueue, e); q != nil {
			// both are not of the same request: the sum bounds the 99th from above
			o.P50 += q.Quantile(0.5) / 1e9
			o.P99 += q.Quantile(0.99) / 1e9
		}
		out = append(out, o)
	}
	slices.SortStableFunc(out, func(a, b Operation) int { return cmp.Compare(b.PerSec*b.Mean, a.PerSec*a.Mean) })
	return out
}
