package feed

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/live"
	"iocause/internal/table"
)

// cellsOf are the cells of a row that are known, by the keys of their columns.
func cellsOf(t *table.Table, row []table.Cell) map[string]table.Cell {
	cells := map[string]table.Cell{}
	for i, c := range t.Columns {
		cells[c.Key] = row[i]
	}
	return cells
}

// aside watches a command until what is seen of it suffices.
func aside(t *testing.T, what string, c *exec.Cmd, enough func(*table.Table) bool) {
	t.Helper()
	bpftest.Root(t)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := &Machine{Host: host.Live(), Every: time.Second}
	var last table.Table
	of := live.Aside{What: what}
	of.Query.PIDs = []int{c.Process.Pid}
	err := m.Watch(ctx, of, func(all []table.Table) {
		if last = all[0]; enough(&last) {
			cancel()
		}
	})
	if last.Columns == nil {
		bpftest.Need(t, "bpf", err)
	} else if err != nil {
		t.Error(err)
	}
	if !enough(&last) {
		t.Errorf("of %s was seen at last: %.2000s", c, fmt.Sprint(last.Rows))
	}
}

// A loop that only computes is on a processor or waits for one, all of the time.
func TestThreadsAside(t *testing.T) {
	aside(t, live.Threads, exec.Command("sh", "-c", "while :; do :; done"), func(seen *table.Table) bool {
		if len(seen.Rows) != 1 {
			return false
		}
		cells := cellsOf(seen, seen.Rows[0])
		return cells["comm"].Text == "sh" && cells["cpu"].Number+cells["queue"].Number > 99
	})
}

// What writes and syncs again and again waits for the disk most of its waiting.
func TestStacksAside(t *testing.T) {
	file := filepath.Join(filepath.Dir(bpftest.File(t, 1)), "aside")
	write := exec.Command("dd", "if=/dev/zero", fmt.Sprintf("of=%s", file), "bs=4096", "oflag=dsync", "conv=notrunc", "count=1000000")
	aside(t, live.Stacks, write, func(seen *table.Table) bool {
		// Beside other programs it may wait for a processor even longer.
		return slices.ContainsFunc(seen.Rows, func(row []table.Cell) bool {
			cells := cellsOf(seen, row)
			return cells["state"].Text == "disk" && cells["waits"].Number > 10 && strings.Contains(cells["stack"].Text, "write")
		})
	})
}

// A recording says where else its threads and stacks may be.
func TestNothingAsideOfWhatWasKept(t *testing.T) {
	for _, what := range []string{live.Threads, live.Stacks} {
		if err := (&Kept{}).Watch(t.Context(), live.Aside{What: what}, nil); err == nil {
			t.Errorf("%s of a recording are watched", what)
		}
	}
}
