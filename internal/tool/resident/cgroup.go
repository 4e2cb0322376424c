package resident

import (
	"iocause/internal/host"
	"iocause/internal/procfile"
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
	_, below, err := procfile.ReadMemoryStat(dir)
	if err != nil || below.File == nil {
		return 0, ""
	}
	return float64(*below.File), "memory.stat " + map[bool]string{true: "file", false: "total_cache"}[tree.V2]
}
