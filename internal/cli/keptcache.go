package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
)

// keptCache is the page cache by file, as evidence. Sizes are in bytes.
type keptCache struct {
	Version int        `json:"version"`
	At      time.Time  `json:"at"`
	Cache   float64    `json:"cache_bytes"`
	Moved   float64    `json:"moved_bytes"`
	Sums    []keptSum  `json:"sums"`
	Rest    string     `json:"rest"`
	Notes   []string   `json:"notes"`
	Files   []keptFile `json:"files"` // those with most
	Left    int        `json:"left"`  // files that are not here
}

type keptSum struct {
	Kind  string  `json:"kind"`
	Files int     `json:"files"` // -1: not known
	Bytes float64 `json:"bytes"`
}

type keptFile struct {
	Path   sample.RawName `json:"path"` // "" when not known
	Size   int64          `json:"size_bytes"`
	Cached float64        `json:"cached_bytes"`
	Dirty  *float64       `json:"dirty_bytes"` // nil when not known
	Kind   string         `json:"kind"`
	State  string         `json:"state"`
	By     sample.RawName `json:"opened_by"`
}

// keptFiles is how many files are kept: the rest is in the sums.
const keptFiles = 1000

// keepCache walks the page cache.
func (a *app) keepCache(ctx context.Context) ([]byte, error) {
	at := a.host.Now()
	w, refused := cachewalk.Open(a.host)
	var now *wholeCache
	var err error
	if refused == nil {
		defer w.Close()
		now, err = a.walkCache(ctx, w)
	} else {
		now, err = a.heldCache(refused)
	}
	if err != nil {
		return nil, err
	}
	out := &keptCache{Version: 1, At: at, Cache: now.cache, Moved: now.moved, Rest: now.rest, Notes: now.notes}
	for _, s := range now.sums {
		out.Sums = append(out.Sums, keptSum{s.kind, s.files, s.bytes})
	}
	slices.SortFunc(now.files, func(x, y cachedFile) int { return cmp.Compare(y.cached, x.cached) })
	some := now.files[:min(len(now.files), keptFiles)]
	out.Left = len(now.files) - len(some)
	named := make([]*cachedFile, len(some))
	for i := range some {
		named[i] = &some[i]
	}
	if err := a.nameAll(w, named); err != nil {
		return nil, err
	}
	for _, f := range named {
		k := keptFile{Path: sample.RawName(f.path), Size: f.size, Cached: f.cached, Kind: f.kind, State: f.state, By: sample.RawName(a.openedBy(f))}
		if f.measured != nil { // opening others could wait for the very disk that hangs
			if bytes, known := dirtyOf(f); known {
				k.Dirty = &bytes
			}
		}
		out.Files = append(out.Files, k)
	}
	return keepJSON(out)
}

// openedBy names a process that has a file open, "" where none is known.
func (a *app) openedBy(f *cachedFile) string {
	switch {
	case f.kept != nil:
		return string(f.kept.By)
	case f.pid != 0:
		return named(a.host, f.pid)
	}
	return ""
}

// whole is the evidence as it was seen.
func (k *keptCache) whole() *wholeCache {
	c := &wholeCache{cache: k.Cache, moved: k.Moved, rest: k.Rest, notes: k.Notes}
	for _, s := range k.Sums {
		c.sums = append(c.sums, cacheSum{s.Kind, s.Files, s.Bytes})
	}
	for i := range k.Files {
		f := &k.Files[i]
		c.files = append(c.files, cachedFile{path: string(f.Path), size: f.Size, cached: f.Cached, kind: f.Kind, state: f.State, kept: f})
	}
	if k.Left > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d files with less in the cache are in the sums alone", k.Left))
	}
	return c
}

// playCache shows the page cache of an incident.
func (a *app) playCache(c *cobra.Command, o *residentOptions, data []byte, args []string) error {
	if err := oneTime(args); err != nil {
		return err
	}
	if err := onlyLive(c, "an incident holds the whole cache by file; --file chooses of it", "pid", "comm", "cgroup", "device", "map", "one-file-system"); err != nil {
		return err
	}
	if err := o.args(nil); err != nil {
		return err
	}
	var err error
	if o.files, err = newFileFilter(a.host, c, o.file, ""); err != nil {
		return err
	}
	was, err := keptAs[keptCache](data, sectionResident)
	if err != nil {
		return err
	}
	p := a.newPrinter(&o.intervals)
	tables, err := a.cacheTables(p, o, nil, was.whole(), nil)
	if err != nil {
		return err
	}
	return p.print(was.At, 0, "", tables)
}
