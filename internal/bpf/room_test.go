package bpf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
)

// Who would be killed for want of memory while it loads is told so before.
func TestRoomForTheProbes(t *testing.T) {
	const (
		v1 = "1 0 0:9 / /cg rw - cgroup cgroup rw,memory\n"
		v2 = "1 0 0:9 / /cg rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		short bool
	}{
		"v1, a limit": {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "33554432\n"}, true},
		"v1, enough":  {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "67108864\n"}, false},
		"v1, none":    {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "9223372036854771712\n"}, false},
		"v2, of the one above": {map[string]string{"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a/b\n", "cg/cgroup.controllers": "memory\n",
			"cg/a/b/memory.max": "max\n", "cg/a/memory.max": "50331648\n"}, true},
		"v2, memory.high": {map[string]string{"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a\n", "cg/cgroup.controllers": "memory\n",
			"cg/a/memory.max": "max\n", "cg/a/memory.high": "20971520\n"}, true},
		"no cgroups": {map[string]string{"proc/self/mountinfo": "", "proc/self/cgroup": ""}, false},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := roomFor(host.Tree(root, time.Now))
		if c.short != errors.Is(err, ErrMemory) || !c.short && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
