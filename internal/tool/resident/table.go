package resident

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// Form is how much of a snapshot is shown, and for whom.
type Form struct {
	Sort   string // the key of a column
	Top    int    // files, 0 for all
	People bool   // columns that say nothing are left out
	Narrow bool   // the screen has no room for columns of less use than a path
}

// Choice says which files are shown. Either none of its functions is set, or
// all are.
type Choice struct {
	Named  func(path string) bool        // files of such a path
	On     func(dev host.DevNumber) bool // files of such a file system
	Device func(path string) bool        // the cache of such a block device
}

// Found leaves out files that are not chosen.
func (c Choice) Found(all *residency.Found) *residency.Found {
	if all == nil || c.Named == nil {
		return all
	}
	some := *all
	some.Files = slices.DeleteFunc(slices.Clone(all.Files), func(x residency.File) bool {
		whole, err := filepath.Abs(x.Path)
		return err != nil || !c.Named(whole) || !c.On(x.ID.Number())
	})
	return &some
}

// CacheTables are the tables of the whole cache, with what changed since old,
// nil for none. by fills in what is not known yet of the files that are shown;
// progress is told how many of them it has.
func CacheTables(by *Observer, now, old *Cache, c Choice, f Form, progress func(n int)) ([]table.Table, error) {
	files := table.Table{Key: "files", Columns: []table.Column{
		{Key: "cached_bytes", Head: "CACHED", Unit: "bytes"},
		{Key: "cache_share", Head: "OF ALL", Unit: "ratio", Drop: 5},
		{Key: "cached_share", Head: "IN", Unit: "ratio"},
		{Key: "size_bytes", Head: "SIZE", Unit: "bytes", Drop: 4},
	}}
	was := map[fileID]float64{}
	if old != nil {
		files.Columns = append(files.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, f := range old.Files {
			was[f.id] += f.Cached
		}
	}
	files.Columns = append(files.Columns,
		table.Column{Key: "dirty_bytes", Head: "DIRTY", Unit: "bytes", Drop: 6},
		table.Column{Key: "kind", Head: "KIND", Drop: 8},
		table.Column{Key: "state", Head: "STATE"},
		table.Column{Key: "by", Head: "OPENED BY", Drop: 7},
		table.Column{Key: "file", Head: "FILE", Flex: true})
	chosen, note, err := choose(by, c, now.Files)
	if err != nil {
		return nil, err
	}
	files.Notes = append(files.Notes, note...)
	shown := largest(chosen, was, f)
	files.Left = len(chosen) - len(shown)
	if err := by.Describe(shown, progress); err != nil {
		return nil, err
	}
	for _, x := range shown {
		row := []table.Cell{
			table.Num(x.Cached), table.Maybe(x.Cached/now.Bytes, now.Bytes > 0),
			table.Maybe(x.Cached/inPages(x.Size), x.Size > 0 && x.Kind != "block device"),
			table.Maybe(float64(x.Size), x.Size > 0),
		}
		if old != nil {
			row = append(row, table.Num(x.Cached-was[x.id]))
		}
		opened, dirty := table.None(), table.None()
		if x.By != "" {
			opened = table.Str(string(x.By))
		}
		if x.Dirty != nil {
			dirty = table.Num(*x.Dirty)
		}
		files.Rows = append(files.Rows, append(row, dirty, table.Str(x.Kind), table.Str(x.State), opened, table.Str(string(x.Path))))
	}
	tables := []table.Table{files, sumsTable(now, old)}
	if f.People {
		withoutZeros(tables[:1], "dirty_bytes")
	}
	if f.Narrow {
		tables[0].Without("cache_share", "kind", "by")
	}
	return tables, nil
}

// inPages is how many bytes the pages of a file have: the last one may be filled in part.
func inPages(size int64) float64 {
	page := int64(os.Getpagesize())
	return float64((size + page - 1) / page * page)
}

// choose leaves out files that are not asked for, and says how much the
// others are. Asking by name needs the names of all.
func choose(by *Observer, c Choice, all []File) (some []File, note []string, err error) {
	if c.Named == nil {
		return all, nil, nil
	}
	var on []*File
	for i := range all {
		if x := &all[i]; c.On(x.id.dev) || x.walked != nil && x.walked.Kind == cachewalk.Block {
			on = append(on, x)
		}
	}
	if err := by.name(on); err != nil {
		return nil, nil, err
	}
	bytes := 0.0
	for _, x := range on {
		if x.walked != nil && x.walked.Kind == cachewalk.Block && !c.Device(string(x.Path)) {
			continue
		}
		if c.Named(string(x.Path)) {
			some = append(some, *x)
			bytes += x.Cached
		}
	}
	return some, []string{fmt.Sprintf("%d of %s asked for, with %s of the cache", len(some), sample.Counted(len(all), "file"), table.Value(bytes, "bytes"))}, nil
}

// largest leaves out what --top would leave out anyway, where that can be
// told before files have names: finding names and dirty pages takes longer
// than the walk.
func largest(all []File, was map[fileID]float64, o Form) []*File {
	shown := make([]*File, len(all))
	for i := range all {
		shown[i] = &all[i]
	}
	by := map[string]func(f *File) float64{
		"cached_bytes": func(f *File) float64 { return f.Cached },
		"cache_share":  func(f *File) float64 { return f.Cached },
		"size_bytes":   func(f *File) float64 { return float64(f.Size) },
		"change_bytes": func(f *File) float64 { return f.Cached - was[f.id] },
	}[o.Sort]
	if by == nil || o.Top == 0 || len(shown) <= o.Top {
		return shown
	}
	slices.SortFunc(shown, func(a, b *File) int { return cmp.Compare(by(b), by(a)) })
	return shown[:o.Top]
}

// sumsTable adds up to what /proc/meminfo says.
func sumsTable(now, old *Cache) table.Table {
	t := table.Table{Key: "cache", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "CACHED", Unit: "bytes"}, {Key: "share", Head: "OF ALL", Unit: "ratio"}}}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
	}
	t.Columns = append(t.Columns, table.Column{Key: "files", Head: "FILES", Unit: "count"}, table.Column{Key: "kind", Head: "KIND", Flex: true})
	row := func(kind string, files int, bytes, was float64) {
		cells := []table.Cell{table.Num(bytes), table.Maybe(bytes/now.Bytes, now.Bytes > 0)}
		if old != nil {
			cells = append(cells, table.Num(bytes-was))
		}
		t.Rows = append(t.Rows, append(cells, table.Maybe(float64(files), files >= 0), table.Str(kind)))
	}
	for i, s := range now.Sums {
		was := 0.0
		if old != nil && i < len(old.Sums) {
			was = old.Sums[i].Bytes
		}
		row(s.Kind, s.Files, s.Bytes, was)
	}
	was := 0.0
	if old != nil {
		was = old.remainder()
	}
	row("remainder", -1, now.remainder(), was)
	if old != nil {
		was = old.Bytes
	}
	row("Cached + Buffers of /proc/meminfo", -1, now.Bytes, was)
	t.Notes = append(t.Notes, "remainder: "+now.Rest)
	if now.Moved != 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("the cache changed by %s during the snapshot; the mean is shown", table.Value(now.Moved, "bytes")))
	}
	t.Notes = append(t.Notes, now.Notes...)
	if now.Left > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d files with less in the cache are only in the sums", now.Left))
	}
	return t
}
