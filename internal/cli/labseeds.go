package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iocause/internal/console"
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

// scoreSeeds proves one situation after another, each in a process of its own, and
// keeps what came out. Seeds that are in the results already are not run again.
func scoreSeeds(parent context.Context, e *env, o *seedOptions, dir string) error {
	seeds, err := space.Seeds(o.seeds, o.parity)
	if err != nil {
		return err
	}
	if lacks := lab.LacksAny(e.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return fmt.Errorf("setting situations up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(parent, e.host, dir)
	if err != nil {
		return err
	}
	defer stop()
	line := console.NewStep(e.stderr)
	series := space.Series{Results: o.results, Scratch: dir, Details: o.details, Limit: o.limit, Show: func(doing string) { line.Show(doing, "") }}
	done, err := series.Score(ctx, e.host, options.Binary, seeds)
	if err != nil {
		return err
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
