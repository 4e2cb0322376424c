package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/require"
)

// A name may look like the fields behind it.
func TestStatFields(t *testing.T) {
	dir := t.TempDir()
	write := func(pid, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "proc", pid), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "proc", pid, "stat"), []byte(text), 0o644))
	}
	write("7", "7 (a) Z 9 (b) S 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4711 0 0\n")
	write("8", "8 (short) S 1 2\n")
	h := Tree(dir, time.Now)
	if f, err := h.StatFields(7); err != nil || f[StatState] != "S" || f[StatStart] != "4711" {
		t.Errorf("%q, %v", f, err)
	}
	for _, pid := range []int{8, 9} {
		if f, err := h.StatFields(pid); err == nil {
			t.Errorf("process %d: %q, want an error", pid, f)
		}
	}
}
