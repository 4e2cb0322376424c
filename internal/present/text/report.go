// Package text writes reports for people: one screen of text that fits the
// width of the terminal, with every name from the system escaped.
package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Style is how the output may look.
type Style struct {
	Width int   // columns; 0 is 80, less than 40 is 40
	Color bool  // escape sequences for bold, dim, red, green
	ASCII bool  // no other characters
	Whole bool  // of a report, all that fits on a page, and not the first screen alone
	Kept  *Kept // columns of tables that are written again and again; nil keeps none
}

// columns is how wide the output is.
func (s Style) columns() int {
	if s.Width == 0 {
		return 80
	}
	return max(s.Width, 40)
}

// pageLines is how many lines a whole report may take before it says less.
const pageLines = 45

// detail is how much of a report is said: entries of each section. None is cut.
type detail struct {
	evidence, advice, excluded, contributing, missing, waiters int
}

// Write writes a report: its first screen, or the whole of it. Lists that are too
// long are cut and say so; the JSON output has them whole.
func Write(w io.Writer, r *diagnose.Report, s Style) error {
	p := screen(r, s)
	if s.Whole {
		p = whole(r, s)
	}
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// whole makes the longest page that is short enough.
func whole(r *diagnose.Report, s Style) *page {
	var p *page
	for _, d := range []detail{
		{evidence: 10, advice: 4, excluded: 6, contributing: 4, missing: 5, waiters: 5},
		{evidence: 8, advice: 3, excluded: 4, contributing: 3, missing: 3, waiters: 4},
		{evidence: 6, advice: 2, excluded: 2, contributing: 2, missing: 2, waiters: 3},
		{evidence: 5, advice: 2, excluded: 1, contributing: 1, missing: 1, waiters: 2},
	} {
		p = render(r, s, d)
		if len(p.lines) <= pageLines {
			break
		}
	}
	return p
}

func render(r *diagnose.Report, s Style, d detail) *page {
	p := &page{width: s.columns(), ascii: s.ASCII, color: s.Color, column: labelWidth}
	switch {
	case r.Primary == diagnose.Unknown || len(r.Findings) == 0:
		p.unknown(r, d)
	case r.Primary == diagnose.Healthy:
		p.headline("NO PROBLEM", green, orElse(r.Findings[0].Title, "no program waits for I/O"))
		p.summary(r, &r.Findings[0])
		p.waiters(r.Waiters, d)
		p.finding(r, &r.Findings[0], d)
		p.notSeen(r, d)
	default:
		label := "PROBLEM"
		if r.Findings[0].Likely {
			label = "LIKELY"
		}
		p.headline(label, red, r.Findings[0].Title)
		p.summary(r, &r.Findings[0])
		p.finding(r, &r.Findings[0], d)
		p.notSeen(r, d)
	}
	p.cost(&r.Cost)
	return p
}

// headline is the answer, flush left.
func (p *page) headline(label string, l look, title string) {
	for i, line := range Wrap(label+": "+Escape(title), p.width) {
		if rest, ok := strings.CutPrefix(line, label); ok && i == 0 {
			p.raw(span{label, l}, span{rest, bold})
			continue
		}
		p.raw(span{line, bold})
	}
}

// summary is the line below the headline.
func (p *page) summary(r *diagnose.Report, f *diagnose.Finding) {
	parts := []string{Escape(string(f.Cause)), "confidence " + percent(f.Confidence)}
	if f.Weight > 0 {
		parts = append(parts, "explains "+weight(f))
	}
	parts = append(parts, "watched "+table.Duration(r.Window.Seconds))
	for _, line := range Wrap(strings.Join(parts, " · "), p.width) {
		p.raw(span{line, plain})
	}
	p.blank()
}

// weight is how much a cause explains, and of what.
func weight(f *diagnose.Finding) string {
	of := map[string]string{
		diagnose.OfTime: "its time", diagnose.InFlight: "the time with I/O in flight", diagnose.OfRequest: "the requests",
		diagnose.OfLog: "the reported trouble",
	}[f.WeightOf]
	if of == "" {
		of = "the waiting"
	}
	return percent(f.Weight) + " of " + of
}

// finding writes the sections of the primary finding.
func (p *page) finding(r *diagnose.Report, f *diagnose.Finding, d detail) {
	healthy := f.Cause == diagnose.Healthy
	if !healthy {
		p.victim(r)
	}
	culprit := f.Culprit
	file := culprit.File
	if culprit.File = ""; !healthy && culprit == r.Victim && culprit.PID != 0 {
		p.section("Culprit")
		p.put(span{"the same process", plain})
		p.culprit("", &diagnose.Culprit{File: file})
	} else {
		p.culprit("Culprit", &f.Culprit)
	}
	p.evidence(f.Evidence, d)
	p.calls(r.Calls)
	p.operations(r.Operations)
	p.layers(r.Layers)
	p.memory(r.Memory)
	p.advice(f.Advice, d)
	p.section("Disproved by")
	if f.Disprove != "" {
		p.wrap(Escape(f.Disprove), 0, 0, plain)
	}
	p.excluded(f.Excluded, d, healthy)
	for i, c := range r.Findings[1:] {
		if i == 0 {
			p.section("Contributing")
		}
		if i == d.contributing {
			p.more(len(r.Findings)-1-i, "cause")
			break
		}
		p.wrap(fmt.Sprintf("%s, %s: %s", Escape(string(c.Cause)), weight(&c), Escape(c.Title)), 2, 0, plain)
	}
	p.others(r.Others, d)
}

// culprit names a process, cgroup, device and file, those that apply.
func (p *page) culprit(label string, c *diagnose.Culprit) {
	if *c == (diagnose.Culprit{}) {
		return
	}
	p.section(label)
	var parts []string
	if name := who(c); name != "" {
		parts = append(parts, name)
	}
	if c.Device != "" {
		parts = append(parts, "device "+Middle(Escape(c.Device), 20))
	}
	if len(parts) > 0 {
		p.wrap(strings.Join(parts, " · "), 2, 0, plain)
	}
	for _, path := range []struct{ what, name string }{{"cgroup ", c.Cgroup}, {"file ", c.File}} {
		if path.name != "" {
			p.put(span{path.what + Middle(Escape(path.name), p.room()-len(path.what)), plain})
		}
	}
}

// evidence is a table of name, value and source.
func (p *page) evidence(all []diagnose.Evidence, d detail) {
	shown := all[:min(len(all), d.evidence)]
	values := make([]string, len(shown))
	nameWidth, valueWidth, sourceWidth := 0, 0, 0
	for i, e := range shown {
		values[i] = table.Value(e.Value, e.Unit)
		nameWidth = max(nameWidth, Width(Escape(e.Name)))
		valueWidth = max(valueWidth, Width(values[i]))
		sourceWidth = max(sourceWidth, Width(Escape(e.Source)))
	}
	room := p.room() - 4 - valueWidth
	nameWidth = max(min(nameWidth, room-sourceWidth), min(20, room-12), 8)
	p.section("Evidence")
	for i, e := range shown {
		right := strings.Repeat(" ", valueWidth-Width(values[i])) + values[i]
		name := Wrap(Escape(e.Name), nameWidth)
		for _, line := range name[:len(name)-1] {
			p.put(span{line, plain})
		}
		p.put(span{Pad(name[len(name)-1], nameWidth) + "  ", plain}, span{right + "  ", bold},
			span{Middle(Escape(e.Source), max(1, room-nameWidth)), dim})
	}
	if n := len(all) - len(shown); n > 0 {
		p.more(n, "figure")
	}
}

func (p *page) advice(all []diagnose.Advice, d detail) {
	p.section("What to do")
	for i, a := range all {
		if i == d.advice {
			p.more(len(all)-i, "way")
			return
		}
		p.wrap(fmt.Sprintf("%d. %s", i+1, Escape(a.Do)), 3, 0, plain)
		p.indent = 3
		if a.Command != "" { // whole, however long: it is to be copied
			p.lines = append(p.lines, strings.Repeat(" ", labelWidth+3)+p.paint(span{Escape(a.Command), bold}))
		}
		if a.Expect != "" {
			p.wrap("expect: "+Escape(a.Expect), 0, 0, dim)
		}
		p.indent = 0
	}
}

// excluded says why the nearest look-alikes are out, and names the rest.
func (p *page) excluded(all []diagnose.Excluded, d detail, short bool) {
	if len(all) == 0 {
		return
	}
	p.section("Ruled out")
	shown := min(len(all), d.excluded)
	if short {
		shown = 0
	}
	for _, e := range all[:shown] {
		p.wrap(Escape(string(e.Cause))+": "+Escape(e.Why), 2, 0, plain)
	}
	var ids []string
	for _, e := range all[shown:] {
		ids = append(ids, Escape(string(e.Cause)))
	}
	if len(ids) > 0 {
		and := ""
		if shown > 0 {
			and = "and "
		}
		p.wrap(and+strings.Join(ids, ", "), 0, 0, plain)
	}
}

func (p *page) more(n int, one string) {
	p.put(span{"and " + sample.Counted(n, "more "+one) + ": --format json", dim})
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// percent writes a share that is an estimate: without decimals.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + " %" }
