package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/lab/prove"
)

// Options say how a situation is tried.
type Options struct {
	Binary  string        // iocause
	Scratch string        // for test files; "" as for all of the lab
	Look    time.Duration // that the diagnosis observes
	Plan    prove.Plan
	// IfNamed is to diagnose up to four times, as long as no cause is named, and to try
	// the remedies only if one is. It costs little more: most of the time goes into
	// setting up.
	IfNamed bool
}

// looks is how often at most a situation is diagnosed with IfNamed.
const looks = 4

// Usual is what fits into half a minute, or a minute and a half where the work goes up
// and down by itself.
func Usual(binary, scratch string) Options {
	return Options{Binary: binary, Scratch: scratch, Look: 5 * time.Second,
		Plan: prove.Plan{Rounds: 2, Most: 5, Turn: 700 * time.Millisecond, Long: 3 * time.Second,
			Settle: 250 * time.Millisecond, Longest: 75 * time.Second}}
}

// Run sets a situation up, diagnoses it, tries every remedy, and takes it down,
// whatever happens on the way.
func Run(ctx context.Context, h *host.Host, s *Situation, o Options, say func(string)) (p *Proof, err error) {
	begun := time.Now()
	say("set up: " + s.String())
	st, err := Stand(ctx, h, o.Binary, o.Scratch, s)
	if st != nil {
		defer func() {
			if closeErr := st.Close(); closeErr != nil {
				err = errors.Join(err, fmt.Errorf("take the situation down: %w", closeErr))
			}
		}()
	}
	if err != nil {
		return nil, err
	}
	p = &Proof{Situation: s}
	primary, named, most := "", false, 1
	if o.IfNamed {
		most = looks
	}
	for !named && p.Looks < most {
		if err := p.ask(ctx, st, o, say); err != nil {
			return nil, err
		}
		if primary, err = p.primary(); err != nil {
			return nil, err
		}
		named = !slices.Contains(calm, primary)
		p.Looks++
	}
	p.Untried = o.IfNamed && (!named || primary == string(diagnose.Unknown))
	if p.Untried {
		p.Truth = prove.Truth{Causes: calm}
		p.Verdict, err = st.judge(p.Report, nil, &p.Truth)
		p.Seconds = time.Since(begun).Seconds()
		return p, err
	}
	say("try the remedies")
	if err := p.try(ctx, st, o, primary); err != nil {
		return nil, err
	}
	p.Truth = st.Truth(p.Effects, p.Processors, p.Writing)
	if p.Verdict, err = st.judge(p.Report, p.Effects, &p.Truth); err != nil {
		return nil, err
	}
	p.Seconds = time.Since(begun).Seconds()
	return p, nil
}

// try tries the remedies. Where it is only asked whether there is a cause at all, the
// first ones are those of the cause that was named: if one of them surely helps, the
// others need not be tried.
func (p *Proof) try(ctx context.Context, st *Standing, o Options, primary string) (err error) {
	if o.IfNamed {
		short := o.Plan
		short.Long = 0 // what these do not tell is measured below
		if p.Effects, err = prove.Try(ctx, &against{st, primary}, short); err != nil {
			return err
		}
		if e, tried := prove.Of(p.Effects, primary); tried && !e.Unsure && e.Factor >= prove.Helps {
			return nil
		}
	}
	p.Effects, err = prove.Try(ctx, st, o.Plan)
	return err
}

// against is a situation with the remedies of one cause alone.
type against struct {
	*Standing
	cause string
}

// Remedies implements prove.Subject.
func (a *against) Remedies() []prove.Remedy {
	return slices.DeleteFunc(a.Standing.Remedies(), func(r prove.Remedy) bool { return !slices.Contains(r.Causes, a.cause) })
}

// attempts is how often the machine is diagnosed until the answer is about the
// situation.
const attempts = 3

// ask lets the situation be diagnosed. Where somebody else on the machine waits
// longer, each time, nothing can be said of the answer.
func (p *Proof) ask(ctx context.Context, st *Standing, o Options, say func(string)) (err error) {
	who := ""
	for range attempts {
		say("diagnose")
		if err = p.diagnose(ctx, st, o.Look, o.Plan.Turn); err != nil {
			return err
		}
		if who, err = st.stranger(p.Report); err != nil || who == "" {
			return err
		}
	}
	return fmt.Errorf("%s waits longest but is not part of the situation, so nothing can be proved; repeat it on a quiet machine", who)
}
