package verify

import (
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

// seen is a window of ten seconds in which a program reads so many pages and waits
// so long for what comes from disk, twice over: it was evicted before.
func seen(pages, waited float64, evicted bool) *Seen {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	r := sample.NewRecorder(start)
	e := sample.Entity{PID: 7}
	r.PutProcess(7, sample.Process{Comm: "db"})
	r.PutProcess(8, sample.Process{Comm: "other"})
	r.Put(sample.CacheAccesses, e, pages, "test")
	r.Put(sample.CacheAccesses, sample.Entity{PID: 8}, 1e6, "test")
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, waited, "test")
	if evicted {
		r.Put(sample.CacheMisses, e, pages/2, "test")
	}
	w := r.Window(start.Add(10 * time.Second))
	report := &diagnose.Report{Primary: diagnose.Healthy, Title: "nothing holds I/O up", Window: diagnose.Interval{Start: start, Seconds: 10}}
	if evicted {
		report.Primary = diagnose.CgroupCacheLimit
		report.Victim = diagnose.Culprit{PID: 7, Comm: "db"}
		report.VictimWaits = &diagnose.Waiter{Share: waited / 10, In: []diagnose.WaitIn{{What: "read", Seconds: waited}}}
		report.Findings = []diagnose.Finding{{Cause: diagnose.CgroupCacheLimit, Answer: diagnose.Yes,
			Advice: []diagnose.Advice{{Do: "raise the limit", Expect: "at least twice as fast", Low: 2}}}}
	}
	return &Seen{Window: w, Report: report}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  *Seen
		result Result
		factor float64
		held   bool
		notes  int
	}{
		{"fixed", seen(3000, 0.2, false), Helped, 3, true, 0},
		{"fixed, by less than was promised", seen(1500, 0.2, false), Helped, 1.5, false, 0},
		{"better, and still there", seen(2500, 5, true), InPart, 2.5, true, 0},
		{"as before", seen(1000, 8, true), Unchanged, 1, false, 0},
		{"worse", seen(500, 9.5, true), Worse, 0.5, false, 0},
		{"nothing to do any more", seen(100, 0, false), Unknown, 0.1, false, 1},
		{"gone, and no faster", seen(1050, 0, false), Gone, 1.05, false, 0},
		{"less, and no longer waits", seen(500, 8, true), Unknown, 0.5, false, 1},
	} {
		o := Compare(seen(1000, 8, true), c.after)
		if o.Result != c.result || o.Factor == nil || *o.Factor != c.factor || o.Held == nil || *o.Held != c.held || len(o.Notes) != c.notes {
			t.Errorf("%s: %+v, factor %v, held %v, notes %q", c.name, o.Result, *o.Factor, *o.Held, o.Notes)
		}
		if o.Before.Work.PerSecond != 1000*4096/10 {
			t.Errorf("%s: %g bytes/s before, want those of db alone", c.name, o.Before.Work.PerSecond)
		}
	}
}

// A finding that names nobody cannot be looked at again.
func TestTarget(t *testing.T) {
	if _, err := Target(seen(1, 0, false).Report); err == nil {
		t.Error("a healthy time has a target")
	}
	if got, err := Target(seen(1000, 8, true).Report); err != nil || got.Comm != "db" {
		t.Errorf("%+v, %v", got, err)
	}
}

// What differs between two short times, or on a disk that serves by fits and starts,
// may be chance.
func TestChance(t *testing.T) {
	// bins of a tenth of a second, twice as many requests in one half of a second as in the next
	disk := func(s *Seen, seconds int, uneven bool) *Seen {
		r := sample.NewRecorder(s.Report.Window.Start)
		e := sample.Entity{PID: 7}
		r.PutProcess(7, sample.Process{Comm: "db"})
		total, _ := s.Window.Sum(sample.CacheAccesses, e)
		r.Put(sample.CacheAccesses, e, total*float64(seconds)/10, "test")
		for i := range seconds * 10 {
			v := 100.0
			if uneven && i/5%2 == 0 {
				v = 300
			}
			r.PutAt(s.Report.Window.Start.Add(time.Duration(i)*100*time.Millisecond), sample.BlockBinOps, sample.Entity{Device: "vda"}, v, "test")
		}
		s.Window = r.Window(s.Report.Window.Start.Add(time.Duration(seconds) * time.Second))
		s.Report.Window.Seconds = float64(seconds)
		s.Report.Victim.Device = "vda"
		return s
	}
	for _, c := range []struct {
		name          string
		before, after int // seconds
		uneven        bool
		factor        float64
		result        Result
	}{
		{"2 s and 3 s", 2, 3, false, 1.15, Unchanged},
		{"2 s and 3 s, less", 2, 3, false, 0.85, Unchanged},
		{"2 s and 3 s, by far more", 2, 3, false, 1.5, InPart},
		{"10 s each", 10, 10, false, 1.15, InPart},
		{"10 s each, by fits and starts", 10, 10, true, 1.25, Unchanged},
		{"100 s each, by fits and starts", 100, 100, true, 1.25, InPart},
	} {
		o := Compare(disk(seen(1000, 8, true), c.before, c.uneven), disk(seen(1000*c.factor, 8, true), c.after, c.uneven))
		if o.Result != c.result || (c.result == Unchanged) != (len(o.Notes) == 1) {
			t.Errorf("%s, %.2f times: %s, notes %q, want %s", c.name, *o.Factor, o.Result, o.Notes, c.result)
		}
	}
}
