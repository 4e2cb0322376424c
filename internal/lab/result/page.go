package result

import (
	"fmt"
	"slices"
	"time"

	"iocause/internal/lab"
	"iocause/internal/present/html"
	"iocause/internal/table"
)

// page is the report of an experiment as a page.
func (r *Result) page(x *lab.Experiment) *html.Report {
	t := r.Summary(x)
	page := &html.Report{
		Title: x.Title, When: fmt.Sprintf("%s, scale %g, repeats: %d, Linux %s", r.Started.Format("2006-01-02 15:04:05 -0700"), r.Scale, x.Repeat, r.Host.Kernel),
		Sections: []html.Section{{Heading: "Summary", Tables: []html.Table{html.TableOf(t, "medians over the repeats")}}},
		Notes: append(slices.Clone(t.Notes),
			"All values are in series.csv, all results and the whole reports of iocause diagnose in results.json, beside this page.",
			"Time runs from the start of the phase. Each colour is a repeat."),
	}
	if x.About != "" {
		page.Sections[0].Lines = []string{x.About}
	}
	if r.Ended != "" {
		page.Sections[0].Lines = append(page.Sections[0].Lines, "It ended early: "+r.Ended)
	}
	if len(r.Checks) > 0 {
		t := ChecksTable(r.Checks)
		page.Sections[0].Tables = append(page.Sections[0].Tables, html.TableOf(t, t.Title))
	}
	if len(r.Changes) > 0 {
		t := ChangesTable(r.Changes)
		s := html.Section{Heading: "Changes", Tables: []html.Table{html.TableOf(t, t.Title)}, Lines: t.Notes}
		page.Sections = append(page.Sections, s)
	}
	for i := range x.Phases {
		if s := phaseSection(x.Phases[i].Name, r); len(s.Charts) > 0 {
			page.Sections = append(page.Sections, s)
		}
	}
	return page
}

// phaseSection has a chart for each figure of a phase that was anything but
// zero, with a line for each repeat.
func phaseSection(name string, r *Result) html.Section {
	s := html.Section{Heading: "Phase: " + name}
	at := map[[2]string]int{} // in s.Charts
	for i := range r.Phases {
		p := &r.Phases[i]
		if p.Phase != name {
			continue
		}
		verdict := p.Primary
		if verdict == "" {
			verdict = "none (" + p.NotSeen + ")"
		}
		s.Lines = append(s.Lines, fmt.Sprintf("Repeat %d: %s; finding of iocause diagnose: %s", p.Repeat, table.Duration(p.Seconds), verdict))
		for k := range p.Series {
			x := &p.Series[k]
			if !slices.ContainsFunc(x.Values, func(v float64) bool { return v > 0 }) {
				continue
			}
			key := [2]string{x.Of, x.Name}
			n, ok := at[key]
			if !ok {
				n = len(s.Charts)
				at[key] = n
				s.Charts = append(s.Charts, html.Chart{
					Title: x.Of + ": " + x.Name, Source: x.Source + ", every " + table.Duration(x.Step.Seconds()),
					Value: func(v float64) string { return table.Value(v, x.Unit) }, Time: table.Duration,
				})
			}
			s.Charts[n].Lines = append(s.Charts[n].Lines, lineOf(p, x))
		}
	}
	for _, c := range r.Changes {
		if n, ok := at[[2]string{"load " + c.Load, c.Figure}]; ok && c.Phase == name {
			s.Charts[n].Marks = append(s.Charts[n].Marks, html.Mark{At: c.After,
				Name: fmt.Sprintf("repeat %d, %s: from %s to %s", c.Repeat, c.At.Format("15:04:05"), table.Value(c.From, c.Unit), table.Value(c.To, c.Unit))})
		}
	}
	return s
}

// lineOf is a series over the phase's time; a value stands at the end of its
// window.
func lineOf(p *lab.PhaseResult, s *lab.Series) html.Line {
	l := html.Line{Name: fmt.Sprintf("repeat %d", p.Repeat), Y: s.Values}
	for i := range s.Values {
		l.X = append(l.X, max(s.Start.Add(time.Duration(i+1)*s.Step).Sub(p.Started).Seconds(), 0))
	}
	return l
}

// overTime is the rate of the last repeat of a load as a row of bars.
func overTime(r *Result, phase, load string) string {
	const columns = 16
	for i := range slices.Backward(r.Phases) {
		p := &r.Phases[i]
		if p.Phase != phase {
			continue
		}
		for k := range p.Series {
			if s := &p.Series[k]; s.Of == "load "+load && s.Name == "calls" && s.Source == loadSource && len(s.Values) > 1 {
				return table.Spark(s.Values, columns)
			}
		}
	}
	return ""
}
