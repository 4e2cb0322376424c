package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/require"
)

// Two texts with the same tools are two cases, whether they are compared or
// read, and what differs is said.
func TestDiffTexts(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "read", "upload.txt"))
	require.NoError(t, err)
	dir := t.TempDir()
	rows := strings.SplitAfter(string(b), "\n")
	slow, fast := filepath.Join(dir, "slow.txt"), filepath.Join(dir, "fast.txt")
	for name, part := range map[string][]string{slow: rows[:67], fast: rows[67:]} {
		require.NoError(t, os.WriteFile(name, []byte(strings.Join(part, "")), 0o600))
	}
	for _, command := range []string{"diff", "read"} {
		code, out, stderr := runApp(t.Context(), nil, command, slow, fast)
		for _, want := range []string{"WHAT DIFFERS: cache-busting, then healthy", "CASE 2 of 2", "349 MiB"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%s: code %d, %q is not in\n%s%s", command, code, want, out, stderr)
			}
		}
	}
	if code, _, stderr := runApp(t.Context(), nil, "diff", slow, fast, "--comm", "java"); code != 2 || !strings.Contains(stderr, "leave --from") {
		t.Errorf("a filter: code %d, %s", code, stderr)
	}
}
