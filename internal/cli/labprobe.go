package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

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
		Use:   "probe DIR|DEVICE",
		Short: "Measure what a directory or a block device can do",
		Long: "Probe reads and writes in sequence and at random, in blocks of several sizes,\n" +
			"with one request under way and with many, directly and through the page cache,\n" +
			"and prints rates and latencies. Buffered steps have one request under way.\n\n" +
			"In a directory it asks before it writes, and works on a file of its own that\n" +
			"has no name: nothing that is there is touched and nothing stays. A device is\n" +
			"only read; with --write what is on it is lost: it must not be mounted, and its\n" +
			"name must be typed first.",
		Example: `  iocause lab probe /var/lib/postgresql
  iocause lab probe /data --duration 5s --bs 8k --depth 1,16 --yes
  iocause lab probe /dev/nvme0n1 --format json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runLabProbe(e.streams, c, o, args[0]) },
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
	for _, write := range []bool{false, true} {
		for _, random := range []bool{false, true} {
			for _, block := range blocks {
				s := load.ProbeStep{Write: write, Random: random, Block: block, Direct: true}
				if write && !writes {
					continue
				}
				for _, s.Depth = range o.depths {
					o.steps = append(o.steps, s)
				}
				s.Depth, s.Direct = 1, false
				o.steps = append(o.steps, s)
			}
		}
	}
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
		if err := spaceFor(path, int64(o.size)); err != nil {
			return err
		}
	}
	if !o.yes && !device {
		err = confirm(s, fmt.Sprintf("a test file of %s is written to %s for about %s, and removed", table.Value(float64(o.size), "bytes"),
			path, table.Duration(o.duration.Seconds()*float64(len(o.steps)))), "yes")
	} else if !o.yes && o.write {
		err = confirm(s, "ALL DATA ON "+path+" WILL BE LOST", path)
	}
	if err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	line := newStep(s.stderr)
	defer line.Erase()
	var p *load.Probe
	if device {
		p, err = load.OpenProbeDevice(path, o.write, int64(o.size))
	} else {
		p, err = load.NewProbeFile(ctx, path, int64(o.size), func(done int64) {
			line.show("writing the test file", table.Value(float64(done), "bytes"))
		})
	}
	if err != nil {
		return fmt.Errorf("preparing the probe: %w", err)
	}
	defer p.Close()
	shown := o.table(path, p.Size())
	probeSteps(ctx, o, p, line, shown)
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
	return text.WriteTable(s.stdout, shown, styleOf(s.stdout, os.Getenv, widestTable))
}

// spaceFor refuses a test file that would take more than half of what is free.
func spaceFor(dir string, size int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("looking at the free space: %w", err)
	}
	if free := int64(st.Bavail) * st.Bsize; free < 2*size {
		return &usageError{fmt.Errorf("making a test file: %s are free in %s, and %s would take more than half of it",
			table.Value(float64(free), "bytes"), text.Escape(dir), table.Value(float64(size), "bytes")), "give a smaller --size"}
	}
	return nil
}

func (o *probeOptions) table(path string, size int64) *table.Table {
	return &table.Table{
		Key: "steps", Title: fmt.Sprintf("%s: %s, %s a step", path, table.Value(float64(size), "bytes"), table.Duration(o.duration.Seconds())), Whole: true,
		Columns: []table.Column{
			{Key: "pattern", Head: "PATTERN"}, {Key: "mode", Head: "MODE"},
			{Key: "block_bytes", Head: "BLOCK", Unit: "bytes"}, {Key: "depth", Head: "DEPTH", Unit: "count"},
			{Key: "requests_per_s", Head: "REQ/S", Unit: "count/s"}, {Key: "bytes_per_s", Head: "BYTES/S", Unit: "bytes/s"},
			{Key: "p50_seconds", Head: "P50", Unit: "seconds"}, {Key: "p90_seconds", Head: "P90", Unit: "seconds", Drop: 4},
			{Key: "p99_seconds", Head: "P99", Unit: "seconds"}, {Key: "p999_seconds", Head: "P99.9", Unit: "seconds", Drop: 2},
			{Key: "max_seconds", Head: "MAX", Unit: "seconds", Drop: 3}, {Key: "sync_seconds", Head: "FSYNC", Unit: "seconds", Drop: 1},
		},
	}
}

// probeSteps runs the steps until ctx ends. A step that fails, as direct ones
// do where the file system cannot, is a row of its own and a note.
func probeSteps(ctx context.Context, o *probeOptions, p *load.Probe, line *step, t *table.Table) {
	synced := false
	for i, s := range o.steps {
		if ctx.Err() != nil {
			return
		}
		line.show("probing", fmt.Sprintf("step %d of %d: %v", i+1, len(o.steps), s))
		r, err := p.Run(ctx, s, o.duration)
		row := []table.Cell{table.Str(s.Pattern()), table.Str(s.Mode()), table.Num(float64(s.Block)), table.Num(float64(s.Depth))}
		if err != nil {
			for len(row) < len(t.Columns) {
				row = append(row, table.Unread())
			}
			t.Notes = append(t.Notes, err.Error())
		} else {
			row = append(row, table.Num(float64(r.Requests)/r.Seconds), table.Num(float64(r.Bytes)/r.Seconds))
			for _, v := range []float64{r.P50, r.P90, r.P99, r.P999, r.Most} {
				row = append(row, table.Maybe(v, r.Requests > 0))
			}
			row = append(row, table.Maybe(r.Sync, s.Write && !s.Direct))
			synced = synced || s.Write && !s.Direct
		}
		t.Rows = append(t.Rows, row)
	}
	if synced {
		t.Notes = append(t.Notes, "buffered writes go to memory first: the rate is that of the calls, and FSYNC is the time after them until all was on the device")
	}
}
