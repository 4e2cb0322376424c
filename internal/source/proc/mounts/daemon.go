package mounts

import (
	"bytes"
	"os"
	"strconv"

	"iocause/internal/host"
)

// daemon is the process that has the connection of a FUSE file system open, 0 where
// none is found: whoever answers nothing is seen by that alone. Of several that have
// it, as of a process and its children, it is the one with the lowest number.
func (s *source) daemon(dev host.DevNumber) int {
	if pid := s.daemons[dev]; pid != 0 && s.hasOpen(pid, dev) {
		return pid
	}
	entries, err := os.ReadDir(s.host.Proc())
	if err != nil {
		return 0
	}
	found := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && (found == 0 || pid < found) && s.hasOpen(pid, dev) {
			found = pid
		}
	}
	if s.daemons == nil {
		s.daemons = map[host.DevNumber]int{}
	}
	s.daemons[dev] = found
	return found
}

// hasOpen tells whether a process has /dev/fuse open for a file system. It is not
// opened: what says so is the kernel's account of the descriptor.
func (s *source) hasOpen(pid int, dev host.DevNumber) bool {
	dir := s.host.Proc(strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // it has ended, or may not be looked at
	}
	want := []byte("fuse_connection:\t" + strconv.FormatUint(uint64(dev), 10) + "\n")
	for _, e := range entries {
		to, err := os.Readlink(dir + "/" + e.Name())
		if err != nil || to != "/dev/fuse" {
			continue
		}
		b, err := host.Read(s.host.Proc(strconv.Itoa(pid), "fdinfo", e.Name()), nil)
		if err == nil && bytes.Contains(b, want) {
			return true
		}
	}
	return false
}
