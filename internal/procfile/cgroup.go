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
	names := []string{"memory.limit_in_bytes"}
	if v2 {
		names = []string{"memory.max", "memory.high"}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("reading a memory limit: %w", err)
		}
		l, err := ParseLimit(b)
		if err != nil {
			return nil, "", host.In(path, err)
		}
		if l != nil && (limit == nil || *l < *limit) {
			limit, file = l, name
		}
	}
	return limit, file, nil
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
