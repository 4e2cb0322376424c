package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// A program whose threads compute by turns is held up by its own lock, but only
// while somebody could run beside the one that does.
func TestThreadsThatComputeByTurns(t *testing.T) {
	for _, c := range []struct {
		name                                                 string
		looks, turns, rests, threads, idle, sync, nicer, own float64
		beside                                               string // the cgroup of another that computes
		want                                                 ID
	}{
		{"the lock of an interpreter", 72, 50, 2, 3, 9, 0, 0, 0, "", LockContention},
		{"one of them computes", 72, 70, 1, 1, 9, 0, 0, 0, "", CPUBound},
		{"they are independent", 72, 30, 22, 4, 9, 0, 0, 0, "", CPUBound},
		{"they are independent, by chance mostly one at a time", 72, 44, 18, 2, 9, 0, 0, 0, "", CPUBound},
		{"too few looks", 8, 8, 0, 3, 9, 0, 0, 0, "", CPUBound},
		{"no processor is idle", 72, 66, 0, 3, 0, 0, 0, 0, "", CPUBound},
		{"a program of low priority has the other one", 72, 66, 0, 3, 0, 0, 9, 0, "", LockContention},
		{"its own priority is as low", 72, 66, 0, 3, 0, 0, 9, 19, "", CPUSaturated},
		{"another of its cgroup has the other one", 72, 66, 0, 3, 0, 0, 0, 0, "/a", LockContention},
		{"one of another cgroup has the other one", 72, 66, 0, 3, 0, 0, 0, 0, "/b", CPUBound},
		{"it waits for syncs", 72, 66, 0, 3, 9, 6, 0, 0, "", SyncWrites},
	} {
		r := sample.NewRecorder(epoch)
		e := sample.Entity{PID: 7}
		r.PutProcess(7, sample.Process{Comm: "store", MemoryCgroup: "/a"})
		put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
		put(sample.LockWait, sample.Entity{}, 0)
		put(sample.WaitIO, sample.Entity{PID: 7, Class: sample.ClassSync}, c.sync)
		put(sample.WaitThreads, e, 1)
		put(sample.WaitWeighted, e, c.sync)
		put(sample.WaitAwake, e, 10+c.sync)
		put(sample.WaitWorst, e, c.sync)
		put(sample.ProcUser, e, 10)
		put(sample.ProcThreads, e, 4)
		if c.beside != "" {
			r.PutProcess(8, sample.Process{Comm: "busy", MemoryCgroup: c.beside})
			put(sample.ProcUser, sample.Entity{PID: 8}, 10)
		}
		put(sample.ProcRunDelay, e, 0.1+c.nicer)
		put(sample.CPUCount, sample.Entity{}, 2)
		put(sample.CPUNice, sample.Entity{}, c.nicer)
		if c.own > 0 {
			put(sample.ProcNice, e, c.own)
		}
		put(sample.CPUUser, sample.Entity{}, 20-c.idle)
		put(sample.CPUIdle, sample.Entity{}, c.idle)
		put(sample.ProcLooks, e, c.looks)
		put(sample.ProcLooks, sample.Entity{PID: 7, Class: sample.ClassResting}, c.rests)
		put(sample.ProcTurns, e, c.turns)
		put(sample.ProcTurnThreads, e, c.threads)
		got := Judge(r.Window(epoch.Add(10*time.Second)), Target{})
		if got.Primary != c.want {
			t.Errorf("%s: %s, want %s; %+v", c.name, got.Primary, c.want, got.Findings)
		}
		if f := got.Findings[0]; c.want == LockContention && (f.Advice[0].High < 1.5 || f.Advice[0].High > 2 || f.Culprit.PID != 7) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
