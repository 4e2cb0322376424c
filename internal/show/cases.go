package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/tool/read"
)

// fullCases is how many cases are shown in full; of more there is a table.
const fullCases = 3

// Cases writes the findings of cases, or of the one that is asked for, counted from
// 1; 0 for all.
func Cases(out io.Writer, all []read.Case, which int, style text.Style) error {
	shown := Chosen(all, which)
	if len(shown) <= fullCases {
		for i := range shown {
			n := i + 1
			if which > 0 {
				n = which
			}
			if err := printCase(out, &shown[i], n, len(all), style); err != nil {
				return err
			}
		}
	}
	if len(shown) > 1 {
		return printSummary(out, shown, style)
	}
	return nil
}

// printCase writes the finding of one case, and what the text itself says.
func printCase(out io.Writer, c *read.Case, n, of int, style text.Style) error {
	var b strings.Builder
	if of > 1 {
		fmt.Fprintf(&b, "CASE %d of %d: ", n, of)
		if c.Host != "" {
			fmt.Fprintf(&b, "on %s, ", c.Host)
		}
	} else {
		b.WriteString("READ: ")
	}
	for i, x := range c.Blocks {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(x.Tool + " " + shortSource(x.Place()))
	}
	for i, line := range text.Wrap(text.Escape(b.String()), columnsOf(style)) {
		if i == 3 {
			fmt.Fprintln(out, "and more: --list")
			break
		}
		if style.ASCII {
			line = text.ASCII(line)
		}
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	r := *c.Report
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		r.Findings[i].Evidence = slices.Clone(r.Findings[i].Evidence)
		for k := range r.Findings[i].Evidence {
			e := &r.Findings[i].Evidence[k]
			e.Source = shortSource(e.Source)
		}
	}
	if r.Primary == diagnose.Unknown { // then the figures are what there is to know
		if err := printFacts(out, c, style); err != nil {
			return err
		}
		printNotes(out, c, style)
	}
	style.Whole = true // where in the text each figure stands
	if err := text.Write(out, &r, style); err != nil {
		return err
	}
	if r.Primary != diagnose.Unknown {
		fmt.Fprintln(out)
		printNotes(out, c, style)
		return nil
	}
	_, err := fmt.Fprintln(out)
	return err
}

// printFacts shows the figures of a case.
func printFacts(out io.Writer, c *read.Case, style text.Style) error {
	t := c.FiguresTable()
	if len(t.Rows) == 0 {
		return nil
	}
	for _, row := range t.Rows {
		row[len(row)-1].Text = shortSource(row[len(row)-1].Text)
	}
	if err := text.WriteTable(out, t, style); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// printNotes says what a reader must know of the figures of a case.
func printNotes(out io.Writer, c *read.Case, style text.Style) {
	notes := slices.Clone(c.Notes)
	if add := c.PasteNext(); add != "" {
		notes = append(notes, "to be surer: "+add)
	}
	if len(notes) == 0 {
		return
	}
	fmt.Fprintln(out, "Of the figures")
	for _, note := range notes {
		for i, line := range text.Wrap(text.Escape(note), columnsOf(style)-2) {
			fmt.Fprintln(out, map[bool]string{true: "- ", false: "  "}[i == 0]+line)
		}
	}
	fmt.Fprintln(out)
}

// shortSource keeps the lines of a place, and as much of the file's name as
// there is room for.
func shortSource(s string) string {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return s
	}
	file := s[strings.LastIndexByte(s[:at], '/')+1 : at]
	return text.Middle(file, 12) + s[at:]
}

// printSummary shows the cases side by side, and what differs between the
// first and the last.
func printSummary(out io.Writer, all []read.Case, style text.Style) error {
	if err := text.WriteTable(out, read.CasesTable(all), style); err != nil {
		return err
	}
	if len(all) > fullCases {
		_, err := fmt.Fprintln(out, "\nOne case with its evidence: --case N")
		return err
	}
	return printDifference(out, &all[0], &all[len(all)-1], style)
}

// printDifference names the figures in which two cases differ most.
func printDifference(out io.Writer, first, last *read.Case, style text.Style) error {
	t := read.DifferenceTable(first, last)
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	return text.WriteTable(out, t, style)
}

// Chosen is the case that is asked for, or all.
func Chosen(all []read.Case, which int) []read.Case {
	if which > 0 {
		return all[which-1 : which]
	}
	return all
}

// columnsOf is the width that text has to fit into.
func columnsOf(s text.Style) int { return max(cmp.Or(s.Width, 80), 40) }
