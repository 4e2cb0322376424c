package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
	"iocause/internal/table"
)

// intervals is what every observation command takes: [INTERVAL [COUNT]] and
// the flags that say what is shown, and how.
type intervals struct {
	every  time.Duration
	count  int // 0: until it is interrupted
	top    int // rows of each table, 0 all
	sort   string
	format string
	stamp  bool
}

// intervalUsage follows a command's name in its usage line.
const intervalUsage = "[INTERVAL [COUNT]] [flags]"

// firstLook is how long a command without INTERVAL watches, once.
const firstLook = 5 * time.Second

// bind adds the flags. sort is the key of the column that tables are sorted by.
func (o *intervals) bind(c *cobra.Command, sort string) {
	f := c.Flags()
	f.IntVar(&o.top, "top", 20, "rows of each table, 0 for all")
	f.StringVar(&o.sort, "sort", sort, "column, by its name in JSON")
	f.StringVar(&o.format, "format", "text", "text, json or csv (the first table)")
	f.BoolVarP(&o.stamp, "timestamps", "t", false, "print the time of every interval")
	f.SortFlags = false
}

// args reads the arguments and checks the flags.
func (o *intervals) args(args []string) error {
	o.every, o.count = firstLook, 1
	if len(args) > 2 {
		return &usageError{fmt.Errorf("reading the arguments: %q is one too many", args[2]), "give INTERVAL and COUNT at most"}
	}
	if len(args) > 0 {
		every, err := interval(args[0])
		if err != nil {
			return err
		}
		o.every, o.count = every, 0
	}
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return &usageError{fmt.Errorf("reading COUNT: %q is not a number of intervals", args[1]), "give 1 or more"}
		}
		o.count = n
	}
	switch {
	case o.top < 0:
		return &usageError{fmt.Errorf("reading --top: %d is no number of rows", o.top), "give 0 for all, or how many"}
	case o.format != "text" && o.format != "json" && o.format != "csv":
		return &usageError{fmt.Errorf("reading --format: no format is called %q", o.format), "use text, json or csv"}
	}
	return nil
}

// interval reads seconds, with a unit or without.
func interval(s string) (time.Duration, error) {
	d, err := parseTime(s)
	if err != nil || d < shortest {
		return 0, &usageError{fmt.Errorf("reading INTERVAL: %q is no time of %v or more", s, shortest), "give seconds, or a time such as 500ms"}
	}
	return d, nil
}

// printer writes the tables of one interval after the other.
type printer struct {
	stdout io.Writer
	stderr io.Writer
	o      *intervals
	style  text.Style
	csv    *csv.Writer
	before bool // something was printed
}

func newPrinter(s streams, o *intervals) *printer {
	return &printer{stdout: s.stdout, stderr: s.stderr, o: o, style: styleOf(s.stdout, os.Getenv, widestTable), csv: csv.NewWriter(s.stdout)}
}

// print writes the tables of the interval that began at start. label is what
// stands above them in text, "" for nothing.
func (p *printer) print(start time.Time, length time.Duration, label string, tables []table.Table) error {
	if err := p.arrange(tables); err != nil {
		return err
	}
	switch p.o.format {
	case "json":
		return p.json(start, length, label, tables)
	case "csv":
		return p.table(start, &tables[0])
	}
	if p.before && tables[0].Stream && label == "" {
		return text.WriteRows(p.stdout, &tables[0], p.style)
	}
	if p.before {
		fmt.Fprintln(p.stdout)
	}
	p.before = true
	if p.o.stamp || label != "" {
		line := label
		if p.o.stamp {
			line = start.Format("2006-01-02 15:04:05.000 -0700") + " " + table.Duration(length.Seconds())
			if label != "" {
				line += " " + label
			}
		}
		fmt.Fprintln(p.stdout, line)
	}
	for i := range tables {
		if i > 0 {
			fmt.Fprintln(p.stdout)
		}
		if err := text.WriteTable(p.stdout, &tables[i], p.style); err != nil {
			return err
		}
	}
	return nil
}

// arrange sorts the tables that have the column, at least one, and cuts them.
func (p *printer) arrange(tables []table.Table) error {
	var missing error
	sorted := p.o.sort == ""
	for i := range tables {
		if tables[i].Whole {
			continue
		}
		if err := tables[i].Sort(p.o.sort); err == nil {
			sorted = true
		} else if missing == nil {
			missing = err
		}
		tables[i].Top(p.o.top)
	}
	if !sorted && missing != nil {
		return &usageError{fmt.Errorf("reading --sort: %w", missing), "give one of these"}
	}
	return nil
}

func (p *printer) json(start time.Time, length time.Duration, label string, tables []table.Table) error {
	object := map[string]any{"time": start.Format(time.RFC3339Nano), "seconds": length.Seconds()}
	if label != "" {
		object["label"] = label
	}
	for i := range tables {
		object[tables[i].Key] = tables[i].Object()
	}
	return writeJSONLine(p.stdout, object)
}

func (p *printer) table(start time.Time, t *table.Table) error {
	if !p.before {
		p.before = true
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
