package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/lab/load"
	"iocause/internal/present/text"
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
	steps    []load.ProbeStep
}

func newLabProbeCommand(e *env) *cobra.Command {
	o := &probeOptions{size: 256 << 20}
	c := &cobra.Command{
		Use:     "probe DIR|DEVICE",
		Short:   "Measure what a directory or a block device can do",
		Long:    helpOf("lab-probe"),
		Example: examplesOf("lab-probe"),
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return runLabProbe(e.streams, c, o, args[0]) },
	}
	f := c.Flags()
	f.Var(&o.size, "size", "`size` of the test file, or of the part of the device from its start")
	f.Var(timeIn(&o.duration, time.Second), "duration", "length of each step")
	f.StringSliceVar(&o.blocks, "bs", []string{"4k", "64k", "1M"}, "bytes a request")
	f.IntSliceVar(&o.depths, "depth", []int{1, 8, 32}, "requests under way at a time")
	f.BoolVar(&o.write, "write", false, "write to the device: what is on it is LOST")
	f.BoolVar(&o.yes, "yes", false, "do not ask before writing")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

// check reads the flags and lists the steps.
func (o *probeOptions) check(writes bool) error {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	if o.duration < 50*time.Millisecond || o.duration > time.Hour {
		return &usageError{fmt.Errorf("reading --duration: %v is not from 50ms to 1h", o.duration), "1s is a good start"}
	}
	var blocks []int64
	for _, b := range o.blocks {
		var size load.Size
		if err := size.Set(b); err != nil || size < 512 || size > 64<<20 || size%512 != 0 {
			return &usageError{fmt.Errorf("reading --bs: %q is not from 512 to 64M in multiples of 512", b), "4k,64k,1M is a good choice"}
		}
		if size > o.size {
			return &usageError{fmt.Errorf("reading --size: a block of %s does not fit into %s", b, o.size.String()), "give a larger --size"}
		}
		blocks = append(blocks, int64(size))
	}
	for _, d := range o.depths {
		if d < 1 || d > 256 {
			return &usageError{fmt.Errorf("reading --depth: %d is not from 1 to 256", d), "1,8,32 is a good choice"}
		}
	}
	o.steps = load.ProbeSteps(blocks, o.depths, writes)
	return nil
}

func runLabProbe(s streams, c *cobra.Command, o *probeOptions, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("finding what to probe: %w; name a directory or a block device", err)
	}
	device := info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
	if !device && !info.IsDir() {
		return &usageError{fmt.Errorf("finding what to probe: %s is neither a directory nor a block device", text.Escape(path)), "name one"}
	}
	if !device && o.write {
		return &usageError{errors.New("reading --write: it is for devices"), "leave it out: a directory is written to in any case"}
	}
	if err := o.check(!device || o.write); err != nil {
		return err
	}
	if !device {
		if err := load.RoomFor(path, int64(o.size)); err != nil {
			return &usageError{err, "give a smaller --size"}
		}
	}
	if !o.yes && !device {
		err = console.Confirm(s.stdin, s.stderr, fmt.Sprintf("a test file of %s is written to %s for about %s, and removed", table.Value(float64(o.size), "bytes"),
			path, table.Duration(o.duration.Seconds()*float64(len(o.steps)))), "yes")
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
	p.Measure(ctx, o.steps, o.duration, shown, func(doing string) { line.Show("probing", doing) })
	line.Erase()
	if len(shown.Rows) == 0 {
		return session.TooEarly(ctx)
	}
	if ctx.Err() != nil {
		shown.Notes = append(shown.Notes, fmt.Sprintf("ended by %v after %d of %d steps", context.Cause(ctx), len(shown.Rows), len(o.steps)))
	}
	if o.format == "json" {
		return writeJSON(s.stdout, map[string]any{"path": path, "size_bytes": p.Size(), "step_seconds": o.duration.Seconds(), "steps": shown.Object()})
	}
	return text.WriteTable(s.stdout, shown, console.Style(s.stdout, os.Getenv, console.WidestTable))
}
