//go:build !light

package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// epoch is a whole hour.
func epoch() time.Time { return time.Unix(1_790_000_000/3600*3600, 0) }

func options(dir string) Options {
	const day = 24 * time.Hour
	return Options{Dir: dir, Keep: [Tiers]time.Duration{2 * day, 90 * day, 400 * day}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

func open(t *testing.T, o Options) *Recording {
	t.Helper()
	r, err := Open(o)
	require.NoError(t, err)
	return r
}

func shut(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// fill appends a counter that rises by 2 a second and a gauge that is the
// second of the minute, every step.
func fill(t *testing.T, r *Recording, from time.Time, n int, step time.Duration) {
	t.Helper()
	counter := New("test_reads_total", Label{"device", "vda"})
	gauge := New("test_depth", Label{"device", "vda"})
	var frames []Frame
	for i := range n {
		at := from.Add(time.Duration(i) * step)
		s := at.Sub(epoch()).Seconds()
		frames = append(frames, Frame{at, []Value{{counter, 2 * s}, {gauge, math.Mod(s, 60)}}})
		if len(frames) == 600 || i == n-1 {
			if a, err := r.Append(frames); err != nil || a.Refused > 0 {
				t.Fatal(a, err)
			}
			frames = nil
		}
	}
}

func ask(t *testing.T, d Database, q Query) *Result {
	t.Helper()
	r, err := d.Query(context.Background(), q)
	require.NoError(t, err)
	return r
}

// count is how many values of a series lie in a time, both ends included.
func count(t *testing.T, d Database, name string, from, to time.Time) int {
	t.Helper()
	r := ask(t, d, Query{Expr: fmt.Sprintf("count_over_time(%s[%dms])", name, to.Sub(from).Milliseconds()+1), To: to})
	if len(r.Lines) == 0 {
		return 0
	}
	return int(r.Lines[0].Points[0].Value)
}

func TestWhatIsAppendedIsFound(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(dir))
	fill(t, r, epoch(), 600, time.Second)
	end := epoch().Add(599 * time.Second)
	check := func(what string, d Database) {
		t.Helper()
		if n := count(t, d, "test_reads_total", epoch(), end); n != 600 {
			t.Errorf("%s: %d values, want 600", what, n)
		}
		got := ask(t, d, Query{Expr: `rate(test_reads_total{device="vda"}[1m])`, From: epoch().Add(2 * time.Minute), To: end, Step: time.Minute})
		if got.Type != "matrix" || len(got.Lines) != 1 || len(got.Lines[0].Points) != 8 {
			t.Fatalf("%s: %+v", what, got)
		}
		if l := got.Lines[0]; l.Name != "" || len(l.Labels) != 1 || l.Labels[0] != (Label{"device", "vda"}) {
			t.Errorf("%s: %+v", what, l)
		}
		for _, p := range got.Lines[0].Points {
			if math.Abs(p.Value-2) > 1e-9 {
				t.Errorf("%s: rate %v, want 2", what, p.Value)
			}
		}
		if !d.Newest(0).Equal(end) || !d.Oldest(0).Equal(epoch()) {
			t.Errorf("%s: from %v to %v", what, d.Oldest(0), d.Newest(0))
		}
		lines, err := d.Find(t.Context(), []string{`{device="vda"}`}, epoch(), end)
		if err != nil || len(lines) != 2 || lines[0].Name != "test_depth" {
			t.Errorf("%s: found %+v, %v", what, lines, err)
		}
		names, err := d.LabelNames(t.Context(), nil, epoch(), end)
		if err != nil || strings.Join(names, " ") != "__name__ device" {
			t.Errorf("%s: labels %q, %v", what, names, err)
		}
		values, err := d.LabelValues(t.Context(), "device", []string{"test_depth"}, epoch(), end)
		if err != nil || strings.Join(values, " ") != "vda" {
			t.Errorf("%s: values %q, %v", what, values, err)
		}
	}
	check("while it is written", r)
	reader, err := OpenReader(dir)
	require.NoError(t, err)
	check("by a reader beside it", reader)
	shut(t, reader)
	shut(t, r)
	r = open(t, options(dir))
	check("opened again", r)
	shut(t, r)
	if _, err := r.Query(t.Context(), Query{Expr: "1", To: end}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed recording answers %v", err)
	}
}

func TestOneWriter(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(dir))
	if _, err := Open(options(dir)); !errors.Is(err, ErrLocked) {
		t.Errorf("a second agent got %v", err)
	}
	shut(t, r)
	shut(t, open(t, options(dir)))
}

func TestNoRecording(t *testing.T) {
	if _, err := OpenReader(t.TempDir()); !errors.Is(err, ErrNoRecording) {
		t.Errorf("got %v", err)
	}
}

// Nine hours: blocks are cut, the tiers are rolled up, and a query over all
// gets every value from one of them.
func TestTiers(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(dir))
	const hours = 9
	fill(t, r, epoch(), hours*360+3, 10*time.Second) // an interval is rolled up when it is over for a while
	require.NoError(t, r.Roll(t.Context()))
	end := epoch().Add(hours * time.Hour)
	require.NoError(t, r.Maintain(t.Context()))
	if blocks, err := blockDirs(filepath.Join(dir, "raw")); err != nil || len(blocks) == 0 {
		t.Errorf("blocks %q, %v", blocks, err)
	}
	for i, want := range []int{hours*360 + 3, hours * 12, hours} {
		n := 0
		q, err := r.tiers[i].querier(0, end.Add(time.Hour).UnixMilli())
		require.NoError(t, err)
		m, err := matchers([]string{"test_depth"})
		require.NoError(t, err)
		for set := q.Select(t.Context(), false, nil, m[0]...); set.Next(); {
			for it := set.At().Iterator(nil); it.Next() != 0; n++ {
			}
		}
		shut(t, q)
		// The first instant is the end of an interval that was before.
		if n != want && n != want+1 {
			t.Errorf("tier %d has %d values, want %d", i, n, want)
		}
	}
	for expr, want := range map[string]float64{
		"test_depth":                 25, // the mean of 0, 10 ... 50
		"test_depth:max":             50,
		"test_depth:min":             0,
		"test_reads_total:max":       2,
		"rate(test_reads_total[4h])": 2,
	} {
		got := ask(t, r, Query{Expr: expr, From: end.Add(-4 * time.Hour), To: end, Step: time.Hour})
		if len(got.Lines) != 1 || len(got.Lines[0].Points) != 5 {
			t.Errorf("%s: %+v", expr, got)
			continue
		}
		for _, p := range got.Lines[0].Points {
			if math.Abs(p.Value-want) > 1e-6 {
				t.Errorf("%s: %v at %v, want %v", expr, p.Value, p.At, want)
			}
		}
	}
	// Rolling up again changes nothing.
	before := count(t, r, "test_depth:max", epoch(), end)
	require.NoError(t, r.Roll(t.Context()))
	if after := count(t, r, "test_depth:max", epoch(), end); after != before || before < hours*12 {
		t.Errorf("%d values before, %d after", before, after)
	}
	// Without the raw tier the others answer, each for its time.
	shut(t, r)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "raw")))
	r = open(t, options(dir))
	defer shut(t, r)
	if n := count(t, r, "test_reads_total", epoch().Add(time.Second), end); n != hours*12 {
		t.Errorf("%d values are left, want %d", n, hours*12)
	}
}

// What was mounted for a moment is in the finest tier alone: each name would keep its
// series in the memory of the others.
func TestMountedForAMoment(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	for s := 0; s <= 900; s += 10 { // three intervals of five minutes
		var values []Value
		for name, life := range map[string][2]int{
			"iocause_fs_size_bytes /stays": {0, 900}, "iocause_fs_size_bytes /moment": {400, 420}, "iocause_fs_size_bytes /longer": {400, 440},
			"iocause_fs_size_bytes /ends": {0, 310}, "iocause_fs_size_bytes /comes": {890, 900}, "iocause_found /moment": {400, 420},
		} {
			metric, point, _ := strings.Cut(name, " ")
			if s >= life[0] && s <= life[1] {
				values = append(values, Value{New(metric, Label{"class", point}), 1})
			}
		}
		_, err := r.Append([]Frame{{epoch().Add(time.Duration(s) * time.Second), values}})
		require.NoError(t, err)
	}
	require.NoError(t, r.Roll(t.Context()))
	for expr, want := range map[string]int{
		`iocause_fs_size_bytes:max{class="/stays"}`: 1, `iocause_fs_size_bytes:max{class="/moment"}`: 0, `iocause_fs_size_bytes:max{class="/longer"}`: 1,
		`iocause_fs_size_bytes:max{class="/ends"}`: 1, `iocause_found:max{class="/moment"}`: 1,
	} {
		got := ask(t, r, Query{Expr: expr, From: epoch(), To: epoch().Add(15 * time.Minute), Step: time.Minute})
		if len(got.Lines) != want {
			t.Errorf("%s: %d series, want %d", expr, len(got.Lines), want)
		}
	}
}

func TestQueryErrorsHaveAPosition(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	for expr, at := range map[string]int{
		"rate(x[5m]":  10,
		"x{a=~\"(\"}": 2,
		"sum(x) by y": 10,
		"rate(x)":     5,
		"":            0,
	} {
		_, err := r.Query(t.Context(), Query{Expr: expr, To: epoch()})
		var bad *QueryError
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v", expr, err)
			continue
		}
		if bad.At != at || bad.What == "" {
			t.Errorf("%q: at %d: %s, want %d", expr, bad.At, bad.What, at)
		}
		if err := CheckExpr(expr); !errors.As(err, &bad) {
			t.Errorf("%q passes the check: %v", expr, err)
		}
	}
	if _, err := r.Query(t.Context(), Query{Expr: "1", From: epoch(), To: epoch().Add(24 * time.Hour), Step: time.Second}); !errors.Is(err, ErrTooMany) {
		t.Errorf("a day of seconds: %v", err)
	}
}

// The clock is set back by an hour: nothing is refused, and both are found.
func TestClockSetBack(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	s := New("test_level")
	at := func(seconds int, v float64) Appended {
		a, err := r.Append([]Frame{{epoch().Add(time.Duration(seconds) * time.Second), []Value{{s, v}}}})
		require.NoError(t, err)
		return a
	}
	for i := range 60 {
		at(7200+i, 1)
	}
	for i := range 60 {
		if a := at(3600+i, 2); a.Kept != 1 || a.Refused != 0 {
			t.Fatalf("an hour back: %+v", a)
		}
	}
	if n := count(t, r, "test_level", epoch().Add(time.Hour), epoch().Add(time.Hour+time.Minute)); n != 60 {
		t.Errorf("%d values of the hour before, want 60", n)
	}
	if a := at(7259-int(late.Seconds())-1, 3); a.Refused != 1 {
		t.Errorf("later than can be: %+v", a)
	}
}

func TestNamesHoldAnyByte(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	hostile := "a\"b\\c\n\x1b[31m\xff{}"
	if _, err := r.Append([]Frame{{epoch(), []Value{{New("test_fs", Label{"mountpoint", hostile}, Label{"empty", ""}), 1}}}}); err != nil {
		t.Fatal(err)
	}
	got := ask(t, r, Query{Expr: "test_fs", To: epoch()})
	if want := strings.ReplaceAll(hostile, "\xff", "\uFFFD"); len(got.Lines) != 1 || len(got.Lines[0].Labels) != 1 || got.Lines[0].Labels[0].Value != want {
		t.Errorf("%+v", got)
	}
}

func TestShortAndFine(t *testing.T) {
	if Short(1.0/3) == 1.0/3 || math.Abs(Short(1.0/3)-1.0/3) > 1e-7 {
		t.Errorf("%v", Short(1.0/3))
	}
	if Fine(123.4567) != 126420.0/1024 {
		t.Errorf("%v", Fine(123.4567)*1024)
	}
}

// A gap tells no speed: what rose meanwhile is known, how fast is not. Nor does
// a counter that begins anew.
func TestGapsAreNoRates(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	s := New("test_reads_total")
	put := func(second int, v float64) {
		a, err := r.Append([]Frame{{epoch().Add(time.Duration(second) * time.Second), []Value{{s, v}}}})
		if err != nil || a.Kept != 1 {
			t.Fatal(a, err)
		}
	}
	for i := range 60 {
		put(1+i, float64(10*i)) // 10 a second
	}
	for i := range 60 {
		put(1+180+i, float64(600+10*i)) // after two minutes that the machine slept
	}
	for i := range 30 {
		put(1+270+i, float64(10*i)) // after a new start
	}
	put(320, 300)
	check(t, r.Roll(t.Context()))
	end := epoch().Add(5 * time.Minute)
	for expr, want := range map[string]float64{"test_reads_total": 290, "test_reads_total:max": 10, "test_reads_total:min": 10} {
		q, err := r.tiers[1].querier(end.UnixMilli(), end.UnixMilli())
		check(t, err)
		m, err := matchers([]string{fmt.Sprintf("{__name__=%q}", expr)})
		check(t, err)
		n := 0
		for set := q.Select(t.Context(), false, nil, m[0]...); set.Next(); {
			for it := set.At().Iterator(nil); it.Next() != 0; n++ {
				if _, got := it.At(); math.Abs(got-want) > 1e-6 {
					t.Errorf("%s is %v, want %v", expr, got, want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s has %d values, want 1", expr, n)
		}
		shut(t, q)
	}
}

// What a counter rose by in an interval is known though it began anew in it.
func TestCountersThatBeginAnew(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	s := New("test_reads_total")
	value := func(minute int) float64 { // begins anew after 20 and after 80 minutes
		return float64([]int{minute, minute - 20, minute - 80}[map[bool]int{true: 1}[minute >= 20]+map[bool]int{true: 1}[minute >= 80]])
	}
	for second := 0; second <= 2*3600+30; second += 10 {
		at := epoch().Add(time.Duration(second) * time.Second)
		if a, err := r.Append([]Frame{{at, []Value{{s, value(second / 60)}}}}); err != nil || a.Kept != 1 {
			t.Fatal(a, err)
		}
	}
	check(t, r.Roll(t.Context()))
	for tier := 1; tier < Tiers; tier++ {
		q, err := r.tiers[tier].querier(epoch().Add(time.Hour).UnixMilli(), epoch().Add(2*time.Hour).UnixMilli())
		check(t, err)
		m, err := matchers([]string{"test_reads_total"})
		check(t, err)
		rise, last := 0.0, math.NaN()
		for set := q.Select(t.Context(), false, nil, m[0]...); set.Next(); {
			for it := set.At().Iterator(nil); it.Next() != 0; {
				_, v := it.At()
				switch {
				case v < last:
					rise += v
				case v >= last:
					rise += v - last
				}
				last = v
			}
		}
		// 40 to 59 of the first life, then 0 to 40
		if want := 19.0 + 40; rise != want {
			t.Errorf("tier %d: it rose by %v, want %v", tier, rise, want)
		}
		shut(t, q)
	}
}

// A counter that begins anew in a gap is seen to, though it is above the value
// before the gap when the interval ends.
func TestCountersThatBeginAnewInAGap(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	s := New("test_reads_total")
	for second := 0; second <= 4*3600+30; second += 10 {
		v := float64(second)
		switch {
		case second > 3000 && second <= 3720: // of the first hour, and of the second
			continue
		case second > 3720:
			v = float64(second - 3700)
		}
		if a, err := r.Append([]Frame{{epoch().Add(time.Duration(second) * time.Second), []Value{{s, v}}}}); err != nil || a.Kept != 1 {
			t.Fatal(a, err)
		}
	}
	check(t, r.Roll(t.Context()))
	for tier := 1; tier < Tiers; tier++ {
		q, err := r.tiers[tier].querier(epoch().UnixMilli(), epoch().Add(4*time.Hour).UnixMilli())
		check(t, err)
		m, err := matchers([]string{"test_reads_total"})
		check(t, err)
		rise, last := 0.0, 0.0
		for set := q.Select(t.Context(), false, nil, m[0]...); set.Next(); {
			for it := set.At().Iterator(nil); it.Next() != 0; {
				_, v := it.At()
				if v >= last {
					v, last = v-last, v
				} else {
					last = v
				}
				rise += v
			}
		}
		// 0 to 3,000 of the first life, then 30 to 10,700
		if want := 3000.0 + 4*3600 - 3700; rise != want {
			t.Errorf("tier %d: it rose by %v, want %v", tier, rise, want)
		}
		shut(t, q)
	}
}

// A query takes little of the memory of who records; one that would take more
// is refused. Whoever only reads has more of it.
func TestQueriesBesideRecordingAreSmall(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(dir))
	fill(t, r, epoch(), mostBeside/2+1000, time.Second)
	q := Query{Expr: `{__name__=~"test_.+"}[2d]`, To: epoch().Add((mostBeside/2 + 1000) * time.Second)}
	if _, err := r.Query(t.Context(), q); err == nil || !strings.Contains(err.Error(), "too many samples") {
		t.Errorf("a query of all: %v", err)
	}
	shut(t, r)
	reader, err := OpenReader(dir)
	check(t, err)
	defer shut(t, reader)
	if _, err := reader.Query(t.Context(), q); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := reader.Query(ctx, q); !errors.Is(err, ErrTimeout) {
		t.Errorf("a query without time: %v", err)
	}
}

// What is offset reaches into tiers that a query of now does not.
func TestReach(t *testing.T) {
	for expr, want := range map[string]time.Duration{
		"x": 0, "x offset 7d": 7 * 24 * time.Hour, "rate(x[5m] offset 1h)": time.Hour + 5*time.Minute,
		"max_over_time(rate(x[5m])[1h:1m] offset 1d) - x": 25*time.Hour + 5*time.Minute, "sum by (": 0,
	} {
		if got, at := reach(expr); got != want || at != none {
			t.Errorf("%s reaches %v back, want %v; %d", expr, got, want, at)
		}
	}
	if _, at := reach("x @ 1700000000 + x @ 1600000000"); at != 1600000000000 {
		t.Errorf("the earliest is %d", at)
	}
}

// A gap in a recording that has just begun is a gap, although the coarser tiers
// are younger than the query.
func TestGapsOfAYoungRecording(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	fill(t, r, epoch().Add(2*time.Minute), 120, time.Second)
	fill(t, r, epoch().Add(20*time.Minute), 120, time.Second)
	check(t, r.Roll(t.Context()))
	for _, from := range []time.Duration{-time.Hour, 0, 3 * time.Minute} {
		got := ask(t, r, Query{Expr: "test_depth", From: epoch().Add(from), To: epoch().Add(22 * time.Minute), Step: 10 * time.Second})
		for _, l := range got.Lines {
			for _, p := range l.Points {
				if at := p.At.Sub(epoch()); at > 5*time.Minute && at < 20*time.Minute {
					t.Errorf("from %v: a value at %v, in the gap", from, at)
				}
			}
		}
	}
}

// Chunks that are full do not stay in memory until there is a block of them.
func TestFullChunksLeaveMemory(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(dir))
	defer shut(t, r)
	var all []*Series
	for n := range 100 {
		all = append(all, New("test_noise", Label{"device", fmt.Sprint(n)}))
	}
	for i := range 1000 {
		f := Frame{At: epoch().Add(time.Duration(i) * time.Second)}
		for n, s := range all {
			f.Values = append(f.Values, Value{s, math.Sqrt(float64(1000*n + i))})
		}
		_, err := r.Append([]Frame{f})
		check(t, err)
	}
	check(t, r.Maintain(t.Context()))
	files, err := filepath.Glob(filepath.Join(dir, "raw/chunks_head/*"))
	check(t, err)
	held := 0
	for _, f := range files { // room is taken for more
		b, err := os.ReadFile(f)
		check(t, err)
		held += len(bytes.TrimRight(b, "\x00"))
	}
	if held < 400_000 { // of 800,000 bytes of values that cannot be packed, and a buffer before the file
		t.Errorf("%d bytes are in files, of 100,000 values", held)
	}
	if n := count(t, r, "test_noise{device=\"7\"}", epoch(), epoch().Add(time.Hour)); n != 1000 {
		t.Errorf("%d values are found, want 1000", n)
	}
}

// What is being recorded can be read series by series, all of them or by name, as
// from a copy.
func TestSamplesWhileRecording(t *testing.T) {
	r := open(t, options(t.TempDir()))
	defer shut(t, r)
	fill(t, r, epoch(), 100, time.Second)
	count := func(names ...string) map[string]int {
		all := map[string]int{}
		_, err := r.Samples(t.Context(), epoch(), epoch().Add(time.Hour), time.Second, names, func(l *Line, _ time.Duration) { all[l.Name] += len(l.Points) })
		check(t, err)
		return all
	}
	if all := count(); len(all) != 2 || all["test_reads_total"] != 100 || all["test_depth"] != 100 {
		t.Errorf("all: %v", all)
	}
	if one := count("test_depth", "test_other"); len(one) != 1 || one["test_depth"] != 100 {
		t.Errorf("by name: %v", one)
	}
}
