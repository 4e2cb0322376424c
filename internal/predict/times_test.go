package predict

import (
	"fmt"
	"math"
	"testing"
)

// Of 1,000 calls 200 wait, 1 to 2 ms evenly; the others take 10 us. Half of the pages
// are hits now.
func TestTimes(t *testing.T) {
	r := &Reads{Calls: 1000, Waits: SortWaits([]Waited{{0.0015, 0.002, 100}, {0.001, 0.0015, 100}})}
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

// Nothing is said of what was not seen: too few calls that wait, no calls, or no time
// of a hit.
func TestTimesUnknown(t *testing.T) {
	for _, r := range []*Reads{
		{Calls: 1000, Hits: []float64{1e-6}, Waits: []Waited{{0.001, 0.002, 10}}},
		{Calls: 10, Hits: []float64{1e-6}, Waits: []Waited{{0.001, 0.002, 100}}},
		{Calls: 1000, Waits: []Waited{{0.001, 0.002, 100}}},
	} {
		c := &Curve{Now: 0.5, Points: []Point{{Hit: 0, Low: 0, High: 0}}}
		c.AddTimes(r)
		if x := &c.Points[0]; x.P99 != nil {
			t.Errorf("%+v: %+v", r, x.P99)
		}
	}
	c := &Curve{Now: 1, Points: []Point{{Hit: 0.5, Low: 0.5, High: 0.5}, {Hit: 1, Low: 1, High: 1}}}
	c.AddTimes(&Reads{Calls: 1000, Hits: []float64{1e-6}})
	if c.Points[0].P99 != nil || c.Points[1].P99 == nil || fmt.Sprint(c.Points[1].P99.Value) != "1e-06" {
		t.Errorf("where nothing waited: %+v", c.Points)
	}
}
