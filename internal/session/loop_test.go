package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// run runs a loop and returns its intervals as seconds from the beginning.
func run(t *testing.T, ctx context.Context, l *Loop, f func(n int)) (starts, lengths []float64, last bool) {
	t.Helper()
	began := time.Now()
	err := l.Run(ctx, func(i Interval) error {
		if last {
			t.Error("an interval after the last")
		}
		starts, lengths, last = append(starts, i.Start.Sub(began).Seconds()), append(lengths, i.Length.Seconds()), i.Last
		if f != nil {
			f(len(starts))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return starts, lengths, last
}

// What comes late is a longer interval, not more of them, and the next one ends
// where it would have ended.
func TestLateIntervalsDoNotQueueUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, lengths, last := run(t, t.Context(), &Loop{Every: time.Second, Count: 6}, func(n int) {
			if n == 2 {
				time.Sleep(2500 * time.Millisecond)
			}
		})
		if want := []float64{0, 1, 2, 4.5, 5}; !slices.Equal(starts, want) || !last {
			t.Errorf("starts %v, want %v; last %v", starts, want, last)
		}
		if want := []float64{1, 1, 2.5, 0.5, 1}; !slices.Equal(lengths, want) {
			t.Errorf("lengths %v, want %v", lengths, want)
		}
	})
}

// A stop over the last of them ends it.
func TestLateLastInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, _, last := run(t, t.Context(), &Loop{Every: time.Second, Count: 3}, func(n int) {
			if n == 1 {
				time.Sleep(time.Minute)
			}
		})
		if len(starts) != 2 || !last {
			t.Errorf("%v, last %v", starts, last)
		}
	})
}

func TestContextCutsTheLastIntervalShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2200*time.Millisecond)
		defer cancel()
		_, lengths, last := run(t, ctx, &Loop{Every: time.Second}, nil)
		if want := []float64{1, 1, 0.2}; !slices.Equal(lengths, want) || !last {
			t.Errorf("lengths %v, want %v; last %v", lengths, want, last)
		}
	})
}

// Without a length there is one interval, that Until ends.
func TestOneIntervalUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		ticks := 0
		_, lengths, last := run(t, t.Context(), &Loop{Until: until, Tick: time.Second, During: func() error {
			if ticks++; ticks == 3 {
				close(until)
			}
			return nil
		}}, nil)
		if want := []float64{3}; !slices.Equal(lengths, want) || !last || ticks != 3 {
			t.Errorf("lengths %v, want %v; %d ticks", lengths, want, ticks)
		}
	})
}

// Ticks keep to their beat, across intervals and when one takes long, and leave
// the end alone.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []float64
		var shown int
		l := &Loop{Every: 5 * time.Second, Count: 2, Tick: 2 * time.Second, Show: func(time.Duration) { shown++ }}
		l.During = func() error {
			at = append(at, time.Since(began).Seconds())
			if len(at) == 1 {
				time.Sleep(2100 * time.Millisecond) // over the next
			}
			return nil
		}
		run(t, t.Context(), l, nil)
		if want := []float64{2, 6, 8}; !slices.Equal(at, want) {
			t.Errorf("ticks at %v, want %v", at, want)
		}
		if shown < 30 || shown > 50 {
			t.Errorf("shown %d times in 10 s", shown)
		}
	})
}

func TestErrorsEndTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sorry := errors.New("sorry")
		n := 0
		l := &Loop{Every: time.Second}
		if err := l.Run(t.Context(), func(Interval) error { n++; return sorry }); err != sorry || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
		l.Tick, l.During = 100*time.Millisecond, func() error { return sorry }
		if err := l.Run(t.Context(), func(Interval) error { n++; return nil }); err != sorry || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
	})
}
