package output

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// A profile replaces an earlier one of its form and nothing else, and nobody else may
// read it.
func TestProfilesReplaceOnlyProfiles(t *testing.T) {
	p := &sample.Profile{Title: "waits", Counts: "waits", Stacks: []sample.Stack{{Process: "db", Frames: []*sample.Frame{{Name: "read it"}}, Count: 1, Time: time.Second}}}
	for end := range forms() {
		name := filepath.Join(t.TempDir(), "x"+end)
		require.NoError(t, CheckProfile(name))
		for range 2 {
			require.NoError(t, Profile(nil, io.Discard, p, name))
			if err := CheckProfile(name); err != nil {
				t.Errorf("refuses an earlier one: %v", err)
			}
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", end, info.Mode(), err)
		}
		for _, other := range []string{"mine\n", "<svg xmlns='x'/>\n", "\x1f\x8b\x08\x00", strings.Repeat("x", 100<<10)} {
			require.NoError(t, os.WriteFile(name, []byte(other), 0o644))
			if err := CheckProfile(name); err == nil || !strings.Contains(err.Error(), "give another name") {
				t.Errorf("%s: takes the place of %q: %v", end, other[:4], err)
			}
		}
		require.NoError(t, os.WriteFile(name, nil, 0o644))
		require.NoError(t, CheckProfile(name))
	}
	name := filepath.Join(t.TempDir(), "d.html")
	require.NoError(t, Changes(name, p, p))
	require.NoError(t, CheckProfile(name))
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("x"), 10), 0o644))
	if err := CheckPage(nil, name); err == nil {
		t.Error("a page takes the place of any file")
	}
}
