package detect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"iocause/internal/sample"
)

func signal(t *testing.T, name string) *Signal {
	t.Helper()
	for _, s := range Signals() {
		if s.Name == name {
			return &s
		}
	}
	t.Fatal(name)
	return nil
}

// The reference is the best that there is enough of.
func TestReferenceFallsBack(t *testing.T) {
	s := signal(t, "disk.busy")
	at := time.Date(2026, 3, 11, 14, 30, 0, 0, time.UTC) // a Wednesday
	for _, c := range []struct {
		back        time.Duration
		basis       Basis
		days, hours int
	}{
		{0, Learning, 0, 0},
		{11 * time.Hour, Learning, 0, 0},
		{12 * time.Hour, LastDay, 12, 12},
		{2 * day, LastDay, 24, 24},
		{4 * day, LastDay, 24, 24}, // Saturday to Tuesday: two working days
		{5 * day, DayKind, 3, 3},   // Friday came
		{14 * day, DayKind, 10, 10},
		{2*week + 2*time.Hour, DayKind, 10, 10},
		{3 * week, HourOfWeek, 3, 8}, // 13:00 of the first week is missing
		{20 * week, HourOfWeek, 8, 24},
	} {
		h := NewHistory(time.UTC)
		hour := at.Truncate(time.Hour)
		for x := hour.Add(-c.back); x.Before(hour); x = x.Add(time.Hour) {
			h.Put(flat(s.Name, x, 0.2))
		}
		r := h.Reference(s, at)
		if r.Basis != c.basis || r.Days != c.days || r.Hours != c.hours {
			t.Errorf("after %v: %s of %d days, %d hours; want %s, %d, %d", c.back, r.Basis, r.Days, r.Hours, c.basis, c.days, c.hours)
		}
		if r.Basis != Learning && (r.Scale != s.Floor || math.Abs(r.Q[2]-0.2) > 1e-6) {
			t.Errorf("after %v: %+v", c.back, r)
		}
	}
}

// Only the same hour of the week counts, in local time: where summer time
// began in between, 14:00 is compared with 14:00.
func TestSummerTime(t *testing.T) {
	s := signal(t, "disk.busy")
	for _, c := range []struct {
		zone string
		at   time.Time
	}{
		{"Europe/Berlin", time.Date(2026, 4, 8, 12, 10, 0, 0, time.UTC)},   // 14:10, summer time since March 29
		{"Europe/Berlin", time.Date(2026, 11, 11, 13, 10, 0, 0, time.UTC)}, // 14:10, winter time since October 25
		{"Asia/Kolkata", time.Date(2026, 4, 8, 8, 40, 0, 0, time.UTC)},     // 14:10, half an hour off
		{"America/New_York", time.Date(2026, 3, 25, 18, 10, 0, 0, time.UTC)},
	} {
		loc := zone(t, c.zone)
		h := NewHistory(loc)
		for at := hourStart(c.at.Add(-8*week), loc); at.Before(c.at); at = hourStart(at.Add(time.Hour), loc) {
			v := 0.1
			if at.Hour() >= 13 && at.Hour() <= 15 {
				v = 0.9
			}
			h.Put(flat(s.Name, at, v))
		}
		if got := hourStart(c.at, loc); got.Hour() != 14 || got.Minute() != 0 {
			t.Errorf("%s: the hour begins at %v", c.zone, got)
		}
		r := h.Reference(s, c.at)
		if r.Basis != HourOfWeek || math.Abs(r.Q[0]-0.9) > 1e-6 || math.Abs(r.Q[4]-0.9) > 1e-6 {
			t.Errorf("%s: %+v", c.zone, r)
		}
	}
}

// A day has 23 hours when summer time begins and 25 when it ends; each has its
// own sum.
func TestLongAndShortDays(t *testing.T) {
	loc := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		day        time.Time
		hours, two int
	}{
		{time.Date(2026, 3, 29, 0, 0, 0, 0, loc), 23, 0},
		{time.Date(2026, 10, 25, 0, 0, 0, 0, loc), 25, 2},
		{time.Date(2026, 10, 26, 0, 0, 0, 0, loc), 24, 1},
	} {
		w := NewWatch(Signals(), DefaultRule(), loc, NewHistory(loc))
		_, _, hours := feed(w, c.day, 0, time.Duration(c.hours)*time.Hour, map[string]float64{"disk.busy": 0.1})
		hours = append(hours, w.Flush()...)
		two, all := 0, 0
		for i, x := range hours {
			all += x.N
			if x.Start.Hour() == 2 {
				two++
			}
			if i > 0 && x.Start.Sub(hours[i-1].Start) != time.Hour {
				t.Errorf("%v comes after %v", x.Start, hours[i-1].Start)
			}
		}
		// the slot that is open at the end is not judged
		if len(hours) != c.hours || two != c.two || all != c.hours*360-1 {
			t.Errorf("%v: %d hours, %d of them at two o'clock, %d samples", c.day, len(hours), two, all)
		}
	}
}

// The pooled quantiles are near those of all samples, and the scale is the
// standard deviation where the samples are normal.
func TestBandOfHours(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := signal(t, "disk.latency")
	h := NewHistory(time.UTC)
	at := time.Date(2026, 3, 11, 14, 0, 0, 0, time.UTC)
	var all []float64
	for n := 1; n <= 8; n++ {
		var sum hourSum
		for i := range 360 {
			v := 10 + 2*r.NormFloat64()
			all = append(all, v)
			sum.add(time.Duration(i)*slotLength, v)
		}
		x, _ := sum.end(s, at.Add(-time.Duration(n)*week))
		h.Put(x)
	}
	slices.Sort(all)
	ref := h.Reference(s, at)
	for i, q := range sample.HourQuantiles() {
		if want := sortedQuantile(all, q); math.Abs(ref.Q[i]-want) > 0.2 {
			t.Errorf("quantile %g is %.3f, want %.3f", q, ref.Q[i], want)
		}
	}
	if math.Abs(ref.Scale-2) > 0.15 {
		t.Errorf("scale %.3f", ref.Scale)
	}
	if z := ref.Z(s, 20); math.Abs(z-5) > 0.4 {
		t.Errorf("z %.2f", z)
	}
	if ref.Extreme < 11 || ref.Extreme > 16 {
		t.Errorf("the worst minute is %.2f", ref.Extreme)
	}
}

func TestWorstMinute(t *testing.T) {
	up, down := signal(t, "disk.busy"), signal(t, "cpu.user")
	var sum hourSum
	for i, v := range []float64{1, 1, 9, 1, 1, 1 /* a single one */, 5, 5, 5, 5, 5, 1, 2, 2, 2, 0, 0, 0} {
		sum.add(time.Duration(i)*slotLength, v)
	}
	again := hourSum{values: slices.Clone(sum.values), minute: sum.minute}
	a, _ := sum.end(up, monday)
	b, _ := again.end(down, monday)
	if a.Extreme != 5 || b.Extreme != 1 || a.N != 18 {
		t.Errorf("%+v %+v", a, b)
	}
	if _, ok := sum.end(up, monday); ok {
		t.Error("an hour without samples is none")
	}
}

// Month and year are looked up by the hour of the day.
func TestContext(t *testing.T) {
	s := signal(t, "disk.busy")
	h := NewHistory(time.UTC)
	at := time.Date(2026, 3, 11, 14, 0, 0, 0, time.UTC)
	if c := h.Context(s, at); c.Month.Hours != 0 || c.Year.Hours != 0 {
		t.Errorf("%+v", c)
	}
	for x := at.Add(-380 * day); x.Before(at); x = x.Add(time.Hour) {
		v := 0.3
		if x.Before(at.Add(-340 * day)) {
			v = 0.2
		}
		h.Put(flat(s.Name, x, v))
	}
	c := h.Context(s, at)
	if c.Month.Hours != 30 || math.Abs(c.Month.Q[2]-0.3) > 1e-6 || c.Year.Hours != 7 || math.Abs(c.Year.Q[2]-0.2) > 1e-6 {
		t.Errorf("%+v", c)
	}
}

// Thirteen months are kept, an hour is there once, and what makes no sense is
// left out.
func TestHistoryKeeps(t *testing.T) {
	h := NewHistory(time.UTC)
	for i := range 10000 {
		h.Put(flat("x", monday.Add(time.Duration(i)*time.Hour), 1))
	}
	h.Put(flat("x", monday.Add(20*365*day), 1)) // the clock was wrong
	if got := h.Hours("x", monday, monday.Add(50*365*day)); len(got) != 396*24 || !got[0].Start.Equal(monday.Add((10001-396*24)*time.Hour)) {
		t.Errorf("%d hours from %v", len(got), got[0].Start)
	}
	part := flat("y", monday, 1)
	part.N = 100
	h.Put(part)
	h.Put(flat("y", monday, 2))
	h.Put(part)
	if got := h.Hours("y", monday, monday.Add(time.Second)); len(got) != 1 || got[0].N != 360 || got[0].Q[2] != 2 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []sample.Hour{{Signal: "z", N: 5, Extreme: math.NaN()}, {Signal: "z", N: 5, Q: [5]float64{2, 1}},
		{Signal: "z", N: 5, Q: [5]float64{0, math.Inf(1)}}, {Signal: "z"}} {
		h.Put(bad)
	}
	if got := h.Hours("z", time.Time{}, monday.Add(50*365*day)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
