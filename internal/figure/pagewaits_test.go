package figure

import (
	"math"
	"testing"

	"iocause/internal/sample"
)

// One process reads through the page cache what a daemon has, and asks for most of it
// itself, and from a disk; one reads a daemon's file directly beside it, for which the
// first sum is too small; and of one no stack told anything.
func TestPageWaits(t *testing.T) {
	charge := func(r *sample.Recorder, pid int, dev uint32, seconds float64) {
		r.Put(sample.CacheWait, sample.Entity{PID: pid, File: sample.FileID{Dev: dev, Ino: 7}}, seconds, "test")
	}
	const daemon, disk = 51, 254 << 20
	fill := func(r *sample.Recorder) {
		charge(r, 1, daemon, 1.2)
		charge(r, 1, disk, 5)
		charge(r, 2, daemon, 0.3)
		charge(r, 3, disk, 4)
	}
	alone := window(fill)
	got := PageWaits(alone, func(pid int) bool { return pid == 1 })
	if len(got) != 2 || got[Waiter{1, "0:51"}] != 1.2 || got[Waiter{1, "254:0"}] != 5 {
		t.Errorf("where no stack tells what is waited for: %v", got)
	}
	w := window(func(r *sample.Recorder) {
		fill(r)
		for pid, answers := range map[int]float64{1: 1, 2: 2} {
			r.Put(sample.MountWait, sample.Entity{PID: pid, Device: "0:51"}, answers, "test")
			r.Put(sample.WaitFor, sample.Entity{PID: pid, Class: sample.ClassFUSE}, answers, "test")
		}
		r.Put(sample.WaitFor, sample.Entity{PID: 1, Class: sample.ClassPage}, 5.2, "test")
		r.Put(sample.WaitFor, sample.Entity{PID: 2, Class: sample.ClassPage}, 0.25, "test")
	})
	for k, want := range map[Waiter]float64{{1, "0:51"}: 0.2, {1, "254:0"}: 5, {2, "0:51"}: 0.25, {3, "254:0"}: 0} {
		if got := PageWaits(w, func(int) bool { return true })[k]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v waits %g s for pages, want %g", k, got, want)
		}
	}
}
