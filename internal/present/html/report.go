package html

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"

	"iocause/internal/table"
)

//go:embed report.css
var reportStyle string

// ReportMark is in every page that WriteReport wrote, as DossierMark is in the others.
const ReportMark = `<meta name="generator" content="iocause">`

// Report is a page of tables and charts that needs nothing but itself: no
// script, no network. All its texts are data, and escaped here.
type Report struct {
	Title    string
	When     string
	Sections []Section
	Notes    []string
}

// Section is a part of a report that its contents lead to.
type Section struct {
	Heading string
	Lines   []string // paragraphs
	Tables  []Table
	Charts  []Chart
	Ranges  *Ranges // may be nil
}

// Table has a cell for each column in every row.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]string
}

// Column is the head of one.
type Column struct {
	Head  string
	Right bool // of figures
}

// WriteReport writes the page.
func WriteReport(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
%s
<title>%s</title>
<style>
%s</style>
</head>
<body>
<header>
<h1>%s</h1>
<p class="when">%s</p>
<nav aria-label="Sections"><ul>
`, ReportMark, escape(r.Title), reportStyle, escape(r.Title), escape(r.When))
	for i, s := range r.Sections {
		fmt.Fprintf(out, `<li><a href="#s%d">%s</a></li>`+"\n", i, escape(s.Heading))
	}
	fmt.Fprint(out, "</ul></nav>\n</header>\n<main>\n")
	chart := 0
	for i := range r.Sections {
		s := &r.Sections[i]
		fmt.Fprintf(out, `<section aria-labelledby="s%d"><h2 id="s%d" tabindex="-1">%s</h2>`+"\n", i, i, escape(s.Heading))
		for _, l := range s.Lines {
			fmt.Fprintf(out, "<p>%s</p>\n", escape(l))
		}
		for k := range s.Tables {
			s.Tables[k].write(out)
		}
		if s.Ranges != nil {
			s.Ranges.write(out, chart)
			chart++
		}
		if len(s.Charts) > 0 {
			fmt.Fprint(out, `<div class="charts">`+"\n")
			for k := range s.Charts {
				s.Charts[k].write(out, chart)
				chart++
			}
			fmt.Fprint(out, "</div>\n")
		}
		fmt.Fprint(out, "</section>\n")
	}
	fmt.Fprint(out, "</main>\n<footer><ul>\n")
	for _, n := range r.Notes {
		fmt.Fprintf(out, "<li>%s</li>\n", escape(n))
	}
	fmt.Fprint(out, "</ul></footer>\n</body>\n</html>\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// write makes the table scroll by keyboard where it is too wide.
func (t *Table) write(w io.Writer) {
	fmt.Fprintf(w, `<div class="wide" tabindex="0" role="region" aria-label="%s"><table>`, escape(t.Caption))
	if t.Caption != "" {
		fmt.Fprintf(w, "<caption>%s</caption>", escape(t.Caption))
	}
	fmt.Fprint(w, "<thead><tr>")
	class := func(i int) string {
		if t.Columns[i].Right {
			return ` class="r"`
		}
		return ""
	}
	for i, c := range t.Columns {
		fmt.Fprintf(w, `<th scope="col"%s>%s</th>`, class(i), escape(c.Head))
	}
	fmt.Fprint(w, "</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		fmt.Fprint(w, "<tr>")
		for i, cell := range row {
			fmt.Fprintf(w, "<td%s>%s</td>", class(i), escape(cell))
		}
		fmt.Fprint(w, "</tr>\n")
	}
	fmt.Fprint(w, "</tbody></table></div>\n")
}

// TableOf is a table as people read it.
func TableOf(t *table.Table, caption string) Table {
	out := Table{Caption: caption}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, Column{Head: c.Head, Right: c.Unit != ""})
	}
	for _, row := range t.Rows {
		var cells []string
		for i, c := range row {
			switch {
			case c.State == table.Absent:
				cells = append(cells, "-")
			case c.State == table.Failed:
				cells = append(cells, "?")
			case t.Columns[i].Unit != "":
				cells = append(cells, table.Value(c.Number, t.Columns[i].Unit))
			default:
				cells = append(cells, c.Text)
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
