package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/series"
)

// fake is a source that counts its readings.
type fake struct {
	calls int
	hang  func()      // called at every reading
	gone  atomic.Bool // the device was pulled
}

func (f *fake) Collect(phase sample.Phase, into sample.Sink) error {
	f.calls++
	if f.hang != nil {
		f.hang()
	}
	if phase != sample.First && !f.gone.Load() {
		into.Put(sample.DiskReadBytes, sample.Entity{Device: "vda"}, 100, "fake")
		into.Put(sample.DiskInFlight, sample.Entity{Device: "vda"}, float64(f.calls), "fake")
		into.Put(sample.DiskReadBytes, sample.Entity{Device: "vda", PID: 7}, 100, "fake")
	}
	return nil
}

func (f *fake) Close() error { return nil }

// collected is what a feed gave.
type collected struct {
	mu     sync.Mutex
	frames []series.Frame
	ended  []string
	absent map[string]bool
}

func (c *collected) take() []series.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.frames
	c.frames = nil
	return out
}

func startFeed(t *testing.T, open func() (sample.Source, error), more ...func(*feed)) (*feed, *collected, context.CancelFunc) {
	c := &collected{absent: map[string]bool{}}
	h := host.Live()
	f := &feed{
		host: h, base: time.Second, log: slog.New(slog.DiscardHandler), infos: infos(), known: map[of]*stream{},
		entry: source.Entry{Name: "fake", Metrics: []sample.Metric{sample.DiskReadBytes, sample.DiskInFlight},
			Open: func(*host.Host) (sample.Source, error) { return open() }},
		out: func(x series.Frame) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.frames = append(c.frames, x)
		},
		ended: func(s *series.Series) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ended = append(c.ended, s.Name())
		},
		absent: func(s *series.Series) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.absent[s.Name()] = true
		},
		stepped: func() {}, seen: func(*sample.Window) {},
	}
	f.factor.Store(1)
	for _, set := range more {
		set(f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go f.run(ctx)
	return f, c, cancel
}

// valueOf is the value of a series in a frame.
func valueOf(t *testing.T, f series.Frame, name string) float64 {
	t.Helper()
	for _, v := range f.Values {
		if v.Of.Name() == name {
			return v.V
		}
	}
	t.Fatalf("%s is not in %+v", name, f)
	return 0
}

func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // not on a whole second
		src := &fake{}
		f, c, cancel := startFeed(t, func() (sample.Source, error) { return src, nil })
		defer cancel()
		time.Sleep(10*time.Second + 100*time.Millisecond)
		got := c.take()
		if len(got) != 10 { // the first after 0.7 s
			t.Fatalf("%d frames in 10 s", len(got))
		}
		for i, x := range got {
			if x.At.Nanosecond() != 0 || i > 0 && x.At.Sub(got[i-1].At) != time.Second {
				t.Errorf("frame %d is at %v", i, x.At)
			}
			if v := valueOf(t, x, "iocause_disk_read_bytes_total"); v != float64(100*(i+1)) {
				t.Errorf("frame %d: %v read, want %d", i, v, 100*(i+1))
			}
			if len(x.Values) != 3 { // and what the reading took, but nothing of a process
				t.Errorf("frame %d has %d values", i, len(x.Values))
			}
		}
		f.factor.Store(4)
		time.Sleep(time.Second)
		c.take()
		time.Sleep(40 * time.Second)
		if slow := c.take(); len(slow) < 8 || len(slow) > 11 || slow[3].At.Sub(slow[2].At) != 4*time.Second || slow[0].At.Unix()%4 != 0 {
			t.Errorf("%d frames in 40 s at %v", len(slow), slow[0].At)
		}
		src.gone.Store(true)
		time.Sleep(forgetting + 10*time.Second)
		c.mu.Lock()
		ended := slices.Clone(c.ended)
		c.mu.Unlock()
		if len(ended) != 2 {
			t.Errorf("ended %v, want both of the device", ended)
		}
		cancel()
		synctest.Wait()
	})
}

// A first window of less than a quarter of a second would tell little.
func TestFirstWindow(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{100 * time.Millisecond: time.Second, 740 * time.Millisecond: time.Second, 760 * time.Millisecond: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now() // a whole second
			time.Sleep(after)
			_, c, cancel := startFeed(t, func() (sample.Source, error) { return &fake{}, nil })
			time.Sleep(3 * time.Second)
			if got := c.take(); len(got) < 2 || got[0].At.Sub(began) != want || got[1].At.Sub(got[0].At) != time.Second {
				t.Errorf("started %v after a whole second: %+v", after, got)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// once is a source that gives its values at the start only.
type once struct{ n float64 }

func (o *once) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.First {
		o.n++
		into.Put(sample.DiskInFlight, sample.Entity{Device: "vda"}, o.n, "once")
	}
	return nil
}

func (o *once) Close() error { return nil }

func TestSettingsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c, cancel := startFeed(t, func() (sample.Source, error) { return &once{}, nil }, func(f *feed) { f.setting = true })
		defer cancel()
		time.Sleep(10*time.Second + 100*time.Millisecond)
		got := c.take()
		if len(got) < 9 || !f.up.Load() {
			t.Fatalf("%d frames in 10 s", len(got))
		}
		for i, x := range got {
			if v := valueOf(t, x, "iocause_disk_in_flight"); v != float64(i+1) || i > 0 && x.At.Sub(got[i-1].At) != time.Second {
				t.Errorf("frame %d at %v: %v", i, x.At, v)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// A source that hangs is opened anew after a while; one that cannot be opened
// is tried again.
func TestFeedComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32 // by goroutines of their own
		release := make(chan struct{})
		f, c, cancel := startFeed(t, func() (sample.Source, error) {
			switch opened.Add(1) {
			case 1:
				return nil, errors.New("not there yet")
			case 2:
				s := &fake{}
				s.hang = func() {
					if s.calls == 4 {
						<-release
					}
				}
				return s, nil
			}
			return &fake{}, nil
		})
		time.Sleep(10 * time.Second)
		if len(c.take()) != 0 || f.up.Load() {
			t.Error("there are values of a source that did not open")
		}
		time.Sleep(tryAgain)
		if len(c.take()) == 0 || !f.up.Load() {
			t.Error("the source was not tried again")
		}
		time.Sleep(patience + time.Second)
		if f.up.Load() || opened.Load() != 2 {
			t.Errorf("a source that hangs counts as up; opened %d times", opened.Load())
		}
		c.mu.Lock()
		if len(c.absent) != 3 || len(c.ended) != 0 {
			t.Errorf("of a source that hangs, %v have no value now, and %v ended", c.absent, c.ended)
		}
		c.mu.Unlock()
		c.take()
		time.Sleep(5 * time.Minute)
		got := c.take()
		if len(got) < 60 || opened.Load() != 3 {
			t.Fatalf("%d frames after it hung, opened %d times", len(got), opened.Load())
		}
		// The counter goes on where it was.
		if v := valueOf(t, got[0], "iocause_disk_read_bytes_total"); v < 200 {
			t.Errorf("the counter begins anew: %v", v)
		}
		close(release)
		cancel()
		synctest.Wait()
	})
}

// A source that hangs for good is tried a few times: each takes a thread.
func TestHangingCallsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var opened atomic.Int64
		f, _, cancel := startFeed(t, func() (sample.Source, error) {
			opened.Add(1)
			return &fake{hang: func() { <-release }}, nil
		})
		time.Sleep(48 * time.Hour)
		if n := opened.Load(); n != mostHanging || f.hanging.Load() != mostHanging {
			t.Errorf("opened %d times, %d calls hang", n, f.hanging.Load())
		}
		close(release)
		time.Sleep(2 * tryAgain)
		if opened.Load() <= mostHanging || !f.up.Load() {
			t.Error("it is not tried again though nothing hangs")
		}
		cancel()
		synctest.Wait()
	})
}

func TestSeriesNames(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range append(sample.Catalog(), Own()...) {
		n := series.NameOf(i)
		if seen[n] {
			t.Errorf("%s names two metrics", n)
		}
		seen[n] = true
	}
	if was := infos()[sample.CacheSampledAccesses]; len(was) != 2 || series.NameOf(was[1]) != "iocause_cache_sampled_visits_pages_total" {
		t.Errorf("%+v, want the name of the version before, too", was)
	}
	for m, want := range map[sample.Metric]string{
		sample.CPUCount: "iocause_cpus", sample.CPUUser: "iocause_cpu_user_seconds_total",
		sample.DiskReadBytes: "iocause_disk_read_bytes_total", sample.MemTotal: "iocause_mem_total_bytes",
		sample.VMSwapIn: "iocause_vm_swap_in_pages_total", sample.DiskInFlight: "iocause_disk_in_flight",
	} {
		if got := series.NameOf(infos()[m][0]); got != want {
			t.Errorf("%s is %s, want %s", m, got, want)
		}
	}
}

// A window over which the machine slept, or the clock was set, bears the
// instant that the clock shows at its end.
func TestWindowOverASleep(t *testing.T) {
	start := time.Unix(1_790_000_000, 0)
	for name, c := range map[string]struct {
		read time.Time // the clock at the end of a window of a second
		at   time.Time
		err  error
	}{
		"slept eight hours":  {start.Add(8*time.Hour + 1300*time.Millisecond), start.Add(8*time.Hour + time.Second), errStepped},
		"set back an hour":   {start.Add(-time.Hour + time.Second), start.Add(-time.Hour + time.Second), errStepped},
		"as ever":            {start.Add(1010 * time.Millisecond), start.Add(time.Second), nil},
		"slewed a little":    {start.Add(1100 * time.Millisecond), start.Add(time.Second), nil},
		"slewed off a whole": {start.Add(1400 * time.Millisecond), start.Add(time.Second), errAlign},
	} {
		var got series.Frame
		f := &feed{host: host.Live(), base: time.Second, infos: infos(), known: map[of]*stream{},
			entry: source.Entry{Metrics: []sample.Metric{sample.DiskReadBytes}},
			out:   func(x series.Frame) { got = x }, seen: func(*sample.Window) {}, ended: func(*series.Series) {}}
		f.factor.Store(1)
		r := sample.NewRecorder(start)
		r.Put(sample.DiskReadBytes, sample.Entity{Device: "vda"}, 512, "test")
		if err := f.take(r.Window(start.Add(time.Second)), c.read, time.Second); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if !got.At.Equal(c.at) || len(got.Values) != 1 || got.Values[0].V != 512 {
			t.Errorf("%s: %+v, want 512 at %v", name, got, c.at)
		}
	}
}

// A reading that is so late that the next one bears the same instant costs
// nothing: the counter has all in the frame after.
func TestLateReading(t *testing.T) {
	start := time.Unix(1_790_000_000, 0)
	var got []series.Frame
	f := &feed{host: host.Live(), base: time.Second, infos: infos(), known: map[of]*stream{},
		entry: source.Entry{Metrics: []sample.Metric{sample.DiskReadBytes}},
		out:   func(x series.Frame) { got = append(got, x) }, seen: func(*sample.Window) {}, ended: func(*series.Series) {}}
	f.factor.Store(1)
	r := sample.NewRecorder(start)
	for _, end := range []time.Duration{time.Second, 2900 * time.Millisecond, 3 * time.Second, 4 * time.Second} {
		r.At(start.Add(end))
		r.Put(sample.DiskReadBytes, sample.Entity{Device: "vda"}, 100, "test")
		if err := f.take(r.NextWindow(start.Add(end)), start.Add(end), time.Second); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 3 || !got[2].At.Equal(start.Add(4*time.Second)) || got[0].Values[0].V != 100 || got[1].Values[0].V != 200 || got[2].Values[0].V != 400 {
		t.Errorf("%+v", got)
	}
}
