package bpf

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

const (
	// leastFiles is how many files must be allowed for all probes at once.
	leastFiles = 200
	// leastMemory is what a cgroup must allow, in bytes, for all probes at once: they
	// take up to 58 MiB with their maps, and the kernel kills who goes beyond it.
	leastMemory = 64 << 20
)

// roomFor tells whether this process may open the files and take the memory that
// the probes need. It is asked before anything is loaded: a loader that runs out of
// files says that the kernel is too old, and one that runs out of memory is killed
// before it can say anything.
func roomFor(h *host.Host) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < leastFiles {
		more := unix.Rlimit{Cur: leastFiles, Max: max(files.Max, leastFiles)}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &more); err != nil {
			return fmt.Errorf("%w (its limit is %d, and could not be raised: %w)", ErrFiles, files.Cur, err)
		}
	}
	if limit, cgroup := lowestMemory(h); limit != nil && *limit < leastMemory {
		return fmt.Errorf("%w (its cgroup %s allows %d MiB)", ErrMemory, cgroup, *limit>>20)
	}
	return nil
}

// lowestMemory is the lowest memory limit of our cgroup and those above it, in
// bytes, and whose it is; nil where there is none, or none can be read.
func lowestMemory(h *host.Host) (lowest *uint64, cgroup string) {
	all, err := h.Cgroups()
	if err != nil {
		return nil, ""
	}
	tree, ok := all.Controller("memory")
	own, err := procfile.ReadCgroups(h.Proc("self", "cgroup"))
	if !ok || err != nil {
		return nil, ""
	}
	for path := filepath.Clean("/" + own.Memory()); ; path = filepath.Dir(path) {
		if dir, err := tree.Join(path); err == nil {
			if limit, _, err := procfile.MemoryLimit(dir, tree.V2); err == nil && limit != nil && (lowest == nil || *limit < *lowest) {
				lowest, cgroup = limit, path
			}
		}
		if path == "/" {
			return lowest, cgroup
		}
	}
}
