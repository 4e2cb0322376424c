package figure

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"iocause/internal/sample"
)

// seen is ten seconds of a device: so many requests a second of a size, so many of them
// in flight by turns, and how long they took by depth.
func seen(ops, size float64, depths []float64, latency map[int]float64, most float64) *sample.Window {
	began := time.Unix(1000, 0)
	r := sample.NewRecorder(began)
	e := sample.Entity{Device: "vda", Class: "read"}
	total := 0.0
	for i := range 100 {
		r.At(began.Add(time.Duration(i+1) * 100 * time.Millisecond))
		d := depths[i%len(depths)]
		total += d / 10
		one := sample.Entity{Device: "vda"}
		r.Put(sample.BlockBinOps, one, ops/10, "test")
		r.Put(sample.BlockBinBytes, one, ops/10*size, "test")
		r.Put(sample.BlockBinTime, one, d/10, "test")
	}
	r.Put(sample.BlockOps, e, ops*10, "test")
	r.Put(sample.BlockBytes, e, ops*10*size, "test")
	r.Put(sample.BlockDeviceTime, e, total, "test")
	r.Put(sample.BlockMaxFlight, sample.Entity{Device: "vda"}, most, "test")
	for depth, t := range latency {
		c := sample.Entity{Device: "vda", Class: fmt.Sprintf("read %.0f %d", size, depth)}
		r.Put(sample.BlockDepthOps, c, 1000, "test")
		r.Put(sample.BlockDepthTime, c, 1000*t, "test")
	}
	return r.Window(began.Add(10 * time.Second))
}

func (f *Forecast) with(t *testing.T, name string) Range {
	t.Helper()
	for _, c := range f.Changes {
		if c.Name == name {
			return c.Ops
		}
	}
	t.Fatalf("%q is not among %+v", name, f.Changes)
	return Range{}
}

// At a limit of 2,000 operations a second the rate is flat while the number in flight
// varies: half and twice of it, and blocks.
func TestForecastAtALimit(t *testing.T) {
	f := ForecastOf(seen(2000, 4096, []float64{4, 16}, map[int]float64{1: 100e-6, 8: 5e-3}, 16), "vda")
	if f == nil || f.Limit != LimitOps || math.Abs(f.Changes[0].Ops.Value-2000) > 1 {
		t.Fatalf("%+v", f)
	}
	for name, want := range map[string]Range{
		"a limit half as high": {1000, 1000, 1000}, "a limit twice as high": {4000, 4000, 4000},
		"twice as many in flight": {2000, 2000, 2000}, "requests twice as large": {2000, 1000, 2000}, "requests half as large": {2000, 2000, 2000},
	} {
		if got := f.with(t, name); math.Abs(got.Value-want.Value) > 1 || math.Abs(got.Low-want.Low) > 1 || math.Abs(got.High-want.High) > 1 {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	// the same of bytes: larger requests are fewer
	f = ForecastOf(seen(200, 131072, slices.Concat(slices.Repeat([]float64{4}, 10), slices.Repeat([]float64{16}, 10)), map[int]float64{8: 40e-3}, 16), "vda")
	if f.Limit != LimitBytes || math.Abs(f.with(t, "requests twice as large").Value-100) > 0.1 {
		t.Errorf("%+v", f)
	}
	// a limit far above what the programs ask for gives no more than they can use: 8 in
	// flight of 2 ms each are 4,000 a second
	f = ForecastOf(seen(3500, 4096, []float64{4, 12}, map[int]float64{1: 2e-3, 8: 2.3e-3}, 8), "vda")
	if got := f.with(t, "a limit twice as high"); got.High > 4500 || got.Low < 3500 {
		t.Errorf("%+v", got)
	}
}

// One thread reads one block after the other: 8,000 a second of 100 us each, and 25 us
// of its own between two.
func TestForecastOfLatency(t *testing.T) {
	f := ForecastOf(seen(8000, 4096, []float64{0.8}, map[int]float64{1: 100e-6}, 1), "vda")
	if f == nil || f.Limit != "" {
		t.Fatalf("%+v", f)
	}
	if got := f.with(t, "a device twice as fast"); math.Abs(got.Value-1/75e-6) > 1 || got.High < 15999 {
		t.Errorf("%+v, want %.0f", got, 1/75e-6)
	}
	if got := f.with(t, "twice as many in flight"); got.Value != 16000 || got.Low != 8000 {
		t.Errorf("%+v", got)
	}
	if got := f.with(t, "half as many in flight"); got.Value != 8000 {
		t.Errorf("one at a time already: %+v", got)
	}
	// what was seen at the depth counts: two in flight do 12,000
	f = ForecastOf(seen(8000, 4096, []float64{0.8}, map[int]float64{1: 100e-6, 2: 208e-6}, 3), "vda")
	if got := f.with(t, "twice as many in flight"); got.Value > 12500 || got.Value < 11500 {
		t.Errorf("%+v", got)
	}
}

// Nothing is said of a device of which too little was seen.
func TestNoForecast(t *testing.T) {
	if f := ForecastOf(seen(1, 4096, []float64{0.001}, nil, 1), "vda"); f != nil {
		t.Errorf("%+v", f)
	}
	if f := ForecastOf(seen(1000, 4096, []float64{1}, nil, 1), "vdb"); f != nil {
		t.Errorf("%+v", f)
	}
}
