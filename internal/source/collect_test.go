package source

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// fake is a source that takes a while and fails when told to.
type fake struct {
	takes  time.Duration
	fails  func(call int) error
	phases []sample.Phase
	at     []time.Time
	closed bool
	put    func(phase sample.Phase, into sample.Sink)
}

func (f *fake) Collect(phase sample.Phase, into sample.Sink) error {
	f.phases = append(f.phases, phase)
	f.at = append(f.at, time.Now())
	time.Sleep(f.takes)
	if f.fails != nil {
		if err := f.fails(len(f.phases)); err != nil {
			return err
		}
	}
	if f.put != nil {
		f.put(phase, into)
	}
	return nil
}

func (f *fake) Close() error { f.closed = true; return nil }

func entry(name string, f *fake, metrics ...sample.Metric) Entry {
	return Entry{Name: name, Metrics: metrics, Open: func(*host.Host) (sample.Source, error) { return f, nil }}
}

func dirty(phase sample.Phase, into sample.Sink) {
	into.Put(sample.MemDirty, sample.Entity{}, 1, "fake")
	if phase != sample.First {
		into.Put(sample.DiskReadBytes, sample.Entity{Device: "vda"}, 1e6, "fake")
		into.Put(sample.DiskReadBytes, sample.Entity{Device: "dm-0"}, 1e5, "fake")
	}
}

func observe(t *testing.T, ctx context.Context, o Observation, entries ...Entry) (*Collector, *sample.Window) {
	t.Helper()
	c := Open(ctx, host.Live(), entries)
	c.Begin()
	w := c.Observe(ctx, o)
	require.NoError(t, c.Close())
	return c, w
}

func TestObserveCollectsFirstTicksLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{put: dirty, takes: 10 * time.Millisecond}
		var seen []Progress
		_, w := observe(t, t.Context(), Observation{
			Length: 3500 * time.Millisecond, Progress: func(p Progress) { seen = append(seen, p) },
		}, entry("fake", f, sample.MemDirty))
		want := []sample.Phase{sample.First, sample.Tick, sample.Tick, sample.Tick, sample.Last}
		if !slices.Equal(f.phases, want) {
			t.Errorf("phases %v, want %v", f.phases, want)
		}
		if got := w.Length; got != 3510*time.Millisecond {
			t.Errorf("window of %v, want 3.51 s: from the first read to the last", got)
		}
		if len(seen) != 17 {
			t.Errorf("%d progress calls in 3.5 s, want 17", len(seen))
		}
		if p := seen[len(seen)-1]; p.Device != "vda" || p.Read != 1e6 || p.Length != 3500*time.Millisecond {
			t.Errorf("last progress %+v, want vda reading 1e6 bytes/s of 3.5 s", p)
		}
		if !f.closed {
			t.Error("not closed")
		}
		cost, ok := w.Sum(sample.CostCollect, sample.Entity{Class: "fake"})
		if !ok || cost < 0.0499 || cost > 0.0501 {
			t.Errorf("cost.collect_time %v %v, want 5 calls of 10 ms", cost, ok)
		}
	})
}

func TestOverrunsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: 2500 * time.Millisecond}
		start := time.Now()
		observe(t, t.Context(), Observation{Length: 9 * time.Second}, entry("slow", f))
		if n := len(f.phases); n < 3 || n > 6 {
			t.Errorf("%d collections of 2.5 s in 9 s", n)
		}
		if took := time.Since(start); took > 17*time.Second {
			t.Errorf("took %v", took)
		}
		for i := 2; i < len(f.at)-1; i++ {
			if gap := f.at[i].Sub(f.at[i-1]); gap < 3*time.Second {
				t.Errorf("collection %d came %v after the one before: queued up", i, gap)
			}
		}
	})
}

func TestCancelStillCollectsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		f := &fake{put: dirty}
		_, w := observe(t, ctx, Observation{Length: time.Hour}, entry("fake", f))
		if f.phases[len(f.phases)-1] != sample.Last || w.Length != 1500*time.Millisecond {
			t.Errorf("phases %v in %v", f.phases, w.Length)
		}
	})
}

func TestUntilEndsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		time.AfterFunc(2200*time.Millisecond, func() { close(until) })
		f := &fake{put: dirty}
		_, w := observe(t, t.Context(), Observation{Until: until}, entry("fake", f))
		if w.Length != 2200*time.Millisecond || len(f.phases) != 4 {
			t.Errorf("%v, phases %v", w.Length, f.phases)
		}
	})
}

func TestAbsentZeroAndFailedStayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("reading the thing: refused")
		shut := Entry{Name: "shut", Metrics: []sample.Metric{sample.WaitIO}, Needs: "root",
			Open: func(*host.Host) (sample.Source, error) { return nil, refused }}
		sometimes := &fake{put: dirty, fails: func(call int) error {
			if call == 2 || call == 3 {
				return refused
			}
			return nil
		}}
		never := &fake{fails: func(int) error { return refused }}
		zero := &fake{put: func(_ sample.Phase, into sample.Sink) {
			into.Put(sample.SwapTotal, sample.Entity{}, 0, "fake")
			into.PutGap(sample.Gap{Why: "no swap accounting", Metrics: []sample.Metric{sample.SwapFree}})
		}}
		c, w := observe(t, t.Context(), Observation{Length: 3 * time.Second},
			shut, entry("sometimes", sometimes, sample.MemDirty), entry("never", never, sample.PSISome),
			entry("zero", zero, sample.SwapTotal, sample.SwapFree))
		for _, why := range []struct {
			m    sample.Metric
			want string
		}{
			{sample.WaitIO, "shut: reading the thing: refused"},
			{sample.PSISome, "never: failed 4 of 4 times, first: reading the thing: refused"},
			{sample.SwapFree, "no swap accounting"},
			{sample.MemDirty, "mem.dirty was not measured (page cache that is not yet written out)"}, // no gap names it: it was measured
		} {
			if got := w.WhyAbsent(why.m); got != why.want {
				t.Errorf("%s: %q, want %q", why.m, got, why.want)
			}
		}
		if len(w.Gaps) != 4 {
			t.Errorf("%d gaps, want one each of shut, zero, sometimes, never: %v", len(w.Gaps), w.Gaps)
		}
		if v, ok := w.Value(sample.SwapTotal, sample.Entity{}); !ok || v != 0 {
			t.Errorf("swap.total %v %v, want a measured zero", v, ok)
		}
		has := Offered(c.Statuses(), w)
		for m, want := range map[sample.Metric]bool{
			sample.WaitIO: false, sample.PSISome: false, sample.SwapFree: false,
			sample.SwapTotal: true, sample.MemDirty: true,
		} {
			if has[m] != want {
				t.Errorf("offered %s: %v, want %v", m, has[m], want)
			}
		}
	})
}

func TestOpenGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := &fake{}
		late := Entry{Name: "late", Open: func(*host.Host) (sample.Source, error) {
			time.Sleep(5 * time.Second)
			return f, nil
		}}
		c := Open(ctx, host.Live(), []Entry{late})
		if s := c.Statuses()[0]; !errors.Is(s.OpenErr, context.DeadlineExceeded) {
			t.Errorf("open error %v", s.OpenErr)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !f.closed {
			t.Error("the source that opened late was left open")
		}
	})
}

func TestOpensAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := Entry{Name: "slow", Open: func(*host.Host) (sample.Source, error) {
			time.Sleep(time.Second)
			return &fake{}, nil
		}}
		start := time.Now()
		Open(t.Context(), host.Live(), []Entry{slow, slow, slow})
		if took := time.Since(start); took != time.Second {
			t.Errorf("three opens of 1 s took %v", took)
		}
	})
}

// A source that hangs is left behind after a while, with all that it measured
// so far: half of a counter is not a small counter.
func TestStuckSourceIsLeftBehind(t *testing.T) {
	for stuckAt, phase := range []string{"First", "Tick", "Last"} {
		synctest.Test(t, func(t *testing.T) {
			released := make(chan struct{})
			f := &fake{put: func(phase sample.Phase, into sample.Sink) { dirty(phase, into) }}
			f.fails = func(call int) error {
				if call == stuckAt+1 {
					<-released
				}
				return nil
			}
			well := &fake{put: func(_ sample.Phase, into sample.Sink) {
				into.Put(sample.SwapTotal, sample.Entity{}, 7, "fake")
			}}
			start := time.Now()
			ctx := t.Context()
			c := Open(ctx, host.Live(), []Entry{entry("stuck", f, sample.MemDirty, sample.DiskReadBytes), entry("well", well, sample.SwapTotal)})
			c.Begin()
			w := c.Observe(ctx, Observation{Length: 1500 * time.Millisecond})
			if took := time.Since(start); took > patience+2*time.Second {
				t.Errorf("%s: took %v", phase, took)
			}
			for _, m := range []sample.Metric{sample.MemDirty, sample.DiskReadBytes} {
				if why := w.WhyAbsent(m); w.Has(m) || why != "stuck: reading took longer than 20.0 s; none of its figures are used" {
					t.Errorf("%s: %s is there: %v, %q", phase, m, w.Has(m), why)
				}
			}
			if !w.Has(sample.SwapTotal) || len(w.Gaps) != 1 {
				t.Errorf("%s: the other source suffered: %+v", phase, w.Gaps)
			}
			if has := Offered(c.Statuses(), w); has[sample.MemDirty] || !has[sample.SwapTotal] {
				t.Errorf("%s: offered %v", phase, has)
			}
			if err := c.Close(); err != nil || f.closed || !well.closed {
				t.Errorf("%s: closed %v and %v, %v; what hangs cannot be closed yet", phase, f.closed, well.closed, err)
			}
			close(released)
			synctest.Wait()
			if w.Has(sample.MemDirty) || !f.closed {
				t.Errorf("%s: what came late was taken: %v; closed %v", phase, w.Has(sample.MemDirty), f.closed)
			}
		})
	}
}

// However many hang, the verdict comes.
func TestAllStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		defer close(released)
		var entries []Entry
		for range 14 {
			entries = append(entries, entry("stuck", &fake{fails: func(int) error { <-released; return nil }}, sample.MemDirty))
		}
		start := time.Now()
		_, w := observe(t, t.Context(), Observation{Length: time.Second}, entries...)
		if took := time.Since(start); took > 90*time.Second || len(w.Gaps) != 14 {
			t.Errorf("took %v, %d gaps", took, len(w.Gaps))
		}
	})
}

func TestReadCost(t *testing.T) {
	rec := sample.NewRecorder(time.Now())
	for _, name := range []string{"a", "b"} {
		rec.Put(sample.CostBPFTime, sample.Entity{Class: name}, 0.25, "t")
		rec.Put(sample.CostLost, sample.Entity{Class: name}, 3, "t")
	}
	c, err := ReadCost(host.Live(), rec.Window(time.Now()))
	require.NoError(t, err)
	if c.BPFSeconds != 0.5 || c.Lost != 6 {
		t.Errorf("%+v, want 0.5 s and 6 lost", c)
	}
	if c.RSSBytes < 1<<20 || c.RSSBytes > 1<<34 {
		t.Errorf("peak memory of %d bytes is not plausible", c.RSSBytes)
	}
}

func TestPeakRSS(t *testing.T) {
	path := t.TempDir() + "/status"
	for text, want := range map[string]string{
		"Name:\tx\nVmPeak:\t  100 kB\n": "no VmHWM",
		"VmHWM:\tmany kB\n":             "is not an amount",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := peakRSS(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	require.NoError(t, os.WriteFile(path, []byte("Name:\tx\nVmHWM:\t   1234 kB\n"), 0o600))
	if n, err := peakRSS(path); err != nil || n != 1234<<10 {
		t.Errorf("%d %v", n, err)
	}
}
