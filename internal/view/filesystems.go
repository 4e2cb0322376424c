package view

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// fileSystems are those on block devices: how full they are, and how they are set up.
// None where nobody asked them.
func fileSystems(w *sample.Window, q *Query) []table.Table {
	if !w.Has(sample.FSSize) {
		return nil
	}
	t := table.Table{Key: "file_systems", Title: "File systems", Whole: true, Columns: []table.Column{
		{Key: "mount", Head: "MOUNT", Flex: true, Least: 16}, {Key: "device", Head: "DEVICE", Flex: true},
		{Key: "size_bytes", Head: "SIZE", Unit: "bytes"},
		{Key: "free", Head: "FREE", Unit: "ratio"},
		{Key: "inodes_free", Head: "INODES FREE", Unit: "ratio", Drop: 1},
		{Key: "journal_bytes", Head: "JOURNAL", Unit: "bytes", Drop: 2},
		{Key: "options", Head: "OPTIONS", Flex: true, Least: 12},
	}, Notes: []string{"OPTIONS: those that change how it reads and writes, or that count for quotas; JOURNAL: inside ext3 and ext4"}}
	var all []sample.Entity
	w.Each(sample.FSSize, func(e sample.Entity, _ *sample.Series) {
		if q.Device == "" || e.Device == q.Device {
			all = append(all, e)
		}
	})
	slices.SortFunc(all, func(a, b sample.Entity) int { return cmp.Compare(a.Class, b.Class) })
	share := func(part, whole sample.Metric, e sample.Entity) table.Cell {
		n, ok := w.Value(part, e)
		of, known := w.Value(whole, e)
		if !ok || !known || of == 0 {
			return table.None()
		}
		return table.Num(n / of)
	}
	for _, e := range all {
		options, words := table.None(), []string(nil)
		for class := range classes(w, sample.FSOption, e.Device) {
			if option, point, _ := strings.Cut(class, " "); point == e.Class {
				words = append(words, option)
			}
		}
		if slices.Sort(words); len(words) > 0 {
			options = table.Str(strings.Join(words, ", "))
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(e.Class), table.Str(e.Device), table.Maybe(w.Value(sample.FSSize, e)), share(sample.FSAvailable, sample.FSSize, e),
			share(sample.FSInodesFree, sample.FSInodes, e), table.Maybe(w.Value(sample.FSJournal, e)), options,
		})
	}
	return []table.Table{t}
}
