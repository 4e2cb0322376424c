package console

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"iocause/internal/ask"
	"iocause/internal/present/jsondoc"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// Form is what is shown of tables, and how.
type Form struct {
	Top    int    // rows of each table, 0 all
	Sort   string // the key of a column; "" as the tables are
	Format string // text, json (a line each) or csv (the first table)
	Stamp  bool   // print the time of every interval
}

// Printer writes the tables of one interval after the other.
type Printer struct {
	Form   Form
	Style  text.Style
	Before bool // something was printed

	stdout io.Writer
	stderr io.Writer
	csv    *csv.Writer
}

// NewPrinter prints to stdout; notes of tables that go to programs go to stderr.
func NewPrinter(stdout, stderr io.Writer, form Form) *Printer {
	style := Style(stdout, os.Getenv, WidestTable)
	style.Kept = &text.Kept{}
	return &Printer{Form: form, Style: style, stdout: stdout, stderr: stderr, csv: csv.NewWriter(stdout)}
}

// Print writes the tables of the interval that began at start. label is what
// stands above them in text, "" for nothing.
func (p *Printer) Print(start time.Time, length time.Duration, label string, tables []table.Table) error {
	if err := p.Arrange(tables); err != nil {
		return err
	}
	switch p.Form.Format {
	case "json":
		return p.json(start, length, label, tables)
	case "csv":
		return p.table(start, &tables[0])
	}
	if p.Before && tables[0].Stream && label == "" {
		return text.WriteRows(p.stdout, &tables[0], p.Style)
	}
	if p.Before {
		fmt.Fprintln(p.stdout)
	}
	p.Before = true
	if p.Form.Stamp || label != "" {
		line := label
		if p.Form.Stamp {
			line = start.Format("2006-01-02 15:04:05.000 -0700") + " " + table.Duration(length.Seconds())
			if label != "" {
				line += " " + label
			}
		}
		fmt.Fprintln(p.stdout, line)
	}
	return text.WriteTables(p.stdout, tables, p.Style)
}

// Arrange sorts the tables that have the column, at least one, and cuts them.
func (p *Printer) Arrange(tables []table.Table) error {
	var missing error
	sorted := p.Form.Sort == ""
	for i := range tables {
		if tables[i].Whole {
			continue
		}
		if err := tables[i].Sort(p.Form.Sort); err == nil {
			sorted = true
		} else if missing == nil {
			missing = err
		}
		tables[i].Top(p.Form.Top)
	}
	if !sorted && missing != nil {
		return &ask.Error{Err: fmt.Errorf("reading --sort: %w", missing), Next: "give one of these"}
	}
	return nil
}

func (p *Printer) json(start time.Time, length time.Duration, label string, tables []table.Table) error {
	object := map[string]any{"time": start.Format(time.RFC3339Nano), "seconds": length.Seconds()}
	if label != "" {
		object["label"] = label
	}
	for i := range tables {
		object[tables[i].Key] = tables[i].Object()
	}
	return jsondoc.WriteLine(p.stdout, object)
}

func (p *Printer) table(start time.Time, t *table.Table) error {
	if !p.Before {
		p.Before = true
		if err := p.csv.Write(append([]string{"time"}, t.Keys()...)); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
	}
	var errs []error
	for i := range t.Rows {
		errs = append(errs, p.csv.Write(append([]string{start.Format(time.RFC3339Nano)}, text.Record(t, i)...)))
	}
	p.csv.Flush()
	if err := errors.Join(append(errs, p.csv.Error())...); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	for _, note := range t.Notes {
		fmt.Fprintln(p.stderr, "iocause: "+text.Escape(note))
	}
	return nil
}

// NewArrangedPrinter prints tables that come sorted and cut. width is that of the
// terminal; 0: the output is for programs.
func NewArrangedPrinter(stdout, stderr io.Writer, form Form) (p *Printer, width int) {
	form.Sort, form.Top = "", 0
	p = NewPrinter(stdout, stderr, form)
	if form.Format == "text" {
		width = cmp.Or(p.Style.Width, 80)
	}
	return p, width
}

// CheckSort refuses a column that there is not.
func CheckSort(columns []table.Column, sort string) error {
	t := table.Table{Columns: columns}
	if err := t.Sort(sort); err != nil {
		return &ask.Error{Err: fmt.Errorf("reading --sort: %w", err), Next: "give one of these"}
	}
	return nil
}

// WriteCSV writes a head and rows. Names in them are escaped as everywhere: CSV is for
// programs, but a terminal shows it, too.
func WriteCSV(to io.Writer, head []string, rows iter.Seq[[]string]) error {
	out := csv.NewWriter(to)
	errs := []error{out.Write(head)}
	for row := range rows {
		escaped := make([]string, len(row))
		for i := range row {
			escaped[i] = text.Escape(row[i])
		}
		errs = append(errs, out.Write(escaped))
	}
	out.Flush()
	if err := errors.Join(append(errs, out.Error())...); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
