package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/source/probe/threads"
)

// This host as the command shows it: every row adds up to 1. A child that
// naps sees to it that there are waits, on the quietest of hosts.
func TestThreadsForReal(t *testing.T) {
	napper := exec.Command("sh", "-c", "while :; do sleep 0.02; done")
	require.NoError(t, napper.Start())
	defer func() { _, _ = napper.Process.Kill(), napper.Wait() }()
	code, out, notes := runApp(t.Context(), nil, "threads", "0.3", "2", "--format", "json", "--top", "0", "--histogram")
	if code != exitWell {
		bpftest.Need(t, "bpf", errors.New(notes))
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), notes)
	}
	for _, line := range lines {
		var doc struct {
			Seconds float64
			Threads struct{ Rows []map[string]any }
			Waits   struct{ Rows []map[string]any }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &doc))
		if len(doc.Threads.Rows) < 10 || len(doc.Waits.Rows) == 0 {
			t.Errorf("%d threads, %d kinds of waits", len(doc.Threads.Rows), len(doc.Waits.Rows))
		}
		for _, row := range doc.Threads.Rows {
			sum := row["unaccounted_ratio"].(float64)
			for s := threads.Run; s < threads.States; s++ {
				sum += row[s.Key()+"_ratio"].(float64)
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%v adds up to %v", row["comm"], sum)
			}
		}
	}
	pid := fmt.Sprint(os.Getppid())
	code, out, notes = runApp(t.Context(), nil, "threads", "0.2", "1", "--format", "csv", "--pid", pid, "--top", "0")
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || code != exitWell || len(records) < 2 {
		t.Fatalf("code %d, %v, %d records, %s", code, err, len(records), notes)
	}
	for _, r := range records[1:] {
		if r[3] != pid {
			t.Errorf("a thread of process %s is shown", r[3])
		}
	}
}
