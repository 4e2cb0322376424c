package predict

import (
	"math"
	"testing"
)

// simulated lets time pass in steps until dirty memory reaches a level.
func simulated(d Dirty, level float64) float64 {
	const step = 1e-4
	at := 0.0
	for now := d.Now; now < level; at += step {
		now += d.Rate * step
		if now > d.Background {
			now -= d.Drain * step
		}
		if at > 1000 {
			return math.Inf(1)
		}
	}
	return at
}

// The formula says what passing time does.
func TestPausesAgainstTime(t *testing.T) {
	for _, d := range []Dirty{
		{Limit: 1000, Background: 500, Now: 0, Rate: 100, Drain: 40},
		{Limit: 1000, Background: 500, Now: 600, Rate: 100, Drain: 40},
		{Limit: 1000, Background: 100, Now: 50, Rate: 300, Drain: 10},
		{Limit: 1000, Background: 500, Now: 100, Rate: 100, Drain: 0},
	} {
		p := d.Pauses()
		if want := simulated(d, (d.Limit+d.Background)/2); p.After == nil || math.Abs(*p.After-want) > 0.01*want+0.001 || math.Abs(*p.Bytes-*p.After*d.Rate) > 1e-6 {
			t.Errorf("%+v: %+v, want %g s", d, p, want)
		}
		if want := d.Rate * simulated(d, d.Limit); p.Behind == nil || math.Abs(*p.Behind-want) > 0.01*want+0.1 {
			t.Errorf("%+v: behind after %v, want %g", d, p.Behind, want)
		}
		if p.Bounds != (d.Drain == 0) || p.Then != d.Drain {
			t.Errorf("%+v: %+v", d, p)
		}
	}
	if p := (Dirty{Limit: 10, Background: 5, Rate: 1, Drain: 2}).Pauses(); p.After != nil || p.Behind != nil {
		t.Errorf("paused, though it is drained faster: %+v", p)
	}
	if p := (Dirty{Limit: 10, Background: 5, Now: 9, Rate: 1, Drain: 2}).Pauses(); p.After == nil || *p.After != 0 || p.Behind != nil {
		t.Errorf("not paused, or for good, above the point: %+v", p)
	}
	if d := (Dirty{Limit: 10, Background: 5, Now: 1, Rate: 1, Drain: 2}).Scaled(2, 3); d != (Dirty{Limit: 20, Background: 10, Now: 1, Rate: 1, Drain: 6}) {
		t.Errorf("%+v", d)
	}
}
