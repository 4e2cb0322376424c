package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

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

// residentTables are the tables of resident for paths and processes.
func (a *app) residentTables(p *printer, o *residentOptions, now, old *residency.Found, held bool) ([]table.Table, error) {
	before := map[residency.ID]int64{}
	var sumBefore int64
	if old != nil {
		for _, f := range old.Files {
			before[f.ID] = f.Pages.Cached
			sumBefore += f.Pages.Cached
		}
	}
	files := table.Table{Key: "files", Columns: pagesColumns(old != nil)}
	if held {
		files.Columns = append(files.Columns,
			table.Column{Key: "held", Head: "HELD", Drop: 6}, table.Column{Key: "by", Head: "BY", Drop: 7})
	}
	files.Columns = append(files.Columns, table.Column{Key: "file", Head: "FILE", Flex: true})
	var sum residency.Pages
	var size int64
	for i := range now.Files {
		if f := &now.Files[i]; f.Err == nil {
			sum.Add(f.Pages)
			size += f.Size
		}
	}
	shown := topFiles(now.Files, before, o)
	files.Left = len(now.Files) - len(shown)
	for _, f := range shown {
		cells := unread(f.Size, old != nil)
		if f.Err == nil {
			was := before[f.ID] // a file that was not there had nothing cached
			cells = pagesCells(f.Pages, f.Size, old != nil, &was)
		}
		if held {
			cells = append(cells, table.Str(heldAs(f)), table.Str(named(a.host, f.PID)))
		}
		files.Rows = append(files.Rows, append(cells, table.Str(f.Path)))
	}
	total := table.Table{Key: "total", Whole: true, Columns: append(pagesColumns(old != nil),
		table.Column{Key: "files", Head: "FILES", Unit: "count"})}
	total.Rows = append(total.Rows, append(pagesCells(sum, size, old != nil, &sumBefore), table.Num(float64(len(now.Files)))))
	total.Notes = foundNotes(now)
	tables := []table.Table{files, total}
	if o.parts {
		parts, err := a.partsTable(p, o, &tables[0], shown)
		if err != nil {
			return nil, err
		}
		if o.format == "csv" {
			return []table.Table{parts}, nil
		}
		tables = append(tables, parts)
	}
	if o.format == "text" {
		withoutZeros(tables, "dirty_bytes", "writeback_bytes", "evicted_bytes", "recently_evicted_bytes")
		if p.style.Width < roomy {
			tables[0].Without("writeback_bytes", "evicted_bytes", "cached_pages", "pages")
		}
	}
	return tables, nil
}

// topFiles leaves out what --top would leave out anyway, before there are rows
// and texts for it: a tree may have millions of files.
func topFiles(all []residency.File, before map[residency.ID]int64, o *residentOptions) []*residency.File {
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
	}[o.sort]
	if by == nil || o.top == 0 || len(all) <= o.top {
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
	return shown[:o.top]
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
	add(f.Skipped, "directory", " not looked into: on other file systems, or on the kernel's own such as /proc")
	if f.Failed > 0 {
		why := sample.Counted(f.Failed, "name") + " could not be measured, so the sums are too small"
		for _, err := range f.Errors {
			why += "; " + err.Error()
		}
		notes = append(notes, why)
	}
	for i := range f.Files {
		if f.Files[i].Pages.Source == "mincore(2)" {
			notes = append(notes, "this kernel lacks cachestat(2) (Linux 6.5): by mincore(2), which does not know dirty and evicted pages")
			break
		}
	}
	return notes
}

// roomy is the width from which on a table for people has columns that are of
// less use than a path that can be read.
const roomy = 110

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

// narrowestMap is how long the bar of a file is at least.
const narrowestMap = 40

// partsTable is the map of the files that are shown: bars for people, ranges
// for programs.
func (a *app) partsTable(p *printer, o *residentOptions, files *table.Table, shown []*residency.File) (table.Table, error) {
	if err := files.Sort(o.sort); err != nil {
		return table.Table{}, &usageError{fmt.Errorf("reading --sort: %w", err), "give one of these"}
	}
	by := map[string]*residency.File{}
	for _, f := range shown {
		by[f.Path] = f
	}
	path := len(files.Columns) - 1
	rows := files.Rows
	if o.top > 0 {
		rows = rows[:min(o.top, len(rows))]
	}
	bars := o.format == "text"
	t := table.Table{Key: "ranges", Whole: true, Columns: []table.Column{
		{Key: "offset_bytes", Unit: "bytes"}, {Key: "length_bytes", Unit: "bytes"}, {Key: "file"}}}
	if bars {
		t = table.Table{Key: "map", Whole: true, Columns: []table.Column{{Key: "map", Head: "FROM ITS BEGINNING TO ITS END"}, {Key: "file", Head: "FILE", Flex: true}}}
		t.Notes = []string{"█ all of the part is in the cache, ▓ over two thirds, ▒ over one third, ░ some, · nothing"}
	}
	failed := 0
	var first error
	for _, row := range rows {
		f := by[row[path].Text]
		if f.Size == 0 {
			continue
		}
		err := partsOf(f, bars, max(narrowestMap, p.style.Width*3/5), &t)
		if failed++; err == nil {
			failed--
		} else if first == nil {
			first = err
		}
	}
	if failed > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s could not be mapped: %v", sample.Counted(failed, "file"), first))
	}
	return t, nil
}

func partsOf(f *residency.File, bars bool, width int, t *table.Table) error {
	if f.Err != nil {
		return f.Err
	}
	if f.Deleted {
		return errors.New("a deleted file has no path to open it by")
	}
	if bars {
		shares, err := residency.Shares(f.Path, f.ID, width)
		if err == nil {
			t.Rows = append(t.Rows, []table.Cell{table.Str(bar(shares)), table.Str(f.Path)})
		}
		return err
	}
	ranges, err := residency.Ranges(f.Path, f.ID)
	for _, r := range ranges {
		t.Rows = append(t.Rows, []table.Cell{table.Num(float64(r.Offset)), table.Num(float64(r.Length)), table.Str(f.Path)})
	}
	return err
}

// bar draws shares; a part that is not whole never looks so.
func bar(shares []float64) string {
	var b strings.Builder
	for _, s := range shares {
		switch {
		case s <= 0:
			b.WriteRune('·')
		case s < 1.0/3:
			b.WriteRune('░')
		case s < 2.0/3:
			b.WriteRune('▒')
		case s < 1:
			b.WriteRune('▓')
		default:
			b.WriteRune('█')
		}
	}
	return b.String()
}
