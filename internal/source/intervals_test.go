package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

func intervals(t *testing.T, every time.Duration, count int, f func(i int, w *sample.Window), entries ...Entry) *Collector {
	t.Helper()
	c := Open(t.Context(), host.Live(), entries)
	c.host.IsLive = false // no look at the real cache
	c.Begin()
	i := 0
	require.NoError(t, c.Intervals(t.Context(), every, count, func(w *sample.Window) error { f(i, w); i++; return nil }))
	require.NoError(t, c.Close())
	return c
}

// A stop of the machine that passes over the last window does not make it go
// on for ever.
func TestLapsEndAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := &fake{fails: func(call int) error {
			if call == 3 {
				time.Sleep(2 * time.Second)
			}
			return nil
		}}
		windows := 0
		intervals(t, 300*time.Millisecond, 3, func(int, *sample.Window) {
			if windows++; windows > 3 {
				t.Fatal("it goes on")
			}
		}, entry("stops", stop))
		if n := len(stop.phases); stop.phases[n-1] != sample.Last || windows == 0 {
			t.Errorf("%d windows, phases %v", windows, stop.phases)
		}
	})
}

// Without a count it goes on until it is ended, whatever it passed over.
func TestLapsWithoutCountGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c := Open(ctx, host.Live(), []Entry{entry("x", &fake{})})
		c.host.IsLive = false
		c.Begin()
		windows := 0
		if err := c.Intervals(ctx, time.Second, 0, func(*sample.Window) error { windows++; return nil }); err != nil || windows < 9 {
			t.Errorf("%d windows, %v", windows, err)
		}
	})
}

// What a source that hangs has counted in this window is not used either, in
// none of the windows: half of a counter would pass for a small one.
func TestStuckSourceIsLeftBehindInIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		defer close(released)
		f := &fake{put: dirty}
		f.fails = func(call int) error {
			if call == 7 { // the end of the third interval, after a tick that it answered
				<-released
			}
			return nil
		}
		intervals(t, 2*time.Second, 20, func(i int, w *sample.Window) {
			if has, want := w.Has(sample.DiskReadBytes), i < 2; has != want {
				t.Errorf("window %d has figures: %v, want %v", i, has, want)
			}
			if stuck := len(w.Gaps) == 1; stuck == (i < 2) {
				t.Errorf("window %d: %+v", i, w.Gaps)
			}
		}, entry("stuck", f, sample.MemDirty, sample.DiskReadBytes))
	})
}

// What a source lacks is said in every window that lacks it, in no other, and
// no list grows: neither that of what it lacks for good nor that of the rest.
func TestGapsOfEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		f := &fake{put: func(phase sample.Phase, into sample.Sink) {
			calls++
			if phase == sample.First {
				into.PutGap(sample.Gap{Why: "no such file"})
				return
			}
			into.PutGap(sample.Gap{Why: "again"})
			into.PutGap(sample.Gap{Why: "again"})
			into.PutGap(sample.Gap{Why: fmt.Sprintf("call %d", calls)})
		}}
		f.fails = func(call int) error {
			if call == 3 {
				return errors.New("once")
			}
			return nil
		}
		shut := Entry{Name: "shut", Open: func(*host.Host) (sample.Source, error) { return nil, errors.New("refused") }}
		c := intervals(t, time.Second, 5, func(i int, w *sample.Window) {
			var got []string
			for _, g := range w.Gaps {
				got = append(got, g.Why)
			}
			want := []string{"shut: refused", "no such file", "again", fmt.Sprintf("call %d", i+2-min(1, i/2))}
			switch i {
			case 0:
				want = []string{"shut: refused", "no such file", "again", "call 2"}
			case 1:
				want = []string{"shut: refused", "no such file", "x: failed 1 of 1 times, first: once"}
			}
			if !slices.Equal(got, want) {
				t.Errorf("window %d: %q, want %q", i, got, want)
			}
		}, shut, entry("x", f))
		if s := c.Statuses()[1]; len(s.Gaps) != 3 || s.Failures != 1 || s.Calls != 6 {
			t.Errorf("%+v", s)
		}
	})
}
