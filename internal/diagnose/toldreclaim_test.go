package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// What top shows of kswapd: it spins for want of memory, and says so the surer where
// there is no swap; one that rests is no cause.
func TestToldReclaim(t *testing.T) {
	window := func(used float64, swap float64) *sample.Window {
		start := time.Unix(1700000000, 0)
		r := sample.NewRecorder(start)
		r.At(start.Add(2 * time.Second))
		r.Put(sample.ProcSystem, sample.Entity{PID: 57}, 2*used, "top")
		r.PutProcess(57, sample.Process{Comm: "kswapd0", Kernel: true})
		r.Put(sample.MemAvailable, sample.Entity{}, 20<<20, "top")
		r.Put(sample.SwapTotal, sample.Entity{}, swap, "top")
		w := r.Window(start.Add(2 * time.Second))
		w.Told = true
		return w
	}
	for _, c := range []struct {
		used, swap float64
		yes        bool
		confidence float64
		says       string
	}{
		{0.98, 0, true, 0.60, "without swap only pages of files"},
		{0.98, 8 << 30, true, 0.50, "use less memory"},
		{0.30, 0, false, 0, "kswapd uses 30 % of a processor"},
	} {
		v := newCase(window(c.used, c.swap), Target{}).toldReclaim()
		said := v.Why
		for _, a := range v.Advice {
			said += a.Do + a.Expect
		}
		if (v.Answer == Yes) != c.yes || v.Confidence != c.confidence || !strings.Contains(said, c.says) {
			t.Errorf("%g of a processor, %g bytes of swap: %+v", c.used, c.swap, v)
		}
	}
}
