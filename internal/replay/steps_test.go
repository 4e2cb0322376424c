package replay

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/series"
)

// Counters become increases: none is made up where the agent did not run, and
// one that began anew counts from zero.
func TestHistory(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	s := newHistory(from, from.Add(40*time.Second), time.Second, ticks)
	points := func(all ...float64) (out []series.Point) {
		for i, v := range all {
			if !math.IsNaN(v) {
				out = append(out, series.Point{At: from.Add(time.Duration(i) * time.Second), Value: v})
			}
		}
		return out
	}
	nan := math.NaN()
	for _, l := range []series.Line{
		{Name: "iocause_disk_reads_total", Labels: []series.Label{{Name: "device", Value: "vda"}}, Points: points(10, 20, 30, nan, 1000, 1001, 7)},
		{Name: "iocause_mem_free_bytes", Points: points(2, 3, nan, nan, nan, 5)},
		{Name: "iocause_of_a_later_version", Points: points(1, 2, 3)},
	} {
		s.take(&l, 1500*time.Millisecond)
	}
	if some, missing := s.known(); !some || missing != 36*time.Second {
		t.Errorf("something is known: %v, %v is missing", some, missing)
	}
	data, err := s.recording("iocause test")
	require.NoError(t, err)
	o := &Opener{Now: time.Now, Note: func(err error) { t.Error(err) }}
	p, err := o.Made(data)
	require.NoError(t, err)
	var all Join
	require.NoError(t, errors.Join(p.Each(all.Add), p.Close()))
	w := all.Window()
	if w.Length != 4*time.Second { // what nobody observed is in no rate
		t.Errorf("it is %v long", w.Length)
	}
	// 10 to 20 and 20 to 30; 1000 is after a gap; 1000 to 1001; 7 of a new agent
	if got, ok := w.Sum(sample.DiskReads, sample.Entity{Device: "vda"}); !ok || got != 10+10+1+7 {
		t.Errorf("%g reads, %v", got, ok)
	}
	free := w.Get(sample.MemFree, sample.Entity{})
	if free == nil || len(free.Points) != 2 || free.Last() != 5 || free.Source != historySource {
		t.Errorf("%+v", free)
	}
	if why := w.WhyAbsent(sample.CacheAccesses); !strings.Contains(why, "only for incidents") {
		t.Errorf("%q", why)
	}
}

// A metric that had another name in the version before is the same series: what
// was recorded under both names counts once.
func TestHistoryOfARenamedMetric(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	s := newHistory(from, from.Add(10*time.Second), time.Second, ticks)
	line := func(name string, values ...float64) {
		l := series.Line{Name: name}
		for i, v := range values {
			if !math.IsNaN(v) {
				l.Points = append(l.Points, series.Point{At: from.Add(time.Duration(i) * time.Second), Value: v})
			}
		}
		s.take(&l, 1500*time.Millisecond)
	}
	nan := math.NaN()
	line("iocause_cache_sampled_visits_pages_total", 0, 7, 18, 31, 48)
	line("iocause_cache_sampled_accesses_pages_total", nan, nan, 18, 31, 48) // the version after takes over
	sum := 0.0
	require.NoError(t, s.windows(func(w *sample.Window) error {
		v, _ := w.Sum(sample.CacheSampledAccesses, sample.Entity{})
		sum += v
		return nil
	}))
	if sum != 48 {
		t.Errorf("%g accesses, want 48", sum)
	}
}

// What is read less often than a step lasts for all steps to the next: nothing
// is 0 in between, and nothing is known after the last.
func TestHistoryOfRareValues(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	s := newHistory(from, from.Add(2*time.Minute), 10*time.Second, ticks)
	var counter, gauge []series.Point
	for i := range 4 { // the last at 85 s
		at := from.Add(time.Duration(i)*30*time.Second - 5*time.Second)
		counter = append(counter, series.Point{At: at, Value: 300 * float64(i)})
		gauge = append(gauge, series.Point{At: at, Value: float64(i)})
	}
	s.take(&series.Line{Name: "iocause_disk_reads_total", Labels: []series.Label{{Name: "device", Value: "vda"}}, Points: counter}, time.Minute)
	s.take(&series.Line{Name: "iocause_mem_free_bytes", Points: gauge}, time.Minute)
	for n := 1; n < len(s.put); n++ {
		want := 100.0
		switch {
		case n == 9:
			want = 50 // half of that step
		case n > 9:
			want = 0
		}
		got := 0.0
		for _, v := range s.put[n] {
			if v.metric == sample.DiskReads {
				got += v.value
			}
		}
		if math.Abs(got-want) > 1e-9 || s.observed(n) != (n <= 9) {
			t.Errorf("step %d: %g reads, want %g; observed: %v", n, got, want, s.observed(n))
		}
	}
	if g := s.put[5]; !slices.ContainsFunc(g, func(v stepValue) bool { return v.metric == sample.MemFree && v.value == 1 }) {
		t.Errorf("step 5 has %+v", g)
	}
}

// However an interval is cut into windows, and whether all series are asked for or one,
// what was done in it is the same.
func TestWindowsOfASpan(t *testing.T) {
	const dir = "../cli/testdata/golden/agent"
	r, err := series.OpenReader(dir)
	require.NoError(t, err)
	defer r.Close()
	o := &Opener{Dir: dir, Program: "test", Now: time.Now, Note: func(error) {}}
	c := Cut{From: time.Date(2026, 11, 23, 2, 6, 0, 0, time.UTC), To: time.Date(2026, 11, 23, 2, 7, 0, 0, time.UTC)}
	sums := map[string]float64{}
	for name, one := range map[string]Cut{"one window": {Windows: 1, Ticks: 60}, "many": {Windows: 60, Ticks: 1}, "of one metric": {Windows: 10, Ticks: 6, Only: []sample.Metric{sample.DiskReads}}} {
		one.From, one.To = c.From, c.To
		require.NoError(t, o.Windows(t.Context(), r, one, func(w *sample.Window) error {
			v, _ := w.Sum(sample.DiskReads, sample.Entity{Device: "vda"})
			sums[name] += v
			if one.Only != nil && w.Has(sample.MemFree) {
				t.Error("another metric is there, too")
			}
			return nil
		}))
	}
	if sums["one window"] < 1000 || sums["many"] != sums["one window"] || sums["of one metric"] != sums["one window"] {
		t.Errorf("reads of vda: %v", sums)
	}
	wrong := errors.New("enough")
	if err := o.Windows(t.Context(), r, Cut{From: c.From, To: c.To, Windows: 60, Ticks: 1}, func(*sample.Window) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("a window that is refused: %v", err)
	}
}
