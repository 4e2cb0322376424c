package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// forecastCase is ten seconds of a worker that has a device for itself, but for the share of
// others: so many 4 KiB reads a second, that many in flight by turns, each of which takes so
// long, in seconds, by how many there are.
func forecastCase(ops float64, depths []float64, latency map[int]float64, others float64) *Case {
	r := sample.NewRecorder(epoch)
	r.PutProcess(7, sample.Process{Comm: "worker"})
	total := 0.0
	disk := sample.Entity{Device: "vda"}
	for i := range 100 {
		r.At(epoch.Add(time.Duration(i+1) * 100 * time.Millisecond))
		d := depths[i%len(depths)]
		total += d / 10
		r.Put(sample.BlockBinOps, disk, ops/10, "test")
		r.Put(sample.BlockBinBytes, disk, ops/10*4096, "test")
		r.Put(sample.BlockBinTime, disk, d/10, "test")
	}
	all, own := sample.Entity{Device: "vda", Class: "read"}, sample.Entity{PID: 7, Device: "vda", Class: "read"}
	r.Put(sample.BlockOps, all, ops*10, "test")
	r.Put(sample.BlockOps, own, ops*10*(1-others), "test")
	r.Put(sample.BlockBytes, all, ops*10*4096, "test")
	r.Put(sample.BlockDeviceTime, all, total, "test")
	r.Put(sample.BlockDeviceTime, own, total*(1-others), "test")
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, total, "test")
	for depth, t := range latency {
		e := sample.Entity{Device: "vda", Class: fmt.Sprintf("read 4096 %d", depth)}
		r.Put(sample.BlockDepthOps, e, 1000, "test")
		r.Put(sample.BlockDepthTime, e, 1000*t, "test")
	}
	r.Put(sample.BlockMaxFlight, disk, 16, "test")
	return newCase(r.Window(epoch.Add(10*time.Second)), Target{})
}

// Advice about a device says what it would do then, and what that is for who has it for
// himself.
func TestAdviceForecasts(t *testing.T) {
	capped := func(others float64) *Case {
		return forecastCase(2000, []float64{4, 16}, map[int]float64{1: 100e-6, 8: 5e-3}, others)
	}
	one := forecastCase(5000, []float64{1}, map[int]float64{1: 200e-6}, 0)
	for _, c := range []struct {
		name      string
		all       []Advice
		at        int
		expect    string
		low, high float64
	}{
		{"a higher limit", capped(0).limitAdvice("raise it", "2000 a second", "or larger ones"), 0, "with a limit twice as high about 4000 operations a second (4000 to 4000) in place of 2000: at most 2.2x as fast", 0, 2.2},
		{"larger requests at a limit", capped(0).limitAdvice("raise it", "2000 a second", "or larger ones"), 1, "with requests four times as large about 31.2 MiB/s (7.8 MiB/s to 31.2 MiB/s) in place of 7.8 MiB/s: at most 4.0x as fast", 0, 4},
		{"larger requests of several", capped(0.5).limitAdvice("raise it", "2000 a second", "or larger ones"), 1, "(7.8 MiB/s to 31.2 MiB/s) in place of 7.8 MiB/s", 0, 0},
		{"more in flight", one.aheadAdvice(&deviceView{depth: 1}), 0, "with twice as many in flight about 10000 operations a second (5000 to 10000) in place of 5000: at most 2.0x as fast", 0, 2},
		{"half the latency", one.aheadAdvice(&deviceView{depth: 1}), 1, "with a device twice as fast about", 0, 0},
	} {
		a := c.all[c.at]
		if !strings.Contains(a.Expect, c.expect) || c.high > 0 && (a.Low != c.low || a.High != c.high) {
			t.Errorf("%s: %+v, want %q and %v to %v", c.name, a, c.expect, c.low, c.high)
		}
	}
	if text, gain := forecastCase(1, []float64{1}, nil, 0).after(figure.OfCrowd, 2); text != "" || gain != (promise{}) {
		t.Errorf("of ten requests: %q, %+v", text, gain)
	}
}
