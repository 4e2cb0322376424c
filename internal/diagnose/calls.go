package diagnose

import "iocause/internal/sample"

// CallTime is what one kind of the victim's own calls took, of those that waited:
// from the first wait in a call to the end of its last. Quantiles come from bins
// that double in width.
type CallTime struct {
	Class  string  `json:"class"` // sync (fsync and its kin, writes with O_SYNC), read
	Count  uint64  `json:"count"` // of the calls that ended in the window
	PerSec float64 `json:"per_second"`
	Mean   float64 `json:"mean"` // seconds
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Source string  `json:"source"`
}

// calls are the kinds of the victim's calls that waited.
func (c *Case) calls() []CallTime {
	s := c.w.Seconds()
	if c.victim.pid == 0 || s <= 0 || c.w.Told {
		return nil
	}
	var out []CallTime
	for _, class := range []string{sample.ClassSync, sample.ClassRead} {
		h := c.w.Histogram(sample.HistCalls, sample.Entity{PID: c.victim.pid, Class: class})
		if h == nil || h.N() == 0 {
			continue
		}
		n := h.N()
		out = append(out, CallTime{Class: class, Count: n, PerSec: float64(n) / s, Mean: h.Sum / 1e9 / float64(n),
			P50: h.Quantile(0.5) / 1e9, P99: h.Quantile(0.99) / 1e9, Source: h.Source})
	}
	return out
}
