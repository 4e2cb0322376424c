package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"iocause/internal/fleet"
	"iocause/internal/table"
)

// Tables show both sides: what was found, which figures differ, which settings.
func (c *Comparison) Tables() []table.Table {
	return []table.Table{c.sidesTable(), c.causesTable(), c.figuresTable(), c.factsTable(), c.settingsTable()}
}

func (c *Comparison) sidesTable() table.Table {
	t := table.Table{Key: "sides", Whole: true, Columns: []table.Column{
		{Key: "side", Head: ""}, {Key: "asked", Head: "ASKED FOR", Flex: true, Least: 16}, {Key: "hosts", Head: "HOSTS", Unit: "count"}, {Key: "diagnosed", Head: "DIAGNOSED", Unit: "count"},
	}}
	for i, f := range c.Sides {
		if f == nil {
			continue // of a schema
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str("AB"[i : i+1]), table.Str(c.Said[i]), table.Num(float64(len(f.Hosts))), table.Num(float64(f.looked()))})
		for _, note := range f.notes() {
			t.Notes = append(t.Notes, "AB"[i:i+1]+": "+note)
		}
	}
	return t
}

func (c *Comparison) causesTable() table.Table {
	t := table.Table{Key: "causes", Whole: true, Title: "Hosts by cause", Columns: []table.Column{
		{Key: "cause", Head: "CAUSE"}, {Key: "hosts_a", Head: "A", Unit: "count"}, {Key: "share_a", Head: "SHARE", Unit: "ratio"}, {Key: "hosts_b", Head: "B", Unit: "count"}, {Key: "share_b", Head: "SHARE", Unit: "ratio"},
	}}
	with := map[string][2]int{}
	for i, f := range c.Sides {
		if f == nil {
			continue
		}
		for _, cause := range append(f.causes(), healthy) {
			if n := len(f.With(cause)); n > 0 {
				both := with[cause]
				both[i] = n
				with[cause] = both
			}
		}
	}
	for _, cause := range slices.SortedFunc(maps.Keys(with), func(a, b string) int {
		return cmp.Or(cmp.Compare(with[b][0]+with[b][1], with[a][0]+with[a][1]), cmp.Compare(a, b))
	}) {
		row := []table.Cell{table.Str(cause)}
		for i, f := range c.Sides {
			looked := f.looked()
			row = append(row, table.Num(float64(with[cause][i])), table.Maybe(float64(with[cause][i])/float64(max(looked, 1)), looked > 0))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c *Comparison) figuresTable() table.Table {
	t := table.Table{Key: "figures", Whole: true, Title: "Figures", Columns: []table.Column{
		{Key: "figure", Head: "FIGURE", Flex: true, Least: 24}, {Key: "key", Data: true}, {Key: "unit", Data: true}, {Key: "a_shown", Head: "A"}, {Key: "b_shown", Head: "B"},
		{Key: "a", Unit: "count", Data: true}, {Key: "b", Unit: "count", Data: true},
		{Key: "superiority", Head: "B LARGER", Unit: "ratio"}, {Key: "stands_out", Head: "STANDS OUT"},
	}}
	for i := range c.Figures {
		f := &c.Figures[i]
		out := ""
		if f.Compared.Clear {
			out = "yes"
		}
		said := func(v float64) table.Cell { return table.Maybe(v, !math.IsNaN(v)) }
		t.Rows = append(t.Rows, []table.Cell{table.Str(f.Name), table.Str(f.Key), table.Str(f.Unit), table.Str(table.Value(f.Sides[0], f.Unit)), table.Str(table.Value(f.Sides[1], f.Unit)),
			said(f.Sides[0]), said(f.Sides[1]), table.Maybe(f.Compared.Superiority, f.Compared.Superiority >= 0), table.Str(out)})
	}
	t.Notes = append(t.Notes, "A and B are medians: over hosts, of a side of fewer than four over intervals of time. B LARGER is the share of pairs, one of each side, in which B is larger; "+
		"what differs by a tenth at least, and in nine of ten pairs in the same direction, stands out")
	return t
}

func (c *Comparison) factsTable() table.Table {
	t := table.Table{Key: "facts", Whole: true, Title: "What one side is more often than the other", Columns: []table.Column{
		{Key: "fact", Head: "FACT", Flex: true, Least: 24}, {Key: "with_a", Head: "A", Unit: "count"}, {Key: "with_b", Head: "B", Unit: "count"}, {Key: "false_discovery_rate", Head: "BY CHANCE", Unit: "count"},
	}}
	for i := range c.Facts {
		d := &c.Facts[i]
		t.Rows = append(t.Rows, []table.Cell{table.Str(factWords(d.Facts, 3)), table.Num(float64(d.With[0])), table.Num(float64(d.With[1])), table.Num(d.Rate)})
	}
	switch {
	case c.Why != "":
	case len(c.Facts) == 0:
		t.Notes = append(t.Notes, "no setting differs by more than chance allows")
	default:
		t.Notes = append(t.Notes, fmt.Sprintf("Fisher's exact test, false-discovery rate at most %g", fleet.MostFalse))
	}
	return t
}

func (c *Comparison) settingsTable() table.Table {
	t := table.Table{Key: "settings", Whole: true, Title: "Settings that differ", Columns: []table.Column{
		{Key: "setting", Head: "SETTING", Flex: true, Least: 24}, {Key: "a", Head: "A", Flex: true}, {Key: "b", Head: "B", Flex: true},
	}}
	for _, s := range c.Settings {
		row := []table.Cell{table.Str(s.Name)}
		for _, v := range s.Values {
			if v == "" {
				row = append(row, table.None())
				continue
			}
			row = append(row, table.Str(v))
		}
		t.Rows = append(t.Rows, row)
	}
	if c.Why != "" {
		t.Notes = append(t.Notes, c.Why)
	}
	return t
}
