package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
)

type eatOptions struct {
	lab.Meal
	leave    load.Size
	duration time.Duration
	format   string
}

func newLabEatCommand(e *env) *cobra.Command {
	o := &eatOptions{}
	c := &cobra.Command{
		Use:   "eat SIZE | --available SIZE",
		Short: "Take memory and hold it, to see what is slow without it",
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == c.Flags().Changed("available") || len(args) > 1 {
				return &ask.Error{Err: errors.New("reading the arguments: exactly one SIZE is needed"), Next: "give SIZE, or --available SIZE to leave"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabEat(e, c, o, args) },
	}
	f := c.Flags()
	f.Var(&o.leave, "available", "take what leaves this `size` available on the host")
	f.BoolVar(&o.Tmpfs, "tmpfs", false, "take pages of a tmpfs file, which can only be swapped out")
	f.BoolVar(&o.Lock, "lock", false, "lock the memory, so that it is not swapped (mlock)")
	f.Var(ask.TimeIn(&o.duration, 0), "duration", "hold it for this long once it is taken (default: until Ctrl-C)")
	f.BoolVar(&o.Force, "force", false, "take it even at the risk of the OOM killer")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

func runLabEat(here *env, c *cobra.Command, o *eatOptions, args []string) error {
	parent := os.Getppid()
	var size load.Size
	if len(args) == 1 {
		if err := size.Set(args[0]); err != nil || size < 4096 {
			return &ask.Error{Err: fmt.Errorf("reading SIZE: %q is not a size of a page or more", args[0]), Next: "give bytes, or a number with k, M, G or T"}
		}
	}
	o.Size, o.Leave = int64(size), int64(o.leave)
	if err := o.Check(here.host); err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	if err := errors.Join(load.EndWithParent(parent), load.DieFirst()); err != nil {
		return err
	}
	line := console.NewStep(here.stderr)
	hoard, e, err := o.Take(ctx, here.host, func(held, want int64) {
		line.Show("taking memory", fmt.Sprintf("%s of %s", table.Value(float64(held), "bytes"), table.Value(float64(want), "bytes")))
	})
	line.Erase()
	if err != nil {
		return err
	}
	defer func() { _ = hoard.Release() }() // a second time finds nothing to give
	if o.format == "json" {
		err = writeJSONLine(here.stdout, e)
	} else {
		err = show.Eaten(here.stdout, e)
	}
	if err != nil {
		return err
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	kept := hoard.Keep(ctx)
	if err := errors.Join(kept, hoard.Release()); err != nil {
		return fmt.Errorf("holding memory: %w", err)
	}
	fmt.Fprintf(here.stderr, "iocause: freed %s\n", table.Value(float64(e.Held), "bytes"))
	return nil
}
