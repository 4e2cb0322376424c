package cli

import (
	"strings"
	"testing"
	"time"
)

// A step that would give more points than are answered is made longer, and that
// is said.
func TestQueryChoosesStep(t *testing.T) {
	dir := t.TempDir()
	from := time.Now().Add(-4 * time.Hour).Truncate(time.Second)
	keepSeries(t, dir, from, 4*time.Hour, func(s float64) map[string]float64 { return map[string]float64{"iocause_mem_free_bytes": s} })
	code, out, notes := runApp(t.Context(), nil, "query", "iocause_mem_free_bytes", "--dir", dir, "--from", from.Format(time.RFC3339), "--step", "1s", "--format", "csv")
	if lines := strings.Count(out, "\n"); code != 0 || !strings.Contains(notes, "showing one every 2s instead") || lines < 7000 || lines > 7300 {
		t.Errorf("code %d, %d lines: %s", code, lines, notes)
	}
	code, out, notes = runApp(t.Context(), nil, "query", "iocause_mem_free_bytes", "--dir", dir, "--from", from.Add(time.Hour).Format(time.RFC3339), "--step", "1s", "--format", "csv")
	if lines := strings.Count(out, "\n"); code != 0 || notes != "" || lines < 10_700 {
		t.Errorf("code %d, %d lines: %s", code, lines, notes)
	}
}
