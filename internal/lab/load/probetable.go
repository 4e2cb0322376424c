package load

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

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
		t.Notes = append(t.Notes, "buffered writes go to memory first: the rate is that of the calls, and FSYNC is the time after them until all was on the device")
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
