package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/host"
)

// nobody says that no process is one of those that the question is about: "no
// process is called x". It is "" when there is one, or when it cannot be known.
// To find nobody is not to find that all is well.
func nobody(h *host.Host, t diagnose.Target) string {
	switch {
	case t.Comm != "" && !anyCalled(h, t.Comm):
		return fmt.Sprintf("no process is called %q", t.Comm)
	case t.Cgroup != "" && !anyIn(h, t.Cgroup):
		return fmt.Sprintf("no process is in cgroup %q", t.Cgroup)
	}
	return ""
}

func anyCalled(h *host.Host, comm string) bool {
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return true // cannot be known
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || e.Name() == strconv.Itoa(h.Self) {
			continue
		}
		if name, err := os.ReadFile(h.Proc(e.Name(), "comm")); err == nil && strings.TrimSuffix(string(name), "\n") == comm {
			return true
		}
	}
	return false
}

// anyIn tells whether a process is in the cgroup or below it, in any hierarchy.
func anyIn(h *host.Host, cgroup string) bool {
	trees := hierarchies(h)
	found := len(trees) == 0
	for _, tree := range trees {
		top, err := tree.Join(cgroup)
		if err != nil {
			continue
		}
		// Groups come and go; one that has gone holds no process.
		_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err != nil || found || !e.IsDir() {
				return nil
			}
			pids, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			found = err != nil && !os.IsNotExist(err) || len(pids) > 0
			return nil
		})
	}
	return found
}

// started is a process, told from a later one of the same number.
type started struct {
	pid   int
	ticks string // when it started: field 22 of /proc/PID/stat
}

// startOf is nil when there is no such process.
func startOf(h *host.Host, pid int) *started {
	fields, err := h.StatFields(pid)
	if err != nil {
		return nil
	}
	return &started{pid: pid, ticks: fields[host.StatStart]}
}

// ended says that the process has ended, "" when it is still there.
func (s *started) ended(h *host.Host) string {
	if now := startOf(h, s.pid); now != nil && now.ticks == s.ticks {
		return ""
	}
	return fmt.Sprintf("process %d ended while it was watched: what is said holds for the time before", s.pid)
}
