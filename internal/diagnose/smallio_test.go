package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// A buffer helps who reads a page in many calls, and not who reads pages at random,
// whatever small calls it makes beside that, as an event loop does.
func TestSmallReadsOfOnePage(t *testing.T) {
	for _, c := range []struct {
		visits float64 // pages a call
		want   Answer
	}{{0.025, Yes}, {1, No}} {
		r := sample.NewRecorder(epoch)
		e := sample.Entity{PID: 7}
		r.Put(sample.ProcReadCalls, e, 800_000, "test")
		r.Put(sample.ProcReadChars, e, 800_000*2800, "test")
		r.Put(sample.ProcUser, e, 5, "test")
		r.Put(sample.ProcSystem, e, 5, "test")
		r.Put(sample.WaitIO, e, 0, "test")
		r.Put(sample.CacheCalls, e, 500_000, "test")
		r.Put(sample.CacheAccesses, e, 500_000*c.visits, "test")
		k := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		small := tinyCalls()
		if v := small.Judge(k); v.Answer != c.want {
			t.Errorf("%g pages a call: %q (%s)", c.visits, v.Answer, v.Why)
		}
	}
}

// The calls of children that ended are counted as their parent's, their processor time
// is not: a shell whose programs write is not the one who makes small calls.
func TestSmallWritesOfChildren(t *testing.T) {
	for _, c := range []struct {
		children float64 // processor time, in seconds
		want     Answer
	}{{0, Yes}, {4, No}} {
		r := sample.NewRecorder(epoch)
		e := sample.Entity{PID: 7}
		r.Put(sample.ProcReadCalls, e, 0, "test")
		r.Put(sample.ProcWriteCalls, e, 1_300_000, "test")
		r.Put(sample.ProcWriteChars, e, 1_300_000*969, "test")
		r.Put(sample.ProcUser, e, .1, "test")
		r.Put(sample.ProcSystem, e, .5, "test")
		r.Put(sample.ProcChildren, e, c.children, "test")
		r.Put(sample.WaitIO, e, 0, "test")
		k := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		small := tinyCalls()
		if v := small.Judge(k); v.Answer != c.want {
			t.Errorf("%g s of children: %q (%s)", c.children, v.Answer, v.Why)
		}
	}
}

// Small calls that keep all processors busy are the cause, and not the number of
// processors: with larger calls nobody waits for one. Of calls for a page larger ones
// save half.
func TestSmallCallsBeforeFewProcessors(t *testing.T) {
	for size, want := range map[float64]ID{100: SmallIO, 4096: CPUSaturated} {
		r := sample.NewRecorder(epoch)
		e := sample.Entity{PID: 7}
		r.PutProcess(7, sample.Process{Comm: "small"})
		put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
		put(sample.ProcReadCalls, e, 20_000_000)
		put(sample.ProcReadChars, e, 20_000_000*size)
		put(sample.ProcUser, e, 6)
		put(sample.ProcSystem, e, 14)
		put(sample.ProcRunDelay, e, 40)
		put(sample.ProcThreads, e, 6)
		put(sample.WaitIO, e, 0)
		put(sample.CPUCount, sample.Entity{}, 2)
		put(sample.CPUUser, sample.Entity{}, 6)
		put(sample.CPUSystem, sample.Entity{}, 14)
		put(sample.CPUIdle, sample.Entity{}, 0)
		if got := Judge(r.Window(epoch.Add(10*time.Second)), Target{}); got.Primary != want {
			t.Errorf("calls of %g bytes: %s, want %s: %+v", size, got.Primary, want, got.Findings)
		}
	}
}
