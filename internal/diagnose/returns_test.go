package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// A window of ten seconds in a cgroup that may cache 100 MiB: a program loops through
// 140 MiB, so that each page comes back from 40 MiB away.
func looping(horizon float64) *sample.Window {
	return loop(horizon).Window(epoch.Add(10 * time.Second))
}

// loop is what is recorded of it.
func loop(horizon float64) *sample.Recorder {
	const (
		away  = 40 << 20 / pageSize
		read  = 400000 // pages
		limit = 100 << 20
	)
	r := sample.NewRecorder(epoch)
	e := sample.Entity{PID: 7}
	k := worker{read: 9, system: 0.5, user: 0.5, threads: 1, processors: 4}
	k.fill(r)
	r.PutProcess(7, sample.Process{Comm: "worker", MemoryCgroup: "/db"})
	for _, x := range []struct {
		m sample.Metric
		e sample.Entity
		v float64
	}{
		{sample.CacheAccesses, e, read}, {sample.CacheMisses, e, read}, {sample.CacheInserted, e, read},
		{sample.CacheInserted, sample.Entity{}, read}, {sample.CacheReread, e, read - away},
		{sample.CgroupRefault, sample.Entity{Cgroup: "/db"}, read},
		{sample.CgroupMemUsage, sample.Entity{Cgroup: "/db"}, limit}, {sample.CgroupMemLimit, sample.Entity{Cgroup: "/db", Class: "max"}, limit},
		{sample.MemAvailable, sample.Entity{}, 8 << 30}, {sample.MemTotal, sample.Entity{}, 16 << 30},
		{sample.RefaultPages, sample.Entity{PID: 7, Cgroup: "/db", Class: sample.Distance{Low: away - 100, High: away + 100}.String()}, read - away},
		{sample.RefaultEvicted, sample.Entity{Cgroup: "/db"}, read},
	} {
		r.Put(x.m, x.e, x.v, "test")
	}
	r.Put(sample.RefaultHorizon, sample.Entity{Cgroup: "/db"}, horizon, "test")
	return r
}

// What is seen to come back says how far to raise a limit, and what that saves.
func TestSavesOfALimit(t *testing.T) {
	report := Judge(looping(400000), Target{})
	if report.Primary != CgroupCacheLimit {
		t.Fatalf("%s, %+v", report.Primary, report.CannotTell)
	}
	a := report.Findings[0].Advice[0]
	checkPromise(t, CgroupCacheLimit, &a)
	s := a.Saves
	if s == nil || math.Abs(s.Memory-headroom*(40<<20)) > 0.03*(40<<20) || s.Share < 0.97 || s.Low < 0.95 || s.High < s.Share {
		t.Fatalf("%+v, want about 44 MiB more to save all", s)
	}
	if a.Low < 1.5 || !strings.Contains(a.Do, "from 100 MiB to about 14") || !strings.HasPrefix(a.Expect, "saves ") {
		t.Errorf("%q, %q", a.Do, a.Expect)
	}
	// who has looked for less than it takes to come back says nothing of it
	if a := Judge(looping(10000), Target{}).Findings[0].Advice[0]; a.Saves != nil || !strings.Contains(a.Expect, "what it saves of the disk reads is not known: most of what came back had been evicted before") {
		t.Errorf("%+v", a)
	}
}

// Who else holds memory of the limit is named, if it is a good part of that, and what
// the files would gain by it.
func TestWhoHoldsTheLimit(t *testing.T) {
	for _, c := range []struct {
		held        float64 // MiB
		comm, group string
		named       bool
	}{
		{50, "hog", "/db", true},
		{50, "hog", "/db/below", true},
		{10, "hog", "/db", false},
		{50, "hog", "/other", false},
		{50, "worker", "/db", false}, // the victim's own program
	} {
		r := loop(400000)
		r.PutProcess(8, sample.Process{Comm: c.comm, MemoryCgroup: c.group})
		r.Put(sample.ProcRSS, sample.Entity{PID: 8}, c.held*(1<<20), "test")
		r.Put(sample.CgroupMemAnon, sample.Entity{Cgroup: "/db"}, c.held*(1<<20), "test")
		report := Judge(r.Window(epoch.Add(10*time.Second)), Target{})
		if report.Primary != CgroupCacheLimit {
			t.Fatalf("%+v: %s", c, report.Primary)
		}
		i := slices.IndexFunc(report.Findings[0].Advice, func(a Advice) bool { return strings.Contains(a.Do, "hog (pid 8)") })
		if i >= 0 != c.named {
			t.Errorf("%+v: %+v", c, report.Findings[0].Advice)
		}
		if i < 0 {
			continue
		}
		a := report.Findings[0].Advice[i]
		checkPromise(t, CgroupCacheLimit, &a)
		if s := a.Saves; s == nil || s.Memory != c.held*(1<<20) || s.Share < 0.97 {
			t.Errorf("%+v: it saves %+v, want all", c, s)
		}
	}
}
