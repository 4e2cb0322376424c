package lab

import (
	"errors"
	"os"
	"path/filepath"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// Room is how much memory can be taken before somebody's memory ends: the
// host's, or that of our own cgroup or one above it.
type Room struct {
	Bytes     int64
	Available int64  // MemAvailable of the host, whatever ends first
	By        string // what ends first: "MemAvailable", or the cgroup's limit file
}

// MemoryRoom reads it. Of the host it is MemAvailable (proc_meminfo(5)), with
// the free swap when the memory may be swapped; of each cgroup its limit less
// what it uses, plus the file pages it could drop.
// Cgroups without a limit do not count.
func MemoryRoom(h *host.Host, swappable bool) (Room, error) {
	bytes, err := memInfo(h, "MemAvailable")
	if err != nil {
		return Room{}, err
	}
	room := Room{Bytes: bytes, Available: bytes, By: "MemAvailable"}
	if swappable {
		swap, err := memInfo(h, "SwapFree")
		if err != nil {
			return Room{}, err
		}
		room.Bytes += swap
	}
	mounted, err := h.Cgroups()
	if err != nil {
		return Room{}, err
	}
	own, err := ownCgroups(h)
	if err != nil {
		return Room{}, err
	}
	tree, ok := mounted.Controller("memory")
	if !ok && mounted.Unified == nil {
		return room, nil
	}
	if !ok {
		tree = *mounted.Unified
	}
	root, path := tree.Dir, own.Memory()
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		path = "/" // a container sees its own cgroup as the root, but by its name outside
	}
	for ; ; path = filepath.Dir(path) {
		left, by, err := leftOf(filepath.Join(root, path), tree.V2)
		if err != nil {
			return Room{}, err
		}
		if by != "" && left < room.Bytes {
			room.Bytes, room.By = left, by
		}
		if path == "/" || path == "." {
			return room, nil
		}
	}
}

// leftOf is what a cgroup may still take, and the file of its limit; "" when there
// is none.
func leftOf(dir string, v2 bool) (left int64, by string, err error) {
	limit, file, err := procfile.MemoryLimit(dir, v2)
	if err != nil || limit == nil {
		return 0, "", err
	}
	by = filepath.Join(dir, file)
	used, err := procfile.ReadMemoryUsage(dir, v2)
	if err != nil {
		return 0, "", err
	}
	left = int64(*limit) - int64(used)
	_, below, err := procfile.ReadMemoryStat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return left, by, nil // what it could drop is not known
	}
	if err != nil {
		return 0, "", err
	}
	for _, pages := range []*uint64{below.ActiveFile, below.InactiveFile} {
		if pages != nil {
			left += int64(*pages)
		}
	}
	return left, by, nil
}
