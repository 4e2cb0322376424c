package mounts

import (
	"bytes"
	"os"
	"strconv"

	"iocause/internal/host"
)

// daemon is the process that has the connection of a FUSE file system open, 0 where
// none is found: whoever answers nothing is seen by that alone. Of several that have
// it, as of a process and its children, it is the one with the lowest number. Where
// the kernel does not say which connection it is, it is the one process
// that has any open; of several nobody knows which.
func (s *source) daemon(dev host.DevNumber) int {
	if pid := s.daemons[dev]; pid != 0 && s.opens(pid, dev) == this {
		return pid
	}
	entries, err := os.ReadDir(s.host.Proc())
	if err != nil {
		return 0
	}
	lowest := map[connection]int{}
	some := 0 // how many have one of which the kernel does not say what it is
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		which := s.opens(pid, dev)
		if which == untold {
			some++
		}
		if lowest[which] == 0 || pid < lowest[which] {
			lowest[which] = pid
		}
	}
	found := lowest[this]
	if found == 0 && lowest[another] == 0 && some == 1 {
		found = lowest[untold]
	}
	if s.daemons == nil {
		s.daemons = map[host.DevNumber]int{}
	}
	s.daemons[dev] = found
	return found
}

// connection is what a process has open of FUSE.
type connection int

const (
	none connection = iota
	untold
	another // of another file system
	this
)

// opens tells whether a process has /dev/fuse open for a file system. It is not
// opened: what says so is the kernel's account of the descriptor.
func (s *source) opens(pid int, dev host.DevNumber) connection {
	const tells = "fuse_connection:\t"
	want := []byte(tells + strconv.FormatUint(uint64(dev), 10) + "\n")
	found := none
	for fdinfo := range s.host.Opened(pid, "/dev/fuse") {
		switch {
		case bytes.Contains(fdinfo, want):
			return this
		case bytes.Contains(fdinfo, []byte(tells)):
			found = another
		case found == none:
			found = untold
		}
	}
	return found
}
