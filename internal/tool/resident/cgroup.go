package resident

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/internal/host"
)

// Charged is the page cache that a cgroup and those below it are charged
// for, in bytes; source is "" where that is not known.
func Charged(h *host.Host, cgroup string) (bytes float64, source string) {
	cgroups, err := h.Cgroups()
	if err != nil || cgroup == "" {
		return 0, ""
	}
	tree, ok := cgroups.Controller("memory")
	if !ok {
		return 0, ""
	}
	dir, err := tree.Join(cgroup)
	if err != nil {
		return 0, ""
	}
	stat, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return 0, ""
	}
	key := "total_cache"
	if tree.V2 {
		key = "file"
	}
	for line := range strings.Lines(string(stat)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			if v, err := strconv.ParseFloat(f[1], 64); err == nil {
				return v, "memory.stat " + key
			}
		}
	}
	return 0, ""
}
