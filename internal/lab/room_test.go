package lab

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"iocause/internal/host"
	"iocause/internal/require"
)

// treeHost is a host made of files.
func treeHost(t *testing.T, files map[string]string) *host.Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return &host.Host{Root: root}
}

func TestMemoryRoom(t *testing.T) {
	const meminfo = "MemAvailable:    1000 kB\nSwapFree:    500 kB\n"
	v1 := map[string]string{
		"proc/meminfo":        meminfo,
		"proc/self/mountinfo": "30 1 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
		"proc/self/cgroup":    "4:memory:/a/b\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":     "1\n",
		"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "400000\n",
		"sys/fs/cgroup/memory/a/memory.usage_in_bytes":   "300000\n",
		"sys/fs/cgroup/memory/a/memory.stat":             "cache 9\ntotal_inactive_file 20000\ntotal_active_file 3000\n",
		"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
		"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes": "1\n",
	}
	v2 := map[string]string{
		"proc/meminfo":                   meminfo,
		"proc/self/mountinfo":            "30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"proc/self/cgroup":               "0::/a\n",
		"sys/fs/cgroup/a/memory.max":     "7000\n",
		"sys/fs/cgroup/a/memory.current": "5000\n",
		"sys/fs/cgroup/a/memory.stat":    "inactive_file 100\nactive_file 20\n",
	}
	inside := maps.Clone(v2) // a container that cannot see its own cgroup's path
	inside["proc/self/cgroup"] = "0::/not/visible\n"
	inside["sys/fs/cgroup/memory.max"] = "3000"
	inside["sys/fs/cgroup/memory.current"] = "1000"
	free := maps.Clone(v2)
	free["sys/fs/cgroup/a/memory.max"] = "max\n"
	for _, c := range []struct {
		name      string
		files     map[string]string
		swappable bool
		bytes     int64
		by        string
	}{
		{"v1", v1, false, 123000, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes"},
		{"v2", v2, false, 2120, "/sys/fs/cgroup/a/memory.max"},
		{"container", inside, false, 2000, "/sys/fs/cgroup/memory.max"},
		{"no limit", free, false, 1000 << 10, "MemAvailable"},
		{"swap", free, true, 1500 << 10, "MemAvailable"},
	} {
		h := treeHost(t, c.files)
		if c.by != "MemAvailable" {
			c.by = h.Root + c.by
		}
		room, err := MemoryRoom(h, c.swappable)
		if err != nil || room.Bytes != c.bytes || room.By != c.by || room.Available != 1000<<10 {
			t.Errorf("%s: %+v, %v; want %d by %s", c.name, room, err, c.bytes, c.by)
		}
	}
}
