// Package prove finds the true cause of a situation by intervention: each remedy
// is really applied, and the work that gets done is measured with and without it.
// It imports nothing of iocause.
package prove

import (
	"context"
	"errors"
	"fmt"
	"iocause/internal/lab"
	"math"
	"slices"
	"time"
)

// Remedy is something that can be done about a situation while it stands.
type Remedy struct {
	Name   string   // what is done, for people
	Causes []string // the causes that it removes: what is true if it helps
	Who    string   // the culprit it takes away: a pattern in the terms of the situation, "" for the victim's own doing
	// Apply does it, and says how to undo it. What fails half-way undoes itself.
	Apply func(ctx context.Context) (undo func() error, err error)
}

// Subject is a situation that stands and can be measured.
type Subject interface {
	// Measure is the work of the victim a second, over about d. It is zero when
	// the victim gets nothing done.
	Measure(ctx context.Context, d time.Duration) (float64, error)
	Remedies() []Remedy
}

// Plan is how the remedies are tried.
type Plan struct {
	Rounds int           // of all remedies
	Most   int           // of those of which it is not sure by then whether they help; 0: Rounds
	Turn   time.Duration // that is measured
	// Long is a turn of work that goes up and down by itself, as of a database that
	// writes out what it gathered every few seconds: where after Rounds it is not sure
	// of a remedy, since turns without any differ much, all is measured again in these.
	// 0: never.
	Long   time.Duration
	Settle time.Duration // after each change, before it is measured
	// Longest is how long all of it may take, 0 for any time: a round that would last
	// beyond it, if it takes as long as the one before, is not begun, but for the first.
	Longest time.Duration
}

// Helps is the factor from which on a remedy counts as one.
const Helps = 1.10

// Effect is what a remedy did.
type Effect struct {
	Remedy string    `json:"remedy"`
	Causes []string  `json:"causes"`
	Who    string    `json:"who,omitempty"`
	Before []float64 `json:"before"`           // work a second, of the turns next to its own
	With   []float64 `json:"with"`             // with the remedy
	Factor float64   `json:"factor"`           // median of With over Before, turn by turn; 0 when it could not be tried
	Spread float64   `json:"spread"`           // of the factors: the largest by the smallest, less 1
	Noise  float64   `json:"noise,omitempty"`  // standard deviation of the logarithm of one factor, as the turns without any remedy differ; 0: not known
	Unsure bool      `json:"unsure,omitempty"` // whether it helps
	Failed string    `json:"failed,omitempty"`
}

// Try applies each remedy in turn, between turns without any, and undoes it. An
// error means that the situation itself could not be measured or put back.
func Try(ctx context.Context, s Subject, p Plan) ([]Effect, error) {
	t := &trial{s: s, p: p, remedies: s.Remedies()}
	for i, r := range t.remedies {
		t.effects = append(t.effects, Effect{Remedy: r.Name, Causes: r.Causes, Who: r.Who})
		t.open = append(t.open, i)
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	last := begun // when the last round began
	for round := 0; round < max(p.Rounds, p.Most); round++ {
		now := time.Now()
		if round > 0 && p.Longest > 0 && now.Sub(begun)+now.Sub(last) > p.Longest {
			break
		}
		last = now
		if err := t.round(ctx); err != nil {
			return t.effects, err
		}
		if round+1 < p.Rounds {
			continue
		}
		t.open = slices.DeleteFunc(t.open, func(i int) bool { return !t.effects[i].unsure() })
		if t.longer(time.Since(begun)) {
			t.p.Turn = p.Long
			if err := t.begin(ctx); err != nil {
				return t.effects, err
			}
			round = -1
		}
	}
	for i := range t.effects {
		t.effects[i].settle()
	}
	if t.most == 0 {
		return t.effects, fmt.Errorf("measure the situation: %w in %d turns of %s, with and without remedies", ErrNoWork, len(t.without), t.p.Turn)
	}
	return t.effects, nil
}

// trial is what was measured so far.
type trial struct {
	s        Subject
	p        Plan
	remedies []Remedy
	effects  []Effect
	open     []int     // the remedies that are tried in the next round
	without  []float64 // work a second, of each turn of this length without any remedy
	most     float64   // work a second, of all turns
}

// begin drops what was measured of the open remedies, and measures the first turn
// without any.
func (t *trial) begin(ctx context.Context) error {
	for _, i := range t.open {
		t.effects[i].Before, t.effects[i].With = nil, nil
	}
	t.without = nil
	return t.measure(ctx)
}

// measure adds a turn without any remedy.
func (t *trial) measure(ctx context.Context) error {
	got, err := t.s.Measure(ctx, t.p.Turn)
	if err != nil {
		return fmt.Errorf("measure the situation: %w", err)
	}
	t.without, t.most = append(t.without, got), max(t.most, got)
	return nil
}

// round tries each open remedy once.
func (t *trial) round(ctx context.Context) error {
	for _, i := range t.open {
		e := &t.effects[i]
		if e.Failed != "" {
			continue
		}
		with, err := try(ctx, t.s, &t.remedies[i], t.p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed *failure
		if errors.As(err, &failed) {
			e.Failed = failed.Error()
		} else if err != nil {
			return err
		}
		if err := lab.Sleep(ctx, t.p.Settle); err != nil {
			return err
		}
		before := t.without[len(t.without)-1]
		if err := t.measure(ctx); err != nil {
			return err
		}
		if e.Failed == "" {
			e.Before, e.With = append(e.Before, (before+t.without[len(t.without)-1])/2), append(e.With, with)
			t.most = max(t.most, with)
		}
		for _, i := range t.open {
			t.effects[i].Noise = noiseOf(t.without)
		}
	}
	return nil
}

// longer tells whether turns without any remedy differ so much that hardly any number
// of them would tell of the open ones, and as many long ones as there should be fit
// into the time that is left.
func (t *trial) longer(gone time.Duration) bool {
	n := time.Duration(2*len(t.open)*t.p.Rounds + 1)
	fits := t.p.Longest == 0 || gone+n*(t.p.Long+t.p.Settle) <= t.p.Longest
	return len(t.open) > 0 && t.p.Turn < t.p.Long && fits && noiseOf(t.without) > mostChance
}

// mostChance is the noise from which on five turns cannot tell a remedy that gives a
// fifth more from one that gives nothing.
const mostChance = 0.20

// ErrNoWork is a situation that got nothing done in any turn: that no remedy changed
// that proves nothing, and least of all that it is healthy.
var ErrNoWork = errors.New("no work was done")

// failure is a remedy that could not be tried; the situation is as it was.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// try measures with one remedy.
func try(ctx context.Context, s Subject, r *Remedy, p Plan) (with float64, err error) {
	undo, err := r.Apply(ctx)
	if err != nil {
		return 0, &failure{fmt.Errorf("%s: %w", r.Name, err)}
	}
	defer func() {
		if undoErr := undo(); undoErr != nil {
			err = fmt.Errorf("undo %q: %w", r.Name, errors.Join(undoErr, err))
		}
	}()
	if err := lab.Sleep(ctx, p.Settle); err != nil {
		return 0, err
	}
	if with, err = s.Measure(ctx, p.Turn); err != nil {
		return 0, &failure{fmt.Errorf("measure with %q: %w", r.Name, err)}
	}
	return with, nil
}

// most is the largest factor that is told: work that begins where there was none.
const most = 10000

// settle works the factor out.
func (e *Effect) settle() {
	factors := e.factors()
	if len(factors) == 0 {
		return
	}
	n := len(factors)
	e.Factor = (factors[(n-1)/2] + factors[n/2]) / 2
	if factors[0] > 0 {
		e.Spread = factors[n-1]/factors[0] - 1
	}
	e.Unsure = e.unsure()
}

// factors are those of the turns, the least first.
func (e *Effect) factors() []float64 {
	var factors []float64
	for i := range e.With {
		f := float64(most)
		switch {
		case e.Before[i] > 0:
			f = min(most, e.With[i]/e.Before[i])
		case e.With[i] == 0:
			f = 1
		}
		factors = append(factors, f)
	}
	slices.Sort(factors)
	return factors
}

// noiseOf is how much one factor differs by chance: the standard deviation of its
// logarithm, from how much turns differ that follow each other without any remedy.
// Two turns of one remedy may agree by chance; these are many.
func noiseOf(without []float64) float64 {
	var squares, n float64
	for i := 1; i < len(without); i++ {
		if without[i-1] > 0 && without[i] > 0 {
			squares += math.Pow(math.Log(without[i]/without[i-1]), 2)
			n++
		}
	}
	if n < 2 {
		return 0
	}
	// Two turns differ by the noise of both; a factor has that of one turn with the
	// remedy, and of the mean of two without.
	return math.Sqrt(squares / n / 2 * 1.5)
}

// unsure tells whether the turns differ so much that their mean may as well be on
// the other side of what counts as help: by two standard errors.
func (e *Effect) unsure() bool {
	factors := e.factors()
	n := float64(len(factors))
	if n < 1 || factors[0] <= 0 {
		return false
	}
	var sum, squares float64
	for _, f := range factors {
		sum += math.Log(f)
	}
	for _, f := range factors {
		squares += math.Pow(math.Log(f)-sum/n, 2)
	}
	off := 2 * max(math.Sqrt(squares/max(1, n-1)), e.Noise) / math.Sqrt(n)
	return math.Abs(sum/n-math.Log(Helps)) < off
}

// Truth is what the interventions prove.
type Truth struct {
	Causes []string `json:"causes"`         // any of these is right
	Best   string   `json:"best"`           // the remedy that helps most, "" when none does
	Factor float64  `json:"factor"`         // by how much
	Open   bool     `json:"open,omitempty"` // none is seen to help, but the work differs too much by itself to be sure
}

// Healthy tells whether nothing helps.
func (t *Truth) Healthy() bool { return t.Best == "" }

// noise is the least share by which two remedies must differ to be told apart.
const noise = 0.10

// mostNoise is the share by which they may differ at most and count as the same,
// however much the machine is disturbed: causes a third apart are not one.
const mostNoise = 0.30

// Prove is the verdict of the interventions: the remedy that helps most names the
// cause, and so do those that help as much within noise. Where none helps, calm
// are the causes that are right; where it is not sure whether one does, both.
func Prove(effects []Effect, calm []string) Truth {
	var best *Effect
	for i := range effects {
		if e := &effects[i]; e.helps() && (best == nil || e.Factor > best.Factor) {
			best = e
		}
	}
	if best == nil {
		t := Truth{Causes: slices.Clone(calm)}
		for i := range effects {
			e := &effects[i]
			if e.Unsure && e.Factor >= perhaps {
				t.add(e.Causes)
			}
			t.Open = t.Open || e.Unsure && e.Noise > mostChance
		}
		return t
	}
	t := Truth{Best: best.Remedy, Factor: best.Factor}
	if best.Unsure {
		t.add(calm)
	}
	for i := range effects {
		e := &effects[i]
		// What differs by less than either differs from itself is the same.
		if e.helps() && (e.Within(best.Factor) || e.Factor*(1+min(best.Spread, mostNoise)) >= best.Factor) {
			t.add(e.Causes)
		}
	}
	return t
}

// perhaps is the factor from which on a remedy of which it is not sure whether it
// helps is one that may: half of what counts.
const perhaps = 1 + (Helps-1)/2

// add adds causes that are right.
func (t *Truth) add(causes []string) {
	for _, c := range causes {
		if !slices.Contains(t.Causes, c) {
			t.Causes = append(t.Causes, c)
		}
	}
}

// helps tells whether a remedy helps, in each of its turns.
func (e *Effect) helps() bool {
	if e.Failed != "" || e.Factor < Helps {
		return false
	}
	for i := range e.With {
		if e.With[i] <= e.Before[i] {
			return false
		}
	}
	return true
}

// Within tells whether a remedy may give so many times as much, as far as chance
// lets it be told.
func (e *Effect) Within(factor float64) bool {
	return e.Factor*(1+max(noise, min(e.Spread, mostNoise))) >= factor
}

// Of is the largest effect of the remedies that remove a cause; ok is false where
// none was tried.
func Of(effects []Effect, cause string) (best Effect, ok bool) {
	for _, e := range effects {
		if e.Failed == "" && slices.Contains(e.Causes, cause) && (!ok || e.Factor > best.Factor) {
			best, ok = e, true
		}
	}
	return best, ok
}
