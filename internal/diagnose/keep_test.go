package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// byWay is the advice that begins so, nil where there is none.
func byWay(all []Advice, begins string) *Advice {
	for i := range all {
		if strings.HasPrefix(all[i].Do, begins) {
			return &all[i]
		}
	}
	return nil
}

// A program loops through a file of 80 MiB in a cgroup that may cache 100 MiB, beside
// one that brings in twice as much and uses none of it again.
func besideAnother(size float64) *Case {
	w := looping(400000)
	r := sample.NewRecorder(epoch)
	file, other := sample.FileID{Dev: 1, Ino: 2}, sample.Entity{PID: 8}
	own := sample.Entity{PID: 7, File: file}
	for _, x := range []struct {
		m sample.Metric
		e sample.Entity
		v float64
	}{
		{sample.CacheAccesses, own, 400000}, {sample.CacheMisses, own, 400000}, {sample.CacheInserted, own, 400000}, {sample.CacheReread, own, 380000},
		{sample.CacheAccesses, other, 800000}, {sample.CacheMisses, other, 800000}, {sample.CacheInserted, other, 800000},
	} {
		r.Put(x.m, x.e, x.v, "test")
	}
	for m, e := range map[sample.Metric]sample.Entity{sample.CacheAccesses: {PID: 7}, sample.CacheMisses: {PID: 7}, sample.CacheInserted: {PID: 7}, sample.CacheReread: {PID: 7}} {
		v, _ := w.Sum(m, e)
		r.Put(m, e, v, "test")
	}
	for _, m := range []sample.Metric{sample.WaitIO, sample.WaitThreads, sample.ProcUser, sample.ProcSystem, sample.CPUCount, sample.CPUUser,
		sample.CgroupRefault, sample.CgroupMemUsage, sample.CgroupMemLimit, sample.MemAvailable, sample.MemTotal} {
		w.Each(m, func(e sample.Entity, s *sample.Series) { r.Put(m, e, s.Last(), "test") })
	}
	r.PutProcess(7, sample.Process{Comm: "worker", MemoryCgroup: "/db"})
	r.PutProcess(8, sample.Process{Comm: "backup", MemoryCgroup: "/db"})
	r.PutFile(file, sample.File{Path: "/db/data", Size: int64(size)})
	return newCase(r.Window(epoch.Add(w.Length)), Target{PIDs: []int{7}})
}

// Ways to keep a file in the cache name their price, and what they save where that is
// known.
func TestWaysToKeep(t *testing.T) {
	c := besideAnother(80 << 20)
	v := c.cache()
	ways := c.keep(&v, "/db")
	if a := byWay(ways, "or keep what backup (pid 8)"); a == nil || a.Saves == nil || a.Saves.Share < 0.9 || a.Saves.Low > 0.67 || !strings.Contains(a.Expect, "price: it then reads from disk") {
		t.Errorf("%+v", a)
	}
	if a := byWay(ways, "or lock /db/data in memory"); a == nil || a.Saves == nil || math.Abs(a.Saves.Share-1) > 0.01 || a.Command != "vmtouch -dl /db/data" || !strings.Contains(a.Expect, "price: 80.0 MiB that nothing else can use: 20.0 MiB") {
		t.Errorf("%+v", a)
	}
	// what does not fit cannot be locked, and is not served without the other either
	c = besideAnother(200 << 20)
	v = c.cache()
	ways = c.keep(&v, "/db")
	if a := byWay(ways, "or lock"); a != nil {
		t.Errorf("%+v", a)
	}
	c.w.Processes[8] = sample.Process{Comm: "backup", MemoryCgroup: "/elsewhere"}
	if a := byWay(c.keep(&v, "/db"), "or keep"); a != nil {
		t.Errorf("who is in another cgroup takes nothing of this one: %+v", a)
	}
}

// What read-ahead brings in vain, a direct reader's data once it is cached, and a device
// twice as fast are told with an interval.
func TestPredictedEffects(t *testing.T) {
	c := besideAnother(80 << 20)
	v := cacheView{inserted: 1000, misses: 100, reread: 20}
	if s := c.unread(&v, 1); math.Abs(s.Share-0.9) > 1e-9 || math.Abs(s.Low-0.87) > 1e-9 || s.High < 0.93 {
		t.Errorf("%+v, want 90 %% of what is read", s)
	}
	if s := c.unread(&v, 4); s.Share != s.Low || math.Abs(s.Low-0.6) > 1e-9 || math.Abs(s.High-0.92) > 1e-9 || s.String() != "saves 60 to 92 % of what the disk reads" {
		t.Errorf("%+v %s", s, s)
	}
	d := directSet{distinct: 50 << 20, random: 60 << 20, repeats: 10000}
	if s := c.cachedOnce(&d, 100<<20); s.Share != 1 || s.Low < 0.97 {
		t.Errorf("%+v: it fits", s)
	}
	if s := c.cachedOnce(&d, 40<<20); s.Low > 0.7 {
		t.Errorf("%+v: two thirds of it fit", s)
	}
	// nine tenths of the time are pauses: twice the device is twice the rate; three
	// tenths are: no more than the rest allows
	for waits, want := range map[float64]promise{9: {1.8, 2.2, ""}, 3: {1.2, 1.6, ""}} {
		k := worker{read: waits, user: 10 - waits, threads: 1, processors: 4}
		r := sample.NewRecorder(epoch)
		k.fill(r)
		c := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		if got := c.timesFaster(2, waits, 0); math.Abs(got.low-want.low) > 0.11 || math.Abs(got.high-want.high) > 0.11 {
			t.Errorf("%g s of waiting: %+v, want about %+v", waits, got, want)
		}
	}
}
