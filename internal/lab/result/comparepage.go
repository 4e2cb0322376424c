package result

import (
	"fmt"

	"iocause/internal/present/html"
)

// Page is a Comparison as a page.
func (r *Comparison) Page(one, other *Result, nameOne, nameOther string) *html.Report {
	hosts, figures := r.Tables()
	side := func(letter, name string, x *Result) string {
		return fmt.Sprintf("%s: %s, begun %s on Linux %s", letter, name, x.Started.Format("2006-01-02 15:04:05 -0700"), x.Host.Kernel)
	}
	verdict := html.Section{Heading: "Finding"}
	for _, f := range r.Findings {
		verdict.Lines = append(verdict.Lines, fmt.Sprintf("%s: %s (confidence %.0f %%)", f.Cause, f.Title, 100*f.Confidence))
		for _, a := range f.Advice {
			verdict.Lines = append(verdict.Lines, a.Do+"; expect: "+a.Expect)
		}
	}
	for _, m := range r.CannotTell {
		verdict.Lines = append(verdict.Lines, fmt.Sprintf("%s: cannot tell; missing: %s", m.Cause, m.Missing))
	}
	ratios := &html.Ranges{Title: "B / A of each figure, with its interval", Source: "iocause lab load; " + r.Method}
	for _, f := range r.Figures {
		if f.Low != nil {
			ratios.Rows = append(ratios.Rows, html.Range{Name: fmt.Sprintf("%s, %s: %s", f.Phase, f.Load, f.Name), Low: *f.Low, High: *f.High})
		}
	}
	if len(ratios.Rows) == 0 {
		ratios = nil
	}
	return &html.Report{
		Title: "Two results: " + one.Title,
		When:  fmt.Sprintf("%s. %s. Scale %g.", side("A", nameOne, one), side("B", nameOther, other), one.Scale),
		Sections: []html.Section{
			verdict,
			{Heading: "Figures", Tables: []html.Table{html.TableOf(figures, figures.Title)}, Ranges: ratios},
			{Heading: "Host differences", Tables: []html.Table{html.TableOf(hosts, "settings in which the fingerprints differ")}},
		},
		Notes: []string{
			"The ratio of a rate above 1 is a faster B, that of a latency above 1 a slower B. An interval that contains 1 shows no difference.",
			"Each interval is 95 % by itself, without correction for their number.",
		},
	}
}
