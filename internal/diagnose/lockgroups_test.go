package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// Short processes that wait for each other's lock are held up, though each is there
// for a small part of the window only.
func TestShortProcessesThatWaitForLocks(t *testing.T) {
	for _, c := range []struct {
		name          string
		processes     int
		from, every   time.Duration // since boot; the window ends 100 s after it
		class         string
		lock, compute float64 // seconds, each
		want          ID
	}{
		{"scripts that take turns", 50, 91 * time.Second, 160 * time.Millisecond, sample.ClassFile, 0.8, 0.01, LockContention},
		{"they compute", 50, 91 * time.Second, 160 * time.Millisecond, sample.ClassFile, 0.01, 0.1, Healthy},
		{"they wait for little", 50, 91 * time.Second, 160 * time.Millisecond, sample.ClassFile, 0.02, 0.01, Healthy},
		{"few of them", 5, 91 * time.Second, 1600 * time.Millisecond, sample.ClassFile, 0.8, 0.01, Healthy},
		{"a pool, begun at once", 50, 10 * time.Second, 10 * time.Millisecond, sample.ClassFile, 0.8, 0.01, Healthy},
		{"threads wait for one another, as in sort", 50, 91 * time.Second, 160 * time.Millisecond, sample.ClassFutex, 0.8, 0.1, Healthy},
	} {
		r := sample.NewRecorder(epoch)
		put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
		put(sample.CPUCount, sample.Entity{}, 4)
		put(sample.CPUUser, sample.Entity{}, 5)
		put(sample.CPUIdle, sample.Entity{}, 35)
		put(sample.WaitIO, sample.Entity{PID: 7, Class: sample.ClassRead}, 0)
		for i := range c.processes {
			pid := 100 + i
			r.PutProcess(pid, sample.Process{Comm: "flock", MemoryCgroup: "/a", Start: c.from + time.Duration(i)*c.every})
			put(sample.LockWait, sample.Entity{PID: pid, Class: c.class}, c.lock)
			put(sample.LockWaits, sample.Entity{PID: pid, Class: c.class}, 1)
			put(sample.LockThreads, sample.Entity{PID: pid}, 1)
			put(sample.ProcUser, sample.Entity{PID: pid}, c.compute)
			put(sample.ProcThreads, sample.Entity{PID: pid}, 1)
		}
		got := Judge(r.Window(epoch.Add(10*time.Second)), Target{})
		if got.Primary != c.want {
			t.Errorf("%s: %s, want %s; %+v %+v", c.name, got.Primary, c.want, got.Findings, got.CannotTell)
		}
		if c.want != LockContention {
			continue
		}
		f := got.Findings[0]
		if share := f.Evidence[0].Value; share < 0.95 || f.Culprit.Comm != "flock" || f.Culprit.Processes != c.processes {
			t.Errorf("%s: %.3f of the time, %+v", c.name, share, f.Culprit)
		}
	}
}
