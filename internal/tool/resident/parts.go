package resident

import (
	"errors"
	"fmt"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// narrowestMap is how long the bar of a file is at least.
const narrowestMap = 40

// partsTable is the map of the files that are shown: bars for people, ranges
// for programs.
func partsTable(files *table.Table, shown []*residency.File, o Files) (table.Table, error) {
	if err := files.Sort(o.Sort); err != nil {
		return table.Table{}, err
	}
	by := map[string]*residency.File{}
	for _, f := range shown {
		by[f.Path] = f
	}
	path := len(files.Columns) - 1
	rows := files.Rows
	if o.Top > 0 {
		rows = rows[:min(o.Top, len(rows))]
	}
	bars := o.People
	t := table.Table{Key: "ranges", Whole: true, Columns: []table.Column{
		{Key: "offset_bytes", Unit: "bytes"}, {Key: "length_bytes", Unit: "bytes"}, {Key: "file"}}}
	if bars {
		t = table.Table{Key: "map", Whole: true, Columns: []table.Column{{Key: "map", Head: "FROM ITS BEGINNING TO ITS END"}, {Key: "file", Head: "FILE", Flex: true}}}
		t.Notes = []string{"█ all of the part is cached, ▓ over two thirds, ▒ over one third, ░ some, · nothing"}
	}
	failed := 0
	var first error
	for _, row := range rows {
		f := by[row[path].Text]
		if f.Size == 0 {
			continue
		}
		err := partsOf(f, bars, max(narrowestMap, o.Width*3/5), &t)
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
