package diagnose

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// deepCase is a victim on a device whose requests take so long, in seconds, by how
// many are in flight.
func deepCase(in string, latency map[int]float64, most float64) *Case {
	return deepCaseAlone(in, latency, most, 0, 0)
}

// deepCaseAlone has some requests that had the device to themselves, which took so
// many seconds together.
func deepCaseAlone(in string, latency map[int]float64, most, alone, seconds float64) *Case {
	r := sample.NewRecorder(epoch)
	if alone > 0 {
		e := sample.Entity{Device: "vda", Class: "read 4096"}
		r.Put(sample.BlockAloneOps, e, alone, "test")
		r.Put(sample.BlockAloneTime, e, seconds, "test")
	}
	r.PutProcess(7, sample.Process{Comm: "worker"})
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: in}, 9, "test")
	r.Put(sample.BlockDeviceTime, sample.Entity{PID: 7, Device: "vda", Class: "read"}, 9, "test")
	r.Put(sample.BlockMaxFlight, sample.Entity{Device: "vda"}, most, "test")
	for depth, t := range latency {
		e := sample.Entity{Device: "vda", Class: fmt.Sprintf("read 4096 %d", depth)}
		r.Put(sample.BlockDepthOps, e, 1000, "test")
		r.Put(sample.BlockDepthTime, e, 1000*t, "test")
	}
	return newCase(r.Window(epoch.Add(10*time.Second)), Target{})
}

// Fewer or more in flight is advised only where the device was seen to do as much,
// or more, that way.
func TestDepthAdvice(t *testing.T) {
	queue := func(c *Case) []Advice { return c.queueAdvice(&deviceView{depth: 32}) }
	ahead := func(c *Case) []Advice { return c.aheadAdvice(&deviceView{depth: 1}) }
	grows := map[int]float64{1: 100e-6, 8: 110e-6, 32: 400e-6} // 10,000, 100,000 and 80,000 a second
	flat := map[int]float64{1: 100e-6, 4: 550e-6, 32: 3.2e-3}
	for _, c := range []struct {
		name    string
		from    *Case
		of      func(*Case) []Advice
		first   string
		expects string
		never   string
	}{
		{"as much with eight as with thirty-two", deepCase("async", grows, 32), queue, "keep about 12 requests in flight (now 32)", "one takes 110 us instead of 400 us", ""},
		{"less with fewer", deepCase("async", map[int]float64{1: 100e-6, 32: 130e-6}, 32), queue, "use a device with more parallelism", "with 1 about 10000 a second, with 32 about 246154", "keep about"},
		{"only one depth was seen", deepCase("async", map[int]float64{32: 1e-3}, 32), queue, "use a device with more parallelism", "base latency", "keep about"},
		{"two at a time do more", deepCase("read", map[int]float64{1: 100e-6, 2: 110e-6}, 3), ahead, "keep several requests in flight", "22727 operations a second instead of 10000", ""},
		{"two at a time do no more", deepCase("read", flat, 32), ahead, "cut the latency", "as the latency falls", "in flight"},
		{"a walk depends on what it reads", deepCase("other", map[int]float64{1: 100e-6}, 1), ahead, "different parts of the tree", "until it is saturated", "io_uring"},
		{"faults", deepCase("fault", map[int]float64{1: 100e-6}, 1), ahead, "MADV_WILLNEED", "until it is saturated", "io_uring"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.of(c.from)
			if !strings.Contains(a[0].Do, c.first) || !strings.Contains(a[0].Expect, c.expects) {
				t.Errorf("it is %+v, want %q and %q first", a, c.first, c.expects)
			}
			for _, x := range a {
				if c.never != "" && strings.Contains(x.Do, c.never) {
					t.Errorf("it says %q", x.Do)
				}
			}
		})
	}
}

// A steady crowd on a device that serves one at a time takes about as long whenever
// it comes: that is no base latency. On a device that serves all at once it is.
func TestBaseLatencyOfACrowd(t *testing.T) {
	for _, c := range []struct {
		name    string
		latency map[int]float64
		bound   bool
	}{
		{"one at a time", map[int]float64{4: 465e-6, 16: 560e-6, 32: 750e-6}, true},
		{"all at once", map[int]float64{4: 465e-6, 16: 466e-6, 32: 480e-6}, false},
		{"only one depth", map[int]float64{32: 650e-6}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := deepCase("async", c.latency, 32)
			e := sample.Entity{Device: "vda", Class: sample.ClassRead}
			h := &sample.Hist{Histogram: sample.Histogram{Unit: "nanoseconds"}, Source: "test"}
			for latency, n := range map[uint64]uint64{100e3: 20, 465e3: 180, 650e3: 800} {
				h.Counts[sample.Bucket(latency)] += n
			}
			x.w.SetHistogram(sample.HistDevice, e, h)
			d := deviceView{depth: 28, latency: 550e-6}
			base, bound, sure := x.baseLatency(&d)
			if sure || bound != c.bound {
				t.Errorf("base latency is %.3g s, a bound %v, sure %v; a bound should be %v", base, bound, sure, c.bound)
			}
			if bound && base > 150e-6 {
				t.Errorf("the bound is %.3g s, above the fastest percent", base)
			}
		})
	}
}

// A few that had the device to themselves, one of which waited for a processor, do
// not make a crowd of twenty-nine one request at a time.
func TestFewAloneInACrowd(t *testing.T) {
	for _, c := range []struct {
		name   string
		alone  float64
		counts map[uint64]uint64 // of how many nanoseconds, rounded down to a power of two
		base   float64           // seconds
	}{
		{"one of 25 was held up", 25, map[uint64]uint64{300e3: 250, 600e3: 750}, 367e-6},
		{"many were alone", 2000, map[uint64]uint64{300e3: 250, 600e3: 750}, 456e-6},
		{"all take as long", 25, map[uint64]uint64{600e3: 1000}, 456e-6},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := deepCaseAlone("async", map[int]float64{16: 640e-6, 32: 660e-6}, 32, c.alone, c.alone*456e-6)
			e := sample.Entity{Device: "vda", Class: sample.ClassRead}
			h := &sample.Hist{Histogram: sample.Histogram{Unit: "nanoseconds"}, Source: "test"}
			for latency, n := range c.counts {
				h.Counts[sample.Bucket(latency)] += n
			}
			x.w.SetHistogram(sample.HistDevice, e, h)
			d := deviceView{depth: 28, latency: 659e-6}
			base, bound, sure := x.baseLatency(&d)
			if bound || !sure || math.Abs(base/c.base-1) > 0.01 {
				t.Errorf("base latency is %.3g s, a bound %v, sure %v; want %.3g, sure", base, bound, sure, c.base)
			}
		})
	}
}

// Of a device that is known to serve one at a time, the rate says how long one takes,
// however long all of a crowd take.
func TestOneByOne(t *testing.T) {
	for kind, want := range map[string]Answer{"loop": Yes, "loop-direct": CannotTell, "": CannotTell} {
		r := sample.NewRecorder(epoch)
		r.PutProcess(7, sample.Process{Comm: "crowd"})
		r.Put(sample.DeviceKind, sample.Entity{}, 0, "test")
		if kind != "" {
			r.Put(sample.DeviceKind, sample.Entity{Device: "loop0", Class: kind}, 1, "test")
		}
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "write"}, 280, "test")
		for _, e := range []sample.Entity{{Device: "loop0", Class: "write"}, {PID: 7, Device: "loop0", Class: "write"}} {
			r.Put(sample.BlockOps, e, 426000, "test")
			r.Put(sample.BlockBytes, e, 426000*65536, "test")
			r.Put(sample.BlockQueueTime, e, 0, "test")
			r.Put(sample.BlockDeviceTime, e, 426000*659e-6, "test")
		}
		for depth, us := range map[int]float64{8: 640e-6, 16: 640e-6, 32: 660e-6} {
			e := sample.Entity{Device: "loop0", Class: fmt.Sprintf("write 65536 %d", depth)}
			r.Put(sample.BlockDepthOps, e, 142000, "test")
			r.Put(sample.BlockDepthTime, e, 142000*us, "test")
		}
		x := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		if x.device != "loop0" {
			t.Fatalf("the device is %q", x.device)
		}
		if v := deviceQueueing().Judge(x); v.Answer != want {
			t.Errorf("%q: %v (%s), want %v", kind, v.Answer, v.Why, want)
		}
		if v := deviceLatencyBound().Judge(x); kind == "loop" && v.Answer != No {
			t.Errorf("one request at a time is %v (%s)", v.Answer, v.Why)
		}
	}
}
