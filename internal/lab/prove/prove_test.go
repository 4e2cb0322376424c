package prove

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// plant is a subject whose work is known: so much, times what the remedies in
// force give.
type plant struct {
	rate   float64
	factor map[string]float64
	fails  string
	on     map[string]bool
	turns  int
}

func (p *plant) Measure(context.Context, time.Duration) (float64, error) {
	p.turns++
	rate := p.rate
	for name := range p.on {
		rate *= p.factor[name]
	}
	return rate, nil
}

func (p *plant) Remedies() []Remedy {
	var all []Remedy
	for _, name := range []string{"limit", "sync", "neighbour", "nothing"} {
		all = append(all, Remedy{Name: name, Causes: []string{"cause of " + name}, Apply: func(context.Context) (func() error, error) {
			if name == p.fails {
				return nil, errors.New("it is not to be had")
			}
			p.on[name] = true
			return func() error { delete(p.on, name); return nil }, nil
		}})
	}
	return all
}

func TestTry(t *testing.T) {
	for _, c := range []struct {
		name   string
		factor map[string]float64
		fails  string
		want   []string
		best   string
	}{
		{"one helps most", map[string]float64{"limit": 8, "sync": 1.5, "neighbour": 1.04, "nothing": 1}, "", []string{"cause of limit"}, "limit"},
		{"two within noise", map[string]float64{"limit": 3, "sync": 3.2, "neighbour": 1, "nothing": 1}, "", []string{"cause of limit", "cause of sync"}, "sync"},
		{"none helps by a tenth", map[string]float64{"limit": 1.09, "sync": 0.5, "neighbour": 1, "nothing": 1}, "", []string{"healthy"}, ""},
		{"one cannot be tried", map[string]float64{"limit": 8, "sync": 1.5, "neighbour": 1, "nothing": 1}, "limit", []string{"cause of sync"}, "sync"},
	} {
		p := &plant{rate: 100, factor: c.factor, fails: c.fails, on: map[string]bool{}}
		effects, err := Try(context.Background(), p, Plan{Rounds: 2, Turn: time.Millisecond})
		if err != nil || len(p.on) != 0 {
			t.Fatalf("%s: %v; still in force: %v", c.name, err, p.on)
		}
		for _, e := range effects {
			if e.Remedy != c.fails && math.Abs(e.Factor-c.factor[e.Remedy]) > 1e-9 {
				t.Errorf("%s: %s gives %g, want %g", c.name, e.Remedy, e.Factor, c.factor[e.Remedy])
			}
		}
		truth := Prove(effects, []string{"healthy"})
		if !slices.Equal(truth.Causes, c.want) || truth.Best != c.best || truth.Healthy() != (c.best == "") {
			t.Errorf("%s: %+v, want %v by %q", c.name, truth, c.want, c.best)
		}
	}
}

// bursts is a plant whose work goes up and down from one short turn to the next.
type bursts struct{ plant }

func (b *bursts) Measure(ctx context.Context, d time.Duration) (float64, error) {
	rate, err := b.plant.Measure(ctx, d)
	if d < 2*time.Millisecond {
		rate *= []float64{1, 0.2, 0.9, 0.3, 0.25, 1.1, 0.2}[b.turns%7]
	}
	return rate, err
}

// What short turns cannot tell, longer ones do; where there is no time for these, it
// stays open.
func TestLongTurns(t *testing.T) {
	for _, c := range []struct {
		longest time.Duration
		unsure  bool
	}{{time.Minute, false}, {time.Nanosecond, true}} {
		b := &bursts{plant{rate: 100, factor: map[string]float64{"limit": 1.5, "sync": 1, "neighbour": 1, "nothing": 1}, on: map[string]bool{}}}
		effects, err := Try(context.Background(), b, Plan{Rounds: 2, Most: 5, Turn: time.Millisecond, Long: 2 * time.Millisecond, Longest: c.longest})
		if err != nil || len(b.on) != 0 {
			t.Fatalf("%v; still in force: %v", err, b.on)
		}
		unsure := false
		for _, e := range effects {
			unsure = unsure || e.Unsure
			if !c.unsure && math.Abs(e.Factor-b.factor[e.Remedy]) > 1e-9 {
				t.Errorf("%s gives %g, want %g", e.Remedy, e.Factor, b.factor[e.Remedy])
			}
		}
		if unsure != c.unsure {
			t.Errorf("with %s, it is not sure of a remedy: %v, want %v: %+v", c.longest, unsure, c.unsure, effects)
		}
	}
}

// Where no work is done in any turn, nothing is proved.
func TestNoWork(t *testing.T) {
	p := &plant{factor: map[string]float64{}, on: map[string]bool{}}
	if _, err := Try(context.Background(), p, Plan{Rounds: 2, Turn: time.Millisecond}); !errors.Is(err, ErrNoWork) {
		t.Errorf("%v, want that no work was done", err)
	}
}

// A remedy that helps once and not again is chance.
func TestChance(t *testing.T) {
	e := Effect{Remedy: "x", Causes: []string{"x"}, Before: []float64{100, 100}, With: []float64{180, 90}}
	e.settle()
	if truth := Prove([]Effect{e}, []string{"healthy"}); !truth.Healthy() {
		t.Errorf("%+v", truth)
	}
}

// Of what helps by chance, or by much or little, both are right; more turns tell.
func TestUnsure(t *testing.T) {
	for _, c := range []struct {
		with   []float64
		noise  float64
		unsure bool
		want   []string
	}{
		{[]float64{105, 135}, 0, true, []string{"healthy", "x"}},
		{[]float64{101, 103}, 0, false, []string{"healthy"}},
		{[]float64{150, 190}, 0, false, []string{"x"}},
		{[]float64{105, 135, 121, 126, 130}, 0, false, []string{"x"}},
		{[]float64{113, 114}, 0.01, false, []string{"x"}},
		{[]float64{113, 114}, 0.25, true, []string{"healthy", "x"}}, // two that agree by chance
		{[]float64{103, 104}, 0.25, true, []string{"healthy"}},      // nothing is proved
		{[]float64{300, 350}, 0.25, false, []string{"x"}},
	} {
		e := Effect{Remedy: "x", Causes: []string{"x"}, With: c.with, Noise: c.noise}
		for range c.with {
			e.Before = append(e.Before, 100)
		}
		e.settle()
		truth := Prove([]Effect{e}, []string{"healthy"})
		slices.Sort(truth.Causes)
		if e.Unsure != c.unsure || !slices.Equal(truth.Causes, c.want) {
			t.Errorf("%v: unsure is %v, want %v; %v are right, want %v", c.with, e.Unsure, c.unsure, truth.Causes, c.want)
		}
		if open := c.unsure && c.noise > mostChance && truth.Healthy(); truth.Open != open {
			t.Errorf("%v: that nothing is proved is %v, want %v", c.with, truth.Open, open)
		}
	}
}

// A limit that takes half of the time is one, by as much as its turns differ.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		factor, spread float64
		want           bool
	}{{2, 0, true}, {1.85, 0, true}, {1.75, 0.05, false}, {1.75, 0.2, true}, {1.5, 4, false}} {
		e := Effect{Factor: c.factor, Spread: c.spread}
		if got := e.Within(2); got != c.want {
			t.Errorf("%g with a spread of %g may be 2: %v", c.factor, c.spread, got)
		}
	}
}

// How much a factor differs by chance is told from the turns without any remedy.
func TestNoise(t *testing.T) {
	for _, c := range []struct {
		without []float64
		want    float64
	}{
		{[]float64{100}, 0},
		{[]float64{100, 120}, 0}, // one difference tells nothing
		{[]float64{100, 100, 100}, 0},
		{[]float64{100, 100 * math.E, 100}, math.Sqrt(0.75)},
		{[]float64{0, 100, 0, 100}, 0}, // a standstill has no logarithm
	} {
		if got := noiseOf(c.without); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.without, got, c.want)
		}
	}
}

// Only what is not sure is tried more often than planned.
func TestMoreRounds(t *testing.T) {
	p := &plant{rate: 100, factor: map[string]float64{"limit": 3, "sync": 1, "neighbour": 1, "nothing": 1}, on: map[string]bool{}}
	if _, err := Try(context.Background(), p, Plan{Rounds: 2, Most: 5, Turn: time.Millisecond}); err != nil || p.turns != 1+2*2*4 {
		t.Errorf("%d turns, want %d: %v", p.turns, 1+2*2*4, err)
	}
}

// The meter measures from line to line, whoever writes and however often.
func TestMeter(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var m Meter
	for _, every := range []time.Duration{20 * time.Millisecond, 250 * time.Millisecond} {
		pen := m.From(Number)
		line := []byte("not work\n" + map[bool]string{true: "10", false: "125"}[every < 100*time.Millisecond] + "\n") // 500 units a second
		go func() {
			for tick := time.NewTicker(every); ctx.Err() == nil; <-tick.C {
				_, _ = pen.Write(line[:5])
				_, _ = pen.Write(line[5:])
			}
		}()
	}
	if err := m.Began(ctx); err != nil {
		t.Fatal(err)
	}
	rate, err := m.Rate(ctx, time.Second, 2*time.Second)
	if err != nil || rate < 700 || rate > 1300 {
		t.Errorf("%g units a second, want 1000: %v", rate, err)
	}
	var silent Meter
	if rate, err := silent.Rate(ctx, 10*time.Millisecond, 20*time.Millisecond); rate != 0 || err != nil {
		t.Errorf("a program that does nothing has a rate of %g: %v", rate, err)
	}
}

// TestLongest begins no round that would last too long, but the first; of one turn it
// is not sure within twice the noise.
func TestLongest(t *testing.T) {
	for longest, want := range map[time.Duration]int{0: 3, 60 * time.Millisecond: 1} {
		p := &plant{rate: 100, factor: map[string]float64{"limit": 8, "sync": 1, "neighbour": 1, "nothing": 1}, on: map[string]bool{}}
		// a round of four remedies sleeps for 40 ms or more
		effects, err := Try(context.Background(), p, Plan{Rounds: 3, Turn: time.Millisecond, Settle: 5 * time.Millisecond, Longest: longest})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range effects {
			if len(e.With) != want {
				t.Errorf("%v at most: %d turns with %q, want %d", longest, len(e.With), e.Remedy, want)
			}
		}
	}
	for noise, want := range map[float64]bool{0: false, 0.02: false, 0.10: true} {
		if e := (&Effect{Before: []float64{100}, With: []float64{120}, Noise: noise}); e.unsure() != want {
			t.Errorf("1.2 times in one turn, noise %v: unsure is %v", noise, !want)
		}
	}
}
