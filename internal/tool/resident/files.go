package resident

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// pagesColumns are the columns for what the cache holds of something.
func pagesColumns(changes bool) []table.Column {
	columns := []table.Column{
		{Key: "cached_bytes", Head: "CACHED", Unit: "bytes"},
		{Key: "cached_share", Head: "IN", Unit: "ratio"},
		{Key: "size_bytes", Head: "SIZE", Unit: "bytes"},
	}
	if changes {
		columns = append(columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
	}
	return append(columns,
		table.Column{Key: "dirty_bytes", Head: "DIRTY", Unit: "bytes", Drop: 3},
		table.Column{Key: "writeback_bytes", Head: "WRBACK", Unit: "bytes", Drop: 4},
		table.Column{Key: "evicted_bytes", Head: "EVICTED", Unit: "bytes", Drop: 5},
		table.Column{Key: "recently_evicted_bytes", Head: "RECENT", Unit: "bytes", Drop: 2},
		table.Column{Key: "cached_pages", Head: "PAGES", Unit: "count", Drop: 8},
		table.Column{Key: "pages", Head: "OF", Unit: "count", Drop: 9})
}

// pagesCells are the cells for them. before is nil where nothing was seen.
func pagesCells(p residency.Pages, size int64, changes bool, before *int64) []table.Cell {
	page := float64(os.Getpagesize())
	known := func(pages int64) table.Cell { return table.Maybe(float64(pages)*page, pages >= 0) }
	cells := []table.Cell{
		known(p.Cached),
		table.Maybe(float64(p.Cached)/float64(p.Total), p.Total > 0),
		table.Num(float64(size)),
	}
	if changes && before != nil {
		cells = append(cells, table.Num(float64(p.Cached-*before)*page))
	} else if changes {
		cells = append(cells, table.None())
	}
	return append(cells, known(p.Dirty), known(p.Writeback), known(p.Evicted), known(p.RecentlyEvicted),
		table.Num(float64(p.Cached)), table.Num(float64(p.Total)))
}

// unread are as many cells that say that measuring failed.
func unread(size int64, changes bool) []table.Cell {
	cells := []table.Cell{table.Unread(), table.Unread(), table.Num(float64(size))}
	for range len(pagesColumns(changes)) - len(cells) {
		cells = append(cells, table.Unread())
	}
	return cells
}

// Files is how files that were named, or that processes hold, are shown.
type Files struct {
	Form
	Held  bool // by processes: how, and by which
	Parts bool // which parts of each file are cached
	Only  bool // nothing but those parts
	Width int  // columns of the screen
}

// FileTables are the tables of what was found, with what changed since old, nil
// for none. It fails where there is no such column to sort by.
func FileTables(h *host.Host, now, old *residency.Found, f Files) ([]table.Table, error) {
	before := map[residency.ID]int64{}
	var sumBefore int64
	if old != nil {
		for _, x := range old.Files {
			before[x.ID] = x.Pages.Cached
			sumBefore += x.Pages.Cached
		}
	}
	files := table.Table{Key: "files", Columns: pagesColumns(old != nil)}
	if f.Held {
		files.Columns = append(files.Columns,
			table.Column{Key: "held", Head: "HELD", Drop: 6}, table.Column{Key: "by", Head: "BY", Drop: 7})
	}
	files.Columns = append(files.Columns, table.Column{Key: "file", Head: "FILE", Flex: true})
	var sum residency.Pages
	var size int64
	for i := range now.Files {
		if x := &now.Files[i]; x.Err == nil {
			sum.Add(x.Pages)
			size += x.Size
		}
	}
	shown := topFiles(now.Files, before, f.Form)
	files.Left = len(now.Files) - len(shown)
	for _, x := range shown {
		cells := unread(x.Size, old != nil)
		if x.Err == nil {
			was := before[x.ID] // a file that was not there had nothing cached
			cells = pagesCells(x.Pages, x.Size, old != nil, &was)
		}
		if f.Held {
			cells = append(cells, table.Str(heldAs(x)), table.Str(processName(h, x.PID)))
		}
		files.Rows = append(files.Rows, append(cells, table.Str(x.Path)))
	}
	total := table.Table{Key: "total", Whole: true, Columns: append(pagesColumns(old != nil),
		table.Column{Key: "files", Head: "FILES", Unit: "count"})}
	total.Rows = append(total.Rows, append(pagesCells(sum, size, old != nil, &sumBefore), table.Num(float64(len(now.Files)))))
	total.Notes = foundNotes(now)
	tables := []table.Table{files, total}
	if f.Parts {
		parts, err := partsTable(&tables[0], shown, f)
		if err != nil {
			return nil, err
		}
		if f.Only {
			return []table.Table{parts}, nil
		}
		tables = append(tables, parts)
	}
	if f.People {
		withoutZeros(tables, "dirty_bytes", "writeback_bytes", "evicted_bytes", "recently_evicted_bytes")
	}
	if f.Narrow {
		tables[0].Without("writeback_bytes", "evicted_bytes", "cached_pages", "pages")
	}
	return tables, nil
}

// topFiles leaves out what --top would leave out anyway, before there are rows
// and texts for it: a tree may have millions of files.
func topFiles(all []residency.File, before map[residency.ID]int64, o Form) []*residency.File {
	shown := make([]*residency.File, len(all))
	for i := range all {
		shown[i] = &all[i]
	}
	by := map[string]func(f *residency.File) int64{
		"cached_bytes":           func(f *residency.File) int64 { return f.Pages.Cached },
		"cached_pages":           func(f *residency.File) int64 { return f.Pages.Cached },
		"pages":                  func(f *residency.File) int64 { return f.Pages.Total },
		"size_bytes":             func(f *residency.File) int64 { return f.Size },
		"dirty_bytes":            func(f *residency.File) int64 { return f.Pages.Dirty },
		"writeback_bytes":        func(f *residency.File) int64 { return f.Pages.Writeback },
		"evicted_bytes":          func(f *residency.File) int64 { return f.Pages.Evicted },
		"recently_evicted_bytes": func(f *residency.File) int64 { return f.Pages.RecentlyEvicted },
		"change_bytes":           func(f *residency.File) int64 { return f.Pages.Cached - before[f.ID] },
	}[o.Sort]
	if by == nil || o.Top == 0 || len(all) <= o.Top {
		return shown
	}
	slices.SortStableFunc(shown, func(a, b *residency.File) int {
		switch { // what is not known comes last
		case a.Err == nil && b.Err != nil:
			return -1
		case a.Err != nil && b.Err == nil:
			return 1
		}
		return cmp.Compare(by(b), by(a))
	})
	return shown[:o.Top]
}

// heldAs says how a process holds a file.
func heldAs(f *residency.File) string {
	var how []string
	if f.Open {
		how = append(how, "open")
	}
	if f.Mapped {
		how = append(how, "mapped")
	}
	if f.Deleted {
		how = append(how, "deleted")
	}
	return strings.Join(how, ",")
}

// foundNotes say what the figures leave out.
func foundNotes(f *residency.Found) []string {
	var notes []string
	add := func(n int, one, what string) {
		if n > 0 {
			notes = append(notes, sample.Counted(n, one)+what)
		}
	}
	add(f.Again, "name", " more of files that are counted once")
	add(f.Links, "symbolic link", " not followed")
	add(f.Others, "file", " without pages of their own: pipes, sockets, devices")
	add(f.Skipped, "directory", " skipped: on other file systems, or on the kernel's own such as /proc")
	if f.Failed > 0 {
		why := sample.Counted(f.Failed, "name") + " could not be measured, so the sums are too small"
		for _, err := range f.Errors {
			why += "; " + err.Error()
		}
		notes = append(notes, why)
	}
	overlay, older := 0, 0
	for i := range f.Files {
		switch x := &f.Files[i]; {
		case x.Overlay:
			overlay++
		case x.Pages.Source == "mincore(2)":
			older++
		}
	}
	const less = "mincore(2), which does not show dirty and evicted pages"
	if older > 0 {
		notes = append(notes, "this kernel lacks cachestat(2) (Linux 6.5): using "+less)
	}
	if overlay > 0 {
		notes = append(notes, sample.Counted(overlay, "file")+" on overlayfs: measured by "+less)
	}
	return notes
}

// withoutZeros takes columns out of tables for people that say nothing there.
func withoutZeros(tables []table.Table, keys ...string) {
	for _, key := range keys {
		said := slices.ContainsFunc(tables, func(t table.Table) bool {
			at := slices.Index(t.Keys(), key)
			return at >= 0 && slices.ContainsFunc(t.Rows, func(r []table.Cell) bool { return r[at].State == table.Known && r[at].Number != 0 })
		})
		for i := range tables {
			if !said {
				tables[i].Without(key)
			}
		}
	}
}
