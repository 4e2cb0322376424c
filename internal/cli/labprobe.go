package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab/load"
	"iocause/internal/session"
	"iocause/internal/table"
)

type probeOptions struct {
	size     load.Size
	duration time.Duration
	blocks   []string
	depths   []int
	write    bool
	yes      bool
	format   string
}

func newLabProbeCommand(e *env) *cobra.Command {
	o := &probeOptions{size: 256 << 20}
	c := &cobra.Command{
		Use:   "probe DIR|DEVICE",
		Short: "Measure what a directory or a block device can do",
		Args:  arguments(1, "give one directory or block device", "DIR or DEVICE"),
		RunE:  func(c *cobra.Command, args []string) error { return runLabProbe(e.streams, c, o, args[0]) },
	}
	f := c.Flags()
	f.Var(&o.size, "size", "`size` of the test file, or of the part of the device from its start")
	f.Var(ask.TimeIn(&o.duration, time.Second).From(50*time.Millisecond, "give 50ms or more; 1s is a good start"), "duration", "length of each step")
	f.StringSliceVar(&o.blocks, "bs", []string{"4k", "64k", "1M"}, "bytes of each request")
	f.IntSliceVar(&o.depths, "depth", []int{1, 8, 32}, "requests in flight")
	f.BoolVar(&o.write, "write", false, "write to the device: what is on it is LOST")
	f.BoolVar(&o.yes, "yes", false, "do not ask before writing")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

func runLabProbe(s streams, c *cobra.Command, o *probeOptions, path string) error {
	device, err := load.Probeable(path)
	if err != nil {
		return err
	}
	if !device && o.write {
		return &ask.Error{Err: errors.New("reading --write: it is for devices"), Next: "leave it out: a directory is written to in any case"}
	}
	steps, err := load.ProbePlan(o.blocks, o.depths, o.size, !device || o.write)
	if err != nil {
		return err
	}
	if !device {
		if err := load.RoomFor(path, int64(o.size)); err != nil {
			return &ask.Error{Err: err, Next: "give a smaller --size"}
		}
	}
	if !o.yes && !device {
		err = console.Confirm(s.stdin, s.stderr, fmt.Sprintf("a test file of %s is written to %s for about %s, and removed", table.Value(float64(o.size), "bytes"),
			path, table.Duration(o.duration.Seconds()*float64(len(steps)))), "yes")
	} else if !o.yes && o.write {
		err = console.Confirm(s.stdin, s.stderr, "ALL DATA ON "+path+" WILL BE LOST", path)
	}
	if err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	line := console.NewStep(s.stderr)
	defer line.Erase()
	var p *load.Probe
	if device {
		p, err = load.OpenProbeDevice(path, o.write, int64(o.size))
	} else {
		p, err = load.NewProbeFile(ctx, path, int64(o.size), func(done int64) {
			line.Show("writing the test file", table.Value(float64(done), "bytes"))
		})
	}
	if err != nil {
		return fmt.Errorf("preparing the probe: %w", err)
	}
	defer p.Close()
	shown := load.ProbeTable(path, p.Size(), o.duration)
	p.Measure(ctx, steps, o.duration, shown, func(doing string) { line.Show("probing", doing) })
	line.Erase()
	if len(shown.Rows) == 0 {
		return session.TooEarly(ctx)
	}
	if ctx.Err() != nil {
		shown.Notes = append(shown.Notes, fmt.Sprintf("ended by %v after %d of %d steps", context.Cause(ctx), len(shown.Rows), len(steps)))
	}
	if o.format == "json" {
		return writeJSON(s.stdout, map[string]any{"path": path, "size_bytes": p.Size(), "step_seconds": o.duration.Seconds(), "steps": shown.Object()})
	}
	return writeTable(s.stdout, shown)
}
