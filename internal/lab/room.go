package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
	mounts, err := cgroupMounts(h)
	if err != nil {
		return Room{}, err
	}
	own, err := ownCgroups(h)
	if err != nil {
		return Room{}, err
	}
	f := cgroupMemory{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes"}
	root, path := mounts["memory"], own["memory"]
	if root == "" {
		f = cgroupMemory{limit: "memory.max", usage: "memory.current"}
		root, path = mounts[""], own[""]
	}
	if root == "" {
		return room, nil
	}
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		path = "/" // a container sees its own cgroup as the root, but by its name outside
	}
	for ; ; path = filepath.Dir(path) {
		left, limited, err := f.left(filepath.Join(root, path))
		if err != nil {
			return Room{}, err
		}
		if limited && left < room.Bytes {
			room.Bytes, room.By = left, filepath.Join(root, path, f.limit)
		}
		if path == "/" || path == "." {
			return room, nil
		}
	}
}

// cgroupMemory names the files of one version of the memory controller.
type cgroupMemory struct {
	limit, usage string
}

// left is what a cgroup may still take; limited is false when there is no
// limit. Files that are missing, as in the root of v2, limit nothing.
func (f *cgroupMemory) left(dir string) (left int64, limited bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, f.limit))
	if errors.Is(err, os.ErrNotExist) || err == nil && strings.TrimSpace(string(b)) == "max" {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read a cgroup's memory limit: %w", err)
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("read a cgroup's memory limit: %w", err)
	}
	if limit >= 1<<62 { // v1 says "no limit" by the largest multiple of a page
		return 0, false, nil
	}
	used, err := readInt(filepath.Join(dir, f.usage))
	if err != nil {
		return 0, false, fmt.Errorf("read a cgroup's memory use: %w", err)
	}
	left = limit - used
	b, err = os.ReadFile(filepath.Join(dir, "memory.stat"))
	if errors.Is(err, os.ErrNotExist) {
		return left, true, nil // what it could drop is not known
	}
	if err != nil {
		return 0, false, fmt.Errorf("read a cgroup's page cache: %w", err)
	}
	_, below, err := procfile.ParseMemoryStat(b)
	if err != nil {
		return 0, false, fmt.Errorf("read %s/memory.stat: %w", dir, err)
	}
	for _, pages := range []*uint64{below.ActiveFile, below.InactiveFile} {
		if pages != nil {
			left += int64(*pages)
		}
	}
	return left, true, nil
}
