//go:build !light

package series

import (
	"context"
	"fmt"
	"testing"
	"time"

	"iocause/internal/require"
)

// monthsOf is how long the coarse tiers are kept, and monthsSeries how many series
// an agent has on a small machine.
const (
	monthsOf     = 396 // days
	monthsSeries = 170
)

// BenchmarkMonths opens a recording of 13 months, as the agent and as a query do,
// and asks it for a year. Only the coarse tiers are there. It takes a minute or
// two to make: go test -bench Months -benchtime 3x.
func BenchmarkMonths(b *testing.B) {
	dir := b.TempDir()
	const day = 24 * time.Hour
	o := options(dir)
	o.Keep = [Tiers]time.Duration{2 * day, monthsOf * day, monthsOf * day}
	begin := epoch()
	end := begin.Add(monthsOf * day)
	o.Now = func() time.Time { return end }
	record(b, o, begin, end)
	b.Run("open", func(b *testing.B) {
		for range b.N {
			r, err := Open(o)
			require.NoError(b, err)
			require.NoError(b, r.Close())
		}
	})
	r, err := OpenReader(dir)
	require.NoError(b, err)
	defer r.Close()
	b.Run("open to read", func(b *testing.B) {
		for range b.N {
			r, err := OpenReader(dir)
			require.NoError(b, err)
			require.NoError(b, r.Close())
		}
	})
	from := end.Add(-365 * day)
	for name, q := range map[string]Query{
		"a year of one":   {Expr: `test_depth{device="d007"}`, From: from, To: end, Step: 365 * day / 120},
		"a year of all":   {Expr: `avg(test_depth)`, From: from, To: end, Step: 365 * day / 120},
		"a year by hours": {Expr: `max_over_time({__name__="test_depth:max", device="d007"}[1h])`, From: from, To: end, Step: time.Hour},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				got, err := r.Query(context.Background(), q)
				require.NoError(b, err)
				if len(got.Lines) != 1 || len(got.Lines[0].Points) < 100 {
					b.Fatalf("%d lines", len(got.Lines))
				}
			}
		})
	}
}

// record makes the coarse tiers of gauges, which have three series of each, a day
// at a time.
func record(b *testing.B, o Options, begin, end time.Time) {
	b.Helper()
	r, err := Open(o)
	require.NoError(b, err)
	var all []*Series
	for i := range monthsSeries {
		for _, name := range []string{"test_depth", "test_depth:max", "test_depth:min"} {
			all = append(all, New(name, Label{"device", fmt.Sprintf("d%03d", i)}))
		}
	}
	const day = 24 * time.Hour
	for ; begin.Before(end); begin = begin.Add(day) {
		for _, t := range r.tiers[1:] {
			var frames []Frame
			for at := begin; at.Before(begin.Add(day)); at = at.Add(t.resolution) {
				f := Frame{At: at}
				for i, x := range all {
					f.Values = append(f.Values, Value{x, float64((at.Unix()/300*7919 + int64(i)) % 1009)})
				}
				frames = append(frames, f)
			}
			if a, err := t.append(frames); err != nil || a.Refused > 0 {
				b.Fatal(a, err)
			}
		}
		require.NoError(b, r.Maintain(context.Background()))
	}
	require.NoError(b, r.Close())
}
