package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// fullCases is how many cases are shown in full; of more there is a table.
const fullCases = 3

func (a *app) printCases(texts []*parse.Text, all []judged, o *readOptions) error {
	if o.which > len(all) {
		return &usageError{fmt.Errorf("reading --case: there is no case %d", o.which), fmt.Sprintf("the text has %d", len(all))}
	}
	shown := all
	if o.which > 0 {
		shown = all[o.which-1 : o.which]
	}
	if o.format == "json" {
		return writeJSON(a.stdout, readDocument(texts, shown))
	}
	style := styleOf(a.stdout, os.Getenv, widestText)
	if len(shown) <= fullCases {
		for i := range shown {
			n := i + 1
			if o.which > 0 {
				n = o.which
			}
			if err := a.printCase(&shown[i], n, len(all), style); err != nil {
				return err
			}
		}
	}
	if len(shown) > 1 {
		return a.printSummary(shown, style)
	}
	return nil
}

// printCase writes the finding of one case, and what the text itself says.
func (a *app) printCase(c *judged, n, of int, style text.Style) error {
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
		b.WriteString(x.Tool + " " + shortSource(place(x)))
	}
	for i, line := range text.Wrap(text.Escape(b.String()), columnsOf(style)) {
		if i == 3 {
			fmt.Fprintln(a.stdout, "and more: --list")
			break
		}
		fmt.Fprintln(a.stdout, line)
	}
	fmt.Fprintln(a.stdout)
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
		if err := a.printFacts(c, style); err != nil {
			return err
		}
		a.printNotes(c, style)
	}
	if err := text.Write(a.stdout, &r, style); err != nil {
		return err
	}
	if r.Primary != diagnose.Unknown {
		fmt.Fprintln(a.stdout)
		a.printNotes(c, style)
		return nil
	}
	_, err := fmt.Fprintln(a.stdout)
	return err
}

// printFacts shows the figures of a case.
func (a *app) printFacts(c *judged, style text.Style) error {
	t := factsTable(c)
	if len(t.Rows) == 0 {
		return nil
	}
	if err := text.WriteTable(a.stdout, t, style); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout)
	return err
}

// printNotes says what a reader must know of the figures of a case.
func (a *app) printNotes(c *judged, style text.Style) {
	notes := slices.Clone(c.Notes)
	if add := pasteNext(c); add != "" {
		notes = append(notes, "to be surer: "+add)
	}
	if len(notes) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, "Of the figures")
	for _, note := range notes {
		for i, line := range text.Wrap(text.Escape(note), columnsOf(style)-2) {
			fmt.Fprintln(a.stdout, map[bool]string{true: "- ", false: "  "}[i == 0]+line)
		}
	}
	fmt.Fprintln(a.stdout)
}

// pasteNext says what more would make the finding surer: what the gaps of the
// window ask for.
func pasteNext(c *judged) string {
	var paste []string
	watch := false
	for _, g := range c.Window.Gaps {
		if _, what, ok := strings.Cut(g.Why, ": paste "); ok && !slices.Contains(paste, what) {
			paste = append(paste, what)
		}
		watch = watch || strings.Contains(g.Why, ": run iocause diagnose")
	}
	var out []string
	if len(paste) > 0 {
		out = append(out, "paste as well "+strings.Join(paste, "; "))
	}
	if watch {
		out = append(out, "or run iocause diagnose while it happens")
	}
	return strings.Join(out, ", ")
}

func place(b *parse.Block) string {
	if b.First == b.Last {
		return fmt.Sprintf("%s:%d", b.File, b.First)
	}
	return fmt.Sprintf("%s:%d-%d", b.File, b.First, b.Last)
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

// factsTable shows the figures of a case that has no finding.
func factsTable(c *judged) *table.Table {
	t := &table.Table{Key: "figures", Title: "What the text shows", Columns: []table.Column{
		{Key: "figure", Head: "FIGURE"}, {Key: "value", Head: "VALUE"}, {Key: "source", Head: "WHERE"},
	}}
	for _, f := range factsOf(c) {
		t.Rows = append(t.Rows, []table.Cell{table.Str(f.name), table.Str(table.Value(f.value, f.unit)), table.Str(shortSource(f.source))})
	}
	return t
}

// printSummary shows the cases side by side, and what differs between the
// first and the last.
func (a *app) printSummary(all []judged, style text.Style) error {
	t := &table.Table{Key: "cases", Title: fmt.Sprintf("CASES: %d", len(all)), Columns: []table.Column{
		{Key: "case", Head: "#"}, {Key: "lines", Head: "LINES"}, {Key: "tools", Head: "TOOLS", Drop: 3}, {Key: "finding", Head: "FINDING"},
		{Key: "confidence", Head: "CONF", Drop: 2},
		{Key: "hit_ratio", Head: "HITS", Unit: "ratio"}, {Key: "call", Head: "CALL", Unit: "seconds"},
		{Key: "read_rate", Head: "READ/s", Unit: "bytes", Drop: 1}, {Key: "in_flight", Head: "DEPTH", Unit: "count"},
	}}
	for i := range all {
		c := &all[i]
		by := map[string]fact{}
		for _, f := range factsOf(c) {
			if _, ok := by[f.key]; !ok {
				by[f.key] = f
			}
		}
		get := func(keys ...string) table.Cell {
			for _, k := range keys {
				if f, ok := by[k]; ok {
					return table.Num(f.value)
				}
			}
			return table.None()
		}
		var tools []string
		for _, b := range c.Blocks {
			if !slices.Contains(tools, b.Tool) {
				tools = append(tools, b.Tool)
			}
		}
		conf := table.None()
		if len(c.Report.Findings) > 0 {
			conf = table.Str(fmt.Sprintf("%.0f %%", 100*c.Report.Findings[0].Confidence))
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(strconv.Itoa(i + 1)), table.Str(fmt.Sprintf("%d-%d", c.Blocks[0].First, c.Blocks[len(c.Blocks)-1].Last)),
			table.Str(strings.Join(tools, " ")), table.Str(string(c.Report.Primary)), conf,
			get("hit_ratio"), get("call_read", "call_write"), get("read_rate"), get("in_flight"),
		})
	}
	if err := text.WriteTable(a.stdout, t, style); err != nil {
		return err
	}
	if len(all) > fullCases {
		_, err := fmt.Fprintln(a.stdout, "\nOne of them in full, with its evidence: --case N")
		return err
	}
	return a.printDifference(&all[0], &all[len(all)-1], style)
}

// printDifference names the figures in which two cases differ most.
func (a *app) printDifference(first, last *judged, style text.Style) error {
	t := &table.Table{Key: "difference", Title: fmt.Sprintf("WHAT DIFFERS: %s, then %s", first.Report.Primary, last.Report.Primary), Columns: []table.Column{
		{Key: "figure", Head: "FIGURE"}, {Key: "first", Head: "FIRST"}, {Key: "last", Head: "LAST"},
	}}
	after := map[string]fact{}
	for _, f := range factsOf(last) {
		after[f.key] = f
	}
	for _, f := range factsOf(first) {
		l, ok := after[f.key]
		if !ok || within(f.value, l.value) {
			continue
		}
		name := f.name
		if l.name != f.name {
			name = l.name
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(name), table.Str(table.Value(f.value, f.unit)), table.Str(table.Value(l.value, l.unit))})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return text.WriteTable(a.stdout, t, style)
}

// within tells whether two figures are about the same.
func within(a, b float64) bool { return max(a, b) <= 1.25*min(a, b) }

// columnsOf is the width that text has to fit into.
func columnsOf(s text.Style) int { return max(cmp.Or(s.Width, 80), 40) }
