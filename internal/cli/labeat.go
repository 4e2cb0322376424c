package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/session"
	"iocause/internal/table"
)

// eatFloor is what must stay available: below it programs wait for the kernel
// to find memory, and a burst of theirs ends in its OOM killer.
const eatFloor = 128 << 20

type eatOptions struct {
	leave       load.Size
	tmpfs, lock bool
	force       bool
	duration    time.Duration
	format      string
}

// eaten is what `iocause lab eat` says once it holds what it should.
type eaten struct {
	Kind      string  `json:"kind"` // "anonymous" or "tmpfs"
	PID       int     `json:"pid"`
	Wanted    int64   `json:"wanted_bytes"` // 0 with --available
	Leave     int64   `json:"wanted_available_bytes,omitempty"`
	Held      int64   `json:"held_bytes"`     // mapped, and every page touched
	Resident  int64   `json:"resident_bytes"` // of these in memory, by mincore(2)
	Locked    bool    `json:"locked"`
	Before    int64   `json:"available_before_bytes"` // MemAvailable
	Available int64   `json:"available_bytes"`
	Seconds   float64 `json:"seconds"` // that taking it took
}

func newLabEatCommand(e *env) *cobra.Command {
	o := &eatOptions{}
	c := &cobra.Command{
		Use:     "eat SIZE | --available SIZE",
		Short:   "Take memory and hold it, to see what is slow without it",
		Long:    helpOf("lab-eat"),
		Example: examplesOf("lab-eat"),
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == c.Flags().Changed("available") || len(args) > 1 {
				return &usageError{errors.New("reading the arguments: how much shall be taken?"), "give SIZE, or --available SIZE to leave"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabEat(e, c, o, args) },
	}
	f := c.Flags()
	f.Var(&o.leave, "available", "take what leaves this `size` available on the host")
	f.BoolVar(&o.tmpfs, "tmpfs", false, "take pages of a file in tmpfs, which only swap can push out")
	f.BoolVar(&o.lock, "lock", false, "lock the memory, so that it is not swapped (mlock)")
	f.Var(timeIn(&o.duration, 0), "duration", "hold it for so long, once it is taken (default: until Ctrl-C)")
	f.BoolVar(&o.force, "force", false, "take it even if the OOM killer may come")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func runLabEat(here *env, c *cobra.Command, o *eatOptions, args []string) error {
	parent := os.Getppid()
	if err := checkFormat(o.format); err != nil {
		return err
	}
	var size load.Size
	if len(args) == 1 {
		if err := size.Set(args[0]); err != nil || size < 4096 {
			return &usageError{fmt.Errorf("reading SIZE: %q is not a size of a page or more", args[0]), "give bytes, or a number with k, M, G or T"}
		}
	}
	if o.duration < 0 {
		return &usageError{fmt.Errorf("reading --duration: %v is below zero", o.duration), "give a time such as 30s"}
	}
	before, err := lab.MemoryRoom(here.host, false)
	if err != nil {
		return err
	}
	if err := checkEat(here.host, o, int64(size)); err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	if err := errors.Join(load.EndWithParent(parent), load.DieFirst()); err != nil {
		return err
	}
	spec := load.HoardSpec{Size: int64(size), Leave: int64(o.leave), Tmpfs: o.tmpfs, Lock: o.lock, Floor: eatFloor}
	if o.force {
		spec.Floor = 0
	}
	start := time.Now()
	line := newStep(here.stderr)
	hoard, err := load.Take(ctx, spec, func(held, want int64) {
		line.show("taking memory", fmt.Sprintf("%s of %s", table.Value(float64(held), "bytes"), table.Value(float64(want), "bytes")))
	})
	line.Erase()
	if err != nil {
		return fmt.Errorf("taking memory: %w; all is given back", err)
	}
	defer func() { _ = hoard.Release() }() // a second time finds nothing to give
	took := time.Since(start)
	now, err := lab.MemoryRoom(here.host, false)
	if err != nil {
		return err
	}
	e := eaten{
		Kind: "anonymous", PID: os.Getpid(), Wanted: int64(size), Leave: int64(o.leave), Held: hoard.Held(), Locked: o.lock,
		Before: before.Available, Available: now.Available, Seconds: took.Seconds(),
	}
	if o.tmpfs {
		e.Kind = "tmpfs"
	}
	if e.Resident, err = hoard.Resident(); err != nil {
		return err
	}
	if err := printEaten(here.stdout, &e, o.format); err != nil {
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
	fmt.Fprintf(here.stderr, "iocause: gave %s back\n", table.Value(float64(e.Held), "bytes"))
	return nil
}

// checkEat refuses what would bring the OOM killer.
func checkEat(h *host.Host, o *eatOptions, size int64) error {
	room, err := lab.MemoryRoom(h, !o.lock)
	if err != nil {
		return err
	}
	if o.leave > 0 {
		size = max(room.Available-int64(o.leave), 0)
	}
	floor := int64(eatFloor)
	if o.force {
		return nil
	}
	if o.leave > 0 && int64(o.leave) < floor || room.Bytes-size < floor {
		most := max(room.Bytes-floor, 0)
		return &usageError{fmt.Errorf("taking %s: %s leaves room for %s, so that the OOM killer might come",
			table.Value(float64(size), "bytes"), room.By, table.Value(float64(most), "bytes")), "take less, or give --force"}
	}
	return nil
}

func printEaten(out io.Writer, e *eaten, format string) error {
	if format == "json" {
		return writeJSONLine(out, e)
	}
	bytes := func(n int64) string { return table.Value(float64(n), "bytes") }
	locked := ""
	if e.Locked {
		locked = ", locked"
	}
	_, err := fmt.Fprintf(out, "holding %s of %s memory (%s resident%s), taken in %s\navailable on the host: %s, before %s (MemAvailable)\nCtrl-C gives it back\n",
		bytes(e.Held), e.Kind, bytes(e.Resident), locked, table.Duration(e.Seconds), bytes(e.Available), bytes(e.Before))
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
