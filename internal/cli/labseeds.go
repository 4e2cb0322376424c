package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"iocause/internal/lab"
	"iocause/internal/lab/space"
)

// seedOptions are those of lab score --seeds.
type seedOptions struct {
	seeds   string
	parity  string
	results string
	details bool
	limit   time.Duration
}

// chosen are the seeds that are asked for.
func (o *seedOptions) chosen() ([]uint64, error) {
	wrong := &usageError{fmt.Errorf("reading the flags: --seeds %s, --parity %s", o.seeds, o.parity), "give --seeds FIRST..LAST, and --parity even, odd or both"}
	a, b, ok := strings.Cut(o.seeds, "..")
	if !ok {
		b = a
	}
	first, err1 := strconv.ParseUint(a, 10, 32)
	last, err2 := strconv.ParseUint(b, 10, 32)
	if err1 != nil || err2 != nil || last < first || o.parity != "even" && o.parity != "odd" && o.parity != "both" {
		return nil, wrong
	}
	var all []uint64
	for s := first; s <= last; s++ {
		if o.parity == "both" || (s%2 == 0) == (o.parity == "even") {
			all = append(all, s)
		}
	}
	return all, nil
}

// scoreSeeds proves one situation after another, each in a process of its own, and
// keeps what came out. Seeds that are in the results already are not run again.
func scoreSeeds(parent context.Context, e *env, o *seedOptions, dir string) error {
	seeds, err := o.chosen()
	if err != nil {
		return err
	}
	done, err := space.ReadRecords(o.results)
	if err != nil {
		return err
	}
	have := map[uint64]bool{}
	for _, r := range done {
		have[r.Seed] = true
	}
	if lacks := lab.LacksAny(e.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return fmt.Errorf("setting situations up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(parent, e.host, dir)
	if err != nil {
		return err
	}
	defer stop()
	begun := time.Now()
	line := newStep(e.stderr)
	for i, seed := range seeds {
		if ctx.Err() != nil || o.limit > 0 && time.Since(begun) > o.limit {
			break
		}
		if have[seed] {
			continue
		}
		s := space.Draw(seed)
		line.show(fmt.Sprintf("%d of %d: seed %d, %s", i+1, len(seeds), seed, s.Program), "")
		r := space.Record{Seed: seed, Program: s.Program, Lacks: s.Lacks()}
		if r.Lacks == "" {
			r = s.Score(ctx, e.host, options.Binary, dir, o.details)
		}
		if ctx.Err() != nil {
			break // what was interrupted says nothing
		}
		done = append(done, r)
		if err := space.Append(o.results, &r); err != nil {
			return err
		}
	}
	line.Erase()
	if _, err := fmt.Fprint(e.stdout, space.Markdown(done)); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	if ctx.Err() != nil {
		return errors.New("scoring: interrupted; the same command goes on from here")
	}
	return nil
}
