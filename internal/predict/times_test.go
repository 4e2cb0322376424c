package predict

import (
	"fmt"
	"math"
	"testing"
)

func asNow(*Point) float64 { return 1 }

// Of 1,000 calls 200 wait, 1 to 2 ms evenly; the others take 10 us. Half of the pages
// are hits now.
func TestTimes(t *testing.T) {
	r := &Reads{Calls: 1000, Rate: asNow, Waits: SortWaits([]Waited{{0.0015, 0.002, 100}, {0.001, 0.0015, 100}})}
	for range 100 {
		r.Hits = append(r.Hits, 10e-6)
	}
	c := &Curve{Now: 0.5}
	for _, hit := range []float64{0.5, 0.75, 0.98, 0, 1} {
		c.Points = append(c.Points, Point{Hit: hit, Low: max(0, hit-0.02), High: min(1, hit+0.02)})
	}
	c.AddTimes(r)
	for i, want := range []struct{ median, p99 float64 }{
		{10e-6, 10e-6 + 0.001 + 0.001*0.19/0.2}, // 20 % wait: the slowest hundredth is 95 % of their way
		{10e-6, 10e-6 + 0.001 + 0.001*0.09/0.1},
		{10e-6, 10e-6},                          // 0.8 % wait
		{10e-6, 10e-6 + 0.001 + 0.001*0.39/0.4}, // 40 % wait
		{10e-6, 10e-6},
	} {
		x := &c.Points[i]
		if x.Median == nil || x.P99 == nil || math.Abs(x.Median.Value-want.median) > 1e-9 || math.Abs(x.P99.Value-want.p99) > 1e-9 {
			t.Errorf("hit ratio %v: %+v, %+v, want %+v", x.Hit, x.Median, x.P99, want)
			continue
		}
		if !(x.P99.Low <= x.P99.Value && x.P99.Value <= x.P99.High && x.Median.High == 20e-6) {
			t.Errorf("hit ratio %v: intervals %+v, %+v", x.Hit, x.Median, x.P99)
		}
	}
	if x := &c.Points[2]; x.P99.High < 0.001 { // up to 1.6 % wait
		t.Errorf("more than a hundredth may wait: %+v", x.P99)
	}
}

// Of 10,000 calls 200 wait, 1 ms, and of the others every tenth loses the processor for
// 100 us. Where all are hits and half as many pages come, a twentieth of all does.
func TestTimesOfCallsThatLoseTheProcessor(t *testing.T) {
	r := &Reads{Calls: 10000, Waits: []Waited{{0.001, 0.001, 200}}, Late: []Waited{{100e-6, 100e-6, 980}}, Hits: []float64{10e-6}}
	r.Rate = func(x *Point) float64 {
		if x.Hit == 1 {
			return 0.5
		}
		return 1
	}
	c := &Curve{Now: 0.5, Points: []Point{{Hit: 0.5, Low: 0.5, High: 0.5}, {Hit: 0.6, Low: 0.6, High: 0.6}, {Hit: 1, Low: 1, High: 1}}}
	c.AddTimes(r)
	for i, want := range []float64{10e-6 + 0.001, 10e-6 + 0.001, 10e-6 + 100e-6} {
		if got := c.Points[i].P99; got == nil || math.Abs(got.Value-want) > 1e-9 {
			t.Errorf("hit ratio %v: %+v, want %v", c.Points[i].Hit, got, want)
		}
	}
	if late := r.quantile(0.94, 0, 0.05, 0, 0); late != 10e-6 {
		t.Errorf("within %v of 94 of 100 calls, of which 5 are late", late)
	}
	if late := r.quantile(0.96, 0, 0.05, 0, 0); math.Abs(late-110e-6) > 1e-9 {
		t.Errorf("within %v of 96 of 100 calls, of which 5 are late", late)
	}
}

// Six of ten calls read what was read just before, and take 1 us in place of 10.
func TestTimesOfWarmPages(t *testing.T) {
	r := &Reads{Calls: 1000, Rate: asNow, Warm: 1e-6, Hits: []float64{10e-6}}
	c := &Curve{Now: 1, near: 0.6, Points: []Point{{Hit: 1, Low: 1, High: 1}}}
	c.AddTimes(r)
	if x := &c.Points[0]; x.Median.Value != 1e-6 || x.P99.Value != 10e-6 {
		t.Errorf("%+v, %+v", x.Median, x.P99)
	}
}

// Nothing is said of what was not seen: too few calls that wait, no calls, or no time
// of a hit.
func TestTimesUnknown(t *testing.T) {
	for _, r := range []*Reads{
		{Calls: 1000, Rate: asNow, Hits: []float64{1e-6}, Waits: []Waited{{0.001, 0.002, 10}}},
		{Calls: 10, Rate: asNow, Hits: []float64{1e-6}, Waits: []Waited{{0.001, 0.002, 100}}},
		{Calls: 1000, Rate: asNow, Waits: []Waited{{0.001, 0.002, 100}}},
	} {
		c := &Curve{Now: 0.5, Points: []Point{{Hit: 0, Low: 0, High: 0}}}
		c.AddTimes(r)
		if x := &c.Points[0]; x.P99 != nil {
			t.Errorf("%+v: %+v", r, x.P99)
		}
	}
	c := &Curve{Now: 1, Points: []Point{{Hit: 0.5, Low: 0.5, High: 0.5}, {Hit: 1, Low: 1, High: 1}}}
	c.AddTimes(&Reads{Calls: 1000, Rate: asNow, Hits: []float64{1e-6}})
	if c.Points[0].P99 != nil || c.Points[1].P99 == nil || fmt.Sprint(c.Points[1].P99.Value) != "1e-06" {
		t.Errorf("where nothing waited: %+v", c.Points)
	}
}
