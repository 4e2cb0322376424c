package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// Cgroups that are meant are found, without those below them.
func TestFindCgroups(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"kubepods/pod1/one", "kubepods/pod1/two", "system.slice/cron.service/sub"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "cg", dir), 0o755))
	}
	proc := filepath.Join(root, "proc", "self")
	require.NoError(t, os.MkdirAll(proc, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(proc, "mountinfo"), []byte("30 1 0:26 / /cg rw - cgroup2 cgroup rw\n"), 0o600))
	h := Tree(root, time.Now)
	for part, want := range map[string][]string{
		"pod1": {"/kubepods/pod1"}, "cron": {"/system.slice/cron.service"}, "one": {"/kubepods/pod1/one"}, "no such": nil,
	} {
		if got := h.FindCgroups(func(path string) bool { return strings.Contains(path, part) }); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}
