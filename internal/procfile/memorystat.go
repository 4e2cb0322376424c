package procfile

import (
	"bytes"
	"fmt"
	"path/filepath"

	"iocause/internal/host"
)

// MemoryStat is what is read of a cgroup's memory.stat. Sizes are bytes, refaults
// pages. Nil is not in this kernel's file.
type MemoryStat struct {
	File, Shmem, Anon        *uint64 // File includes Shmem
	ActiveFile, InactiveFile *uint64
	RefaultFile, RefaultAnon *uint64
}

// field is where a line belongs, nil for one that is not read. The names of version 1
// of cgroups are cache and rss.
func (m *MemoryStat) field(key []byte) **uint64 {
	switch string(key) {
	case "file", "cache":
		return &m.File
	case "shmem":
		return &m.Shmem
	case "anon", "rss":
		return &m.Anon
	case "active_file":
		return &m.ActiveFile
	case "inactive_file":
		return &m.InactiveFile
	case "workingset_refault_file", "workingset_refault": // one figure before 5.9
		return &m.RefaultFile
	case "workingset_refault_anon":
		return &m.RefaultAnon
	}
	return nil
}

// or gives m what it lacks.
func (m *MemoryStat) or(other *MemoryStat) {
	for _, f := range [...]struct{ to, from **uint64 }{
		{&m.File, &other.File}, {&m.Shmem, &other.Shmem}, {&m.Anon, &other.Anon},
		{&m.ActiveFile, &other.ActiveFile}, {&m.InactiveFile, &other.InactiveFile},
		{&m.RefaultFile, &other.RefaultFile}, {&m.RefaultAnon, &other.RefaultAnon},
	} {
		if *f.to == nil {
			*f.to = *f.from
		}
	}
}

// ParseMemoryStat reads memory.stat. In version 1 of cgroups own is of the cgroup
// alone, and below of it with all below it (the lines that begin with total_); in
// version 2 both are the latter.
func ParseMemoryStat(b []byte) (own, below MemoryStat, err error) {
	err = host.Pairs(b, func(key []byte) **uint64 {
		if rest, ok := bytes.CutPrefix(key, []byte("total_")); ok {
			return below.field(rest)
		}
		return own.field(key)
	})
	own.or(&below)
	below.or(&own)
	return own, below, err
}

// ReadMemoryStat reads memory.stat of the cgroup of a directory.
func ReadMemoryStat(dir string) (own, below MemoryStat, err error) {
	path := filepath.Join(dir, "memory.stat")
	b, err := host.Read(path, nil)
	if err != nil {
		return own, below, fmt.Errorf("reading the page cache of a cgroup: %w", err)
	}
	own, below, err = ParseMemoryStat(b)
	return own, below, host.In(path, err)
}
