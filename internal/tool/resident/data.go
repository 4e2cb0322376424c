// Package resident says which files are in the page cache, and how much of
// them: the whole cache by file, or files that are named.
package resident

import (
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
	"iocause/internal/source/residency"
)

// Cache is the whole page cache by file at an instant: what is shown, and what
// an incident keeps of it. Sizes are in bytes.
type Cache struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	// Bytes is Cached + Buffers of /proc/meminfo: the mean of before and after
	// the snapshot, between which it moved.
	Bytes float64  `json:"cache_bytes"`
	Moved float64  `json:"moved_bytes"`
	Sums  []Sum    `json:"sums"`
	Rest  string   `json:"rest"` // what the remainder may be
	Notes []string `json:"notes"`
	Files []File   `json:"files"`
	Left  int      `json:"left"` // files that are in the sums alone
}

// version is the version of its JSON.
const version = 1

// Sum is what the files of a kind have together.
type Sum struct {
	Kind  string  `json:"kind"`
	Files int     `json:"files"` // -1: not known
	Bytes float64 `json:"bytes"`
}

// File is one file of the cache. Path, Dirty and By cost more than all else:
// Observer.Describe fills them.
type File struct {
	Path   sample.RawName `json:"path"` // "" when not known
	Size   int64          `json:"size_bytes"`
	Cached float64        `json:"cached_bytes"`
	Dirty  *float64       `json:"dirty_bytes"` // nil when not known
	Kind   string         `json:"kind"`
	State  string         `json:"state"`
	By     sample.RawName `json:"opened_by"` // a process that has it open

	id       fileID
	pid      int              // of By
	walked   *cachewalk.File  // nil without kernel programs
	measured *residency.Pages // nil with them
}

// fileID tells files apart.
type fileID struct {
	dev host.DevNumber
	ino uint64
}

// remainder is what no file was found for; less than nothing when files were
// counted that have gone since.
func (c *Cache) remainder() float64 {
	rest := c.Bytes
	for _, s := range c.Sums {
		rest -= s.Bytes
	}
	return rest
}
