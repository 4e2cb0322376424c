package diagnose

import (
	"math"
	"testing"
	"time"

	"iocause/internal/sample"
)

// recordedWindow has one program that syncs for half of ten seconds.
func recordedWindow(put func(*sample.Recorder)) *sample.Window {
	r := sample.NewRecorder(epoch)
	r.PutProcess(7, sample.Process{Comm: "store", MemoryCgroup: "/a"})
	r.Put(sample.LockWait, sample.Entity{}, 0, "test")
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "sync"}, 5, "test")
	r.Put(sample.WaitThreads, sample.Entity{PID: 7}, 1, "test")
	r.Put(sample.ProcUser, sample.Entity{PID: 7}, 1, "test")
	put(r)
	return r.Window(epoch.Add(10 * time.Second))
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name     string
		pressure []float64 // by second
		from, to float64
		steady   bool
	}{
		{"throughout", []float64{.5, .5, .5, .5, .5, .5, .5, .5, .5, .5}, 0, 10, true},
		{"in the middle", []float64{.01, .01, .01, .9, .9, .9, .01, .01, .01, .01}, 3, 6, false},
		{"at the start", []float64{.9, .9, 0, 0, 0, 0, 0, 0, 0, .1}, 0, 2, false},
		{"at the end", []float64{0, 0, 0, 0, 0, 0, 0, 0, .05, 1}, 9, 10, false},
		{"at both ends", []float64{.9, 0, 0, 0, 0, 0, 0, 0, 0, .9}, 0, 10, true},
	} {
		w := recordedWindow(func(r *sample.Recorder) {
			for n := range c.pressure { // out of order, as old recordings have bins
				i := (n + 5) % len(c.pressure)
				v := c.pressure[i]
				r.PutAt(epoch.Add(time.Duration(i+1)*time.Second), sample.PSISome, sample.Entity{Class: "io"}, v, "psi")
			}
		})
		got := Judge(w, Target{}).When
		if got == nil || got.Steady != c.steady || got.Source != "psi" || got.From < c.from-0.11 || got.From > c.from || got.To != c.to {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := Judge(recordedWindow(func(*sample.Recorder) {}), Target{}).When; got != nil {
		t.Errorf("nothing was measured at several times, and it is said to be %+v", got)
	}
}

// The bins of a device tell of all that use it: a burst of somebody else's writes is
// not when the victim waits.
func TestWhenOfADeviceThatOthersUse(t *testing.T) {
	window := func(others float64) *sample.Window {
		return recordedWindow(func(r *sample.Recorder) {
			e := sample.Entity{Device: "vda", Class: "flush"}
			r.Put(sample.BlockOps, e, 1000, "test")
			r.Put(sample.BlockDeviceTime, e, 5+others, "test")
			own := e
			own.PID = 7
			r.Put(sample.BlockOps, own, 900, "test")
			r.Put(sample.BlockDeviceTime, own, 5, "test")
			if others > 0 {
				e = sample.Entity{Device: "vda", Class: "write", PID: 8}
				r.PutProcess(8, sample.Process{Comm: "backup"})
				r.Put(sample.BlockOps, e, 100, "test")
				r.Put(sample.BlockDeviceTime, e, others, "test")
			}
			for i := range 10 {
				v := 0.01
				if i == 3 {
					v = 5
				}
				r.PutAt(epoch.Add(time.Duration(i+1)*time.Second), sample.BlockBinTime, sample.Entity{Device: "vda"}, v, "bins")
			}
		})
	}
	if got := Judge(window(0), Target{}).When; got == nil || got.Steady || got.Source != "bins" || got.From > 3 || got.To != 4 {
		t.Errorf("alone on the device: %+v", got)
	}
	if got := Judge(window(4), Target{}).When; got != nil {
		t.Errorf("beside others: %+v, want nothing", got)
	}
}

// The victim's own waiting tells better than what the machine or its device does.
func TestWhenTheVictimWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		own    map[int]float64 // seconds waited, by the second that they ended in
		target Target
		want   *When
	}{
		{"in one stretch", map[int]float64{4: .9, 5: 1, 6: 1, 7: .9, 8: 1}, Target{Comm: "store"}, &When{From: 4, To: 8, Source: "own"}},
		{"all the time", map[int]float64{1: .5, 2: .5, 3: .5, 4: .5, 5: .5, 6: .5, 7: .5, 8: .5, 9: .5, 10: .5}, Target{}, &When{To: 10, Steady: true, Source: "own"}},
		{"in two seconds far apart", map[int]float64{2: 2.4, 3: .1, 9: 2.4}, Target{Comm: "store"}, nil}, // one thread does not wait 2.4 s in one
		{"one wait of five seconds", map[int]float64{8: 5}, Target{Comm: "store"}, nil},
		{"not all of it is known", map[int]float64{4: .9, 5: 1}, Target{Comm: "store"}, nil},
		{"not all of it, and the host's pressure is", map[int]float64{4: .9, 5: 1}, Target{}, &When{From: 1, To: 4, Source: "psi"}},
	} {
		got := Judge(recordedWindow(func(r *sample.Recorder) {
			for at, v := range c.own {
				r.PutAt(epoch.Add(time.Duration(at)*time.Second), sample.WaitCourse, sample.Entity{PID: 7}, v, "own")
			}
			for i, v := range []float64{0, .9, .9, .9, 0, 0, 0, 0, 0, 0} {
				r.PutAt(epoch.Add(time.Duration(i+1)*time.Second), sample.PSISome, sample.Entity{Class: "io"}, v, "psi")
			}
		}), c.target).When
		if (got == nil) != (c.want == nil) || got != nil && (got.Steady != c.want.Steady || got.To != c.want.To || got.Source != c.want.Source ||
			got.From < c.want.From-0.11 || got.From > c.want.From) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestOperations(t *testing.T) {
	w := recordedWindow(func(r *sample.Recorder) {
		e := sample.Entity{Device: "vda", Class: "flush"}
		own := e
		own.PID = 7
		r.Put(sample.BlockOps, e, 1000, "test")
		r.Put(sample.BlockOps, own, 500, "test")
		r.Put(sample.BlockDeviceTime, e, 4, "test")
		r.Put(sample.BlockDeviceTime, own, 2, "test")
		h := sample.Histogram{Unit: "nanoseconds"}
		for range 1000 {
			h.Add(4_000_000)
		}
		r.PutHistogram(sample.HistDevice, e, h, "test")
	})
	got := Judge(w, Target{}).Operations
	if len(got) != 1 || got[0].Class != "flush" || got[0].PerSec != 100 || got[0].Mean != 0.004 || got[0].Victims != 0.5 || got[0].P99 < 0.002 || got[0].P99 > 0.0085 {
		t.Errorf("%+v", got)
	}
}

// What its own calls take is the victim's, not that of others of the class.
func TestCalls(t *testing.T) {
	w := recordedWindow(func(r *sample.Recorder) {
		r.Put(sample.BlockOps, sample.Entity{Device: "vda", Class: "flush"}, 1000, "test")
		r.Put(sample.BlockOps, sample.Entity{PID: 7, Device: "vda", Class: "flush"}, 500, "test")
		var own, others sample.Histogram
		for range 980 {
			own.Add(4_000_000)
		}
		for range 20 {
			own.Add(60_000_000)
			others.Add(1_000_000_000)
		}
		r.PutHistogram(sample.HistCalls, sample.Entity{PID: 7, Class: "sync"}, own, "test")
		r.PutHistogram(sample.HistCalls, sample.Entity{PID: 8, Class: "sync"}, others, "test")
	})
	got := Judge(w, Target{}).Calls
	if len(got) != 1 || got[0].Class != "sync" || got[0].Count != 1000 || got[0].PerSec != 100 || math.Abs(got[0].Mean-0.00512) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	if c := got[0]; c.P50 < 0.002 || c.P50 > 0.0042 || c.P99 < 0.033 || c.P99 > 0.068 {
		t.Errorf("%+v", c)
	}
}

// Of the layers of two volumes on one disk those are told that the victim's I/O went
// through, and none where the disk has no layers or nothing was followed.
func TestLayers(t *testing.T) {
	stacks := func(own map[string]float64) *sample.Window {
		return recordedWindow(func(r *sample.Recorder) {
			e := sample.Entity{PID: 7, Device: "dm-1", Class: "write"}
			r.Put(sample.BlockOps, e, 100, "test")
			r.Put(sample.BlockDeviceTime, e, 4, "test")
			for _, top := range []string{"dm-0", "dm-1"} {
				r.Put(sample.DeviceKind, sample.Entity{Device: top, Class: "dm-delay"}, 1, "test")
				r.Put(sample.DeviceOn, sample.Entity{Device: top, Class: "vda"}, 1, "test")
				if own[top] == 0 {
					continue
				}
				for device, v := range map[string][2]float64{top: {own[top] + 1, own[top]}, "vda": {1, 1}} {
					at := sample.Entity{Device: device, Class: "write " + top}
					r.Put(sample.LayerOps, at, 100, "test")
					r.Put(sample.LayerTime, at, v[0], "test")
					r.Put(sample.LayerOwnTime, at, v[1], "tp:block_bio_complete")
				}
			}
		})
	}
	got := Judge(stacks(map[string]float64{"dm-0": 9, "dm-1": 3}), Target{}).Layers
	if len(got) != 2 || got[0].Name() != "dm-1 (dm-delay)" || got[0].Each != 0.04 || got[0].Own != 0.03 || got[0].Share != 0.75 || got[0].PerSec != 10 ||
		got[1].Device != "vda" || got[1].Level != 1 || got[1].Share != 0.25 || got[1].Source != "tp:block_bio_complete" {
		t.Errorf("%+v", got)
	}
	if got := Judge(stacks(map[string]float64{"dm-0": 9}), Target{}).Layers; got != nil {
		t.Errorf("the layers of another volume: %+v", got)
	}
}

func TestHolders(t *testing.T) {
	w := recordedWindow(func(r *sample.Recorder) {
		r.PutProcess(9, sample.Process{Comm: "heap", MemoryCgroup: "/b/c"})
		r.Put(sample.MemAnon, sample.Entity{}, 8e9, "test")
		r.Put(sample.MemShmem, sample.Entity{}, 1e9, "test")
		r.Put(sample.MemCache, sample.Entity{}, 3e9, "test")
		r.Put(sample.ProcRSS, sample.Entity{PID: 9}, 7e9, "test")
		r.Put(sample.ProcRSS, sample.Entity{PID: 7}, 1e8, "test")
		r.Put(sample.CgroupMemAnon, sample.Entity{Cgroup: "/b/c"}, 7e9, "test")
		r.Put(sample.CgroupMemAnon, sample.Entity{Cgroup: "/"}, 8e9, "test")
	})
	got := newCase(w, Target{}).holders()
	if len(got) != 6 || got[0].Kind != "anonymous" || got[1].Kind != "page cache" || got[1].Bytes != 2e9 || got[3].Who.Comm != "heap" || got[5].Who.Cgroup != "/b/c" {
		t.Errorf("%+v", got)
	}
}
