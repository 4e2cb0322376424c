package load

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/ask"
	"iocause/internal/table"
)

// ProbeSteps are all that a probe does: reads and, where writes, writes; in sequence
// and at random; of every size and depth; directly, and through the page cache.
func ProbeSteps(blocks []int64, depths []int, writes bool) (steps []ProbeStep) {
	for _, write := range []bool{false, true} {
		for _, random := range []bool{false, true} {
			for _, block := range blocks {
				s := ProbeStep{Write: write, Random: random, Block: block, Direct: true}
				if write && !writes {
					continue
				}
				for _, s.Depth = range depths {
					steps = append(steps, s)
				}
				s.Depth, s.Direct = 1, false
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// ProbePlan are the steps that are asked for: blocks are bytes a request as people
// write them, depths requests at a time, size what is under test in bytes.
func ProbePlan(blocks []string, depths []int, size Size, writes bool) ([]ProbeStep, error) {
	var sizes []int64
	for _, b := range blocks {
		var block Size
		if err := block.Set(b); err != nil || block < 512 || block > 64<<20 || block%512 != 0 {
			return nil, &ask.Error{Err: fmt.Errorf("reading --bs: %q is not from 512 to 64M in multiples of 512", b), Next: "4k,64k,1M is a good choice"}
		}
		if block > size {
			return nil, &ask.Error{Err: fmt.Errorf("reading --size: a block of %s does not fit into %s", b, size.String()), Next: "give a larger --size"}
		}
		sizes = append(sizes, int64(block))
	}
	for _, d := range depths {
		if d < 1 || d > 256 {
			return nil, &ask.Error{Err: fmt.Errorf("reading --depth: %d is not from 1 to 256", d), Next: "1,8,32 is a good choice"}
		}
	}
	return ProbeSteps(sizes, depths, writes), nil
}

// Probeable tells whether a path is a block device or, else, a directory.
func Probeable(path string) (device bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("finding what to probe: %w; name a directory or a block device", err)
	}
	device = info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
	if !device && !info.IsDir() {
		return false, &ask.Error{Err: fmt.Errorf("finding what to probe: %s is neither a directory nor a block device", path), Next: "name one"}
	}
	return device, nil
}

// ProbeTable has a row for each step that is measured.
func ProbeTable(path string, size int64, step time.Duration) *table.Table {
	return &table.Table{
		Key: "steps", Title: fmt.Sprintf("%s: %s, %s a step", path, table.Value(float64(size), "bytes"), table.Duration(step.Seconds())), Whole: true,
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

// Measure runs the steps until ctx ends. A step that fails, as direct ones
// do where the file system cannot, is a row of its own and a note.
func (p *Probe) Measure(ctx context.Context, steps []ProbeStep, length time.Duration, t *table.Table, show func(doing string)) {
	synced := false
	for i, s := range steps {
		if ctx.Err() != nil {
			return
		}
		show(fmt.Sprintf("step %d of %d: %v", i+1, len(steps), s))
		r, err := p.Run(ctx, s, length)
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
		t.Notes = append(t.Notes, "buffered writes go to memory first: the rate is that of the calls, and FSYNC is the time after them until all is on the device")
	}
}

// RoomFor refuses a test file that would take more than half of what is free.
func RoomFor(dir string, size int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("looking at the free space: %w", err)
	}
	if free := int64(st.Bavail) * st.Bsize; free < 2*size {
		return fmt.Errorf("making a test file: %s are free in %s, and %s would take more than half of it",
			table.Value(float64(free), "bytes"), dir, table.Value(float64(size), "bytes"))
	}
	return nil
}
