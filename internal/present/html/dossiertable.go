package html

import (
	"fmt"
	"strconv"

	"iocause/internal/table"
)

// mostRows is how many rows of a table a page has: those that come first are the
// largest.
const mostRows = 25

func (d *dossier) allTables() {
	if len(d.Tables) == 0 {
		return
	}
	d.section("Figures")
	d.put(`<p class="faint">Click the head of a column to sort by it.</p>`)
	for i := range d.Tables {
		d.table(&d.Tables[i])
	}
	d.end()
}

// table is a table that its heads sort. Columns for programs are left out, and
// those that are zero or absent throughout.
func (d *dossier) table(t *table.Table) {
	if len(t.Rows) == 0 {
		return
	}
	var shown []int
	for i, c := range t.Columns {
		if !c.Data && said(t, i) {
			shown = append(shown, i)
		}
	}
	id := d.tables
	d.tables++
	d.put(`<figure class="table"><figcaption id="t%d">%s</figcaption><div class="wide" tabindex="0" role="region" aria-labelledby="t%d"><table%s><thead><tr>`, id, escape(t.Title), id, sortable(t))
	for _, i := range shown {
		class := ""
		if t.Columns[i].Unit != "" {
			class = ` class="r"`
		}
		fmt.Fprintf(d.out, `<th scope="col"%s>%s</th>`, class, escape(t.Columns[i].Head))
	}
	d.put(`</tr></thead><tbody>`)
	for _, row := range t.Rows[:min(len(t.Rows), mostRows)] {
		fmt.Fprint(d.out, "<tr>")
		for _, i := range shown {
			fmt.Fprint(d.out, cellOf(row[i], t.Columns[i].Unit))
		}
		d.put("</tr>")
	}
	d.put(`</tbody></table></div>`)
	if left := t.Left + max(len(t.Rows)-mostRows, 0); left > 0 {
		d.put(`<p class="faint">and %d more rows</p>`, left)
	}
	for _, n := range t.Notes {
		d.put(`<p class="faint">%s</p>`, escape(n))
	}
	d.put(`</figure>`)
}

func sortable(t *table.Table) string {
	if t.Whole || len(t.Rows) < 2 {
		return ""
	}
	return ` class="sort"`
}

// said tells whether a column says anything.
func said(t *table.Table, column int) bool {
	for _, row := range t.Rows {
		switch c := row[column]; {
		case c.State == table.Failed, c.State == table.Known && (t.Columns[column].Unit == "" && c.Text != "" || c.Number != 0):
			return true
		}
	}
	return false
}

// cellOf is a cell with the number that it is sorted by.
func cellOf(c table.Cell, unit string) string {
	switch {
	case c.State == table.Absent && unit == "":
		return `<td>-</td>`
	case c.State == table.Absent:
		return `<td class="r" data-v="-1">-</td>`
	case c.State == table.Failed:
		return `<td class="r" data-v="-1">?</td>`
	case unit != "":
		return `<td class="r" data-v="` + strconv.FormatFloat(c.Number, 'g', 4, 64) + `">` + escape(table.Value(c.Number, unit)) + `</td>`
	}
	return `<td><bdi>` + escape(c.Text) + `</bdi></td>`
}
