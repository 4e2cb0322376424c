package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"iocause/internal/present/html"
)

// checkPage refuses a file that is no page, before time is spent, and a place
// that is none.
func checkPage(name string) error {
	switch {
	case name == "":
		return nil
	case !strings.HasSuffix(name, ".html"):
		return &usageError{fmt.Errorf("reading --output: %q is no page", name), "give a name that ends in .html"}
	case !isDirectory(filepath.Dir(name)):
		return &usageError{fmt.Errorf("reading --output: %q is no directory", filepath.Dir(name)), "make it, or choose another"}
	}
	return nil
}

// comparisonPage is a comparison as a page.
func comparisonPage(one, other *experimentResult, nameOne, nameOther string, r *comparison) *html.Report {
	hosts, figures := comparisonTables(r)
	side := func(letter, name string, x *experimentResult) string {
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
			{Heading: "Figures", Tables: []html.Table{pageTable(figures, figures.Title)}, Ranges: ratios},
			{Heading: "Host differences", Tables: []html.Table{pageTable(hosts, "settings in which the fingerprints differ")}},
		},
		Notes: []string{
			"The ratio of a rate above 1 is a faster B, that of a latency above 1 a slower B. An interval that holds 1 shows no difference.",
			"Each interval is 95 % alone, not all together.",
		},
	}
}
