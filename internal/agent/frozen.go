package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// freezer tells of processes whether their cgroup is frozen: somebody has stopped
// them, and until they are thawed they wait for nothing, though their threads look
// as they did when they were stopped.
type freezer struct {
	host    *host.Host
	cgroups *host.Cgroups
}

func newFreezer(h *host.Host) freezer {
	c, err := h.Cgroups()
	if err != nil {
		return freezer{}
	}
	return freezer{h, c}
}

// has tells whether a process is frozen, or about to be. Of version 1 the state of a
// cgroup is that of those above it, too; in version 2 each is asked.
func (f freezer) has(pid int) bool {
	if f.cgroups == nil {
		return false
	}
	of, err := procfile.ReadCgroups(f.host.Proc(strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return false
	}
	if t, ok := f.cgroups.Controller("freezer"); ok {
		if dir, err := t.Join(of["freezer"]); err == nil {
			state, err := os.ReadFile(filepath.Join(dir, "freezer.state"))
			if err == nil && !bytes.HasPrefix(state, []byte("THAWED")) {
				return true
			}
		}
	}
	if t := f.cgroups.Unified; t != nil {
		dir, err := t.Join(of[""])
		for ; err == nil && len(dir) > len(t.Dir); dir = filepath.Dir(dir) {
			if b, err := os.ReadFile(filepath.Join(dir, "cgroup.freeze")); err == nil && bytes.HasPrefix(b, []byte("1")) {
				return true
			}
		}
	}
	return false
}
