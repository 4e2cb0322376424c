package procfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"iocause/internal/host"
)

// noLimit is what version 1 writes for memory without a limit, about: it
// rounds LONG_MAX down to whole pages.
const noLimit = 1 << 62

// ParseLimit reads memory.limit_in_bytes, memory.max, memory.high and the
// like, in bytes. It is nil without a limit.
func ParseLimit(b []byte) (*uint64, error) {
	s := bytes.TrimSpace(b)
	if string(s) == "max" {
		return nil, nil
	}
	v, ok := host.Uint(s)
	if !ok {
		return nil, &host.LineError{Line: 1, What: fmt.Sprintf("%.40q is not an amount", s)}
	}
	if v >= noLimit {
		return nil, nil
	}
	return &v, nil
}

// MemoryLimit is the memory limit of the cgroup of a directory in bytes, and the
// file that it is from: the lower of memory.max and memory.high, as that is the one
// that is met, or memory.limit_in_bytes of version 1. nil without a limit, and where
// there is no such file, as in the root of version 2.
func MemoryLimit(dir string, v2 bool) (limit *uint64, file string, err error) {
	limit, file = LowestLimit(v2, func(name string) *uint64 {
		path := filepath.Join(dir, name)
		b, failed := os.ReadFile(path)
		if os.IsNotExist(failed) || err != nil {
			return nil
		}
		if failed != nil {
			err = fmt.Errorf("reading a memory limit: %w", failed)
			return nil
		}
		l, failed := ParseLimit(b)
		err = host.In(path, failed)
		return l
	})
	if err != nil {
		return nil, "", err
	}
	return limit, file, nil
}

// LowestLimit is the lowest of the limits that read finds in the files of a cgroup
// that hold one, and its file.
func LowestLimit(v2 bool, read func(name string) *uint64) (limit *uint64, file string) {
	names := []string{"memory.limit_in_bytes"}
	if v2 {
		names = []string{"memory.max", "memory.high"}
	}
	for _, name := range names {
		if l := read(name); l != nil && (limit == nil || *l < *limit) {
			limit, file = l, name
		}
	}
	return limit, file
}

// MemoryUsageFile is the file of what a cgroup and all below it use.
func MemoryUsageFile(v2 bool) string {
	if v2 {
		return "memory.current"
	}
	return "memory.usage_in_bytes"
}

// ReadMemoryUsage is what the cgroup of a directory and all below it use, in bytes.
func ReadMemoryUsage(dir string, v2 bool) (uint64, error) {
	n, err := host.ReadNumber(filepath.Join(dir, MemoryUsageFile(v2)))
	if err != nil {
		return 0, fmt.Errorf("reading the memory use of a cgroup: %w", err)
	}
	return n, nil
}

// MemoryEvents is what is read of memory.events: how often the limits were met.
type MemoryEvents struct{ High, Max *uint64 }

// ParseMemoryEvents reads memory.events.
func ParseMemoryEvents(b []byte) (MemoryEvents, error) {
	var e MemoryEvents
	err := host.Pairs(b, func(key []byte) **uint64 {
		switch string(key) {
		case "high":
			return &e.High
		case "max":
			return &e.Max
		}
		return nil
	})
	return e, err
}
