package show

import (
	"fmt"
	"math"
	"slices"
	"time"

	"iocause/internal/present/html"
	"iocause/internal/table"
	"iocause/internal/tool/diff"
	"iocause/internal/tool/predict"
)

// stampedAt is an instant as pages have it.
func stampedAt(t time.Time) string { return t.Format("2006-01-02 15:04:05 -0700") }

// PredictionPage is what other sizes of memory would do, as a page.
func PredictionPage(p *predict.Prediction) *html.Report {
	page := &html.Report{
		Title: "The effect of more or less memory", When: fmt.Sprintf("%s, from %s, watched for %s.", p.Of, stampedAt(p.Start), table.Duration(p.Seconds)),
		Sections: []html.Section{{Heading: "What it says", Lines: p.Advice}}, Notes: p.Notes,
	}
	if p.Curve == nil {
		return page
	}
	first := &page.Sections[0]
	chart := html.Chart{Title: "Share of pages that are hits, by memory", Source: "a sample of pages and caches of other sizes",
		Value: func(v float64) string { return table.Value(v, "ratio") }, Time: func(v float64) string { return table.Value(v, "bytes") }}
	lines := []html.Line{{Name: "hits"}, {Name: "at least"}, {Name: "at most"}}
	for i := range p.Curve.Points {
		x := &p.Curve.Points[i]
		for k, v := range []float64{x.Hit, x.Low, x.High} {
			lines[k].X, lines[k].Y = append(lines[k].X, float64(x.Memory)), append(lines[k].Y, v)
		}
	}
	chart.Lines, chart.Marks = lines, []html.Mark{{At: float64(p.Place.Memory), Name: "now"}}
	first.Charts = []html.Chart{chart}
	if p.Timed() {
		first.Charts = append(first.Charts, timesChart(p))
	}
	t := p.Table()
	t.Without("faster_low", "faster_high", "hit_ratio_lru", "read_p50_low_seconds", "read_p50_high_seconds", "read_p99_low_seconds", "read_p99_high_seconds")
	files := p.FilesTable()
	page.Sections = append(page.Sections, html.Section{Heading: "Sizes", Tables: []html.Table{html.TableOf(&t, t.Title), html.TableOf(&files, files.Title)}})
	if said := ways(p); len(said) > 0 {
		page.Sections = append(page.Sections, html.Section{Heading: "Other ways", Lines: said[1:]})
	}
	page.Notes = append(slices.Clone(page.Notes), "FROM and TO, and the lines at least and at most, are the 90 % interval. Open: the time watched was too short for a cache of that size.")
	return page
}

// timesChart is how long read calls take, by memory.
func timesChart(p *predict.Prediction) html.Chart {
	chart := html.Chart{Title: slowest, Source: "how long read calls waited for the disk, and how many of them would",
		Value: func(v float64) string { return table.Value(v, "seconds") }, Time: func(v float64) string { return table.Value(v, "bytes") },
		Lines: []html.Line{{Name: "99 %"}, {Name: "at least"}, {Name: "at most"}, {Name: "half of them"}}, Marks: []html.Mark{{At: float64(p.Place.Memory), Name: "now"}}}
	for i := range p.Curve.Points {
		x := &p.Curve.Points[i]
		y := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		if x.P99 != nil {
			copy(y, []float64{x.P99.Value, x.P99.Low, x.P99.High})
		}
		if x.Median != nil {
			y[3] = x.Median.Value
		}
		for k := range chart.Lines {
			chart.Lines[k].X, chart.Lines[k].Y = append(chart.Lines[k].X, float64(x.Memory)), append(chart.Lines[k].Y, y[k])
		}
	}
	return chart
}

// WritesPage is when writers are paused, as a page.
func WritesPage(w *predict.Writes) *html.Report {
	t := w.Table()
	return &html.Report{
		Title: "When writers are paused for dirty memory", When: fmt.Sprintf("The host, from %s, watched for %s.", stampedAt(w.Start), table.Duration(w.Seconds)),
		Sections: []html.Section{{Heading: "What it says", Lines: w.Advice}, {Heading: "Other limits and devices", Tables: []html.Table{html.TableOf(&t, t.Title)}}}, Notes: w.Notes,
	}
}

// DifferencePage is what two recordings differ in, as a page: every figure, or those
// alone whose change stands out.
func DifferencePage(d *diff.Difference, all bool) *html.Report {
	page := &html.Report{Title: "Two recordings side by side", Notes: slices.Clone(d.Notes)}
	first := html.Section{Heading: "What was found"}
	for i, s := range d.Sides {
		side := string("AB"[i])
		page.When += fmt.Sprintf("%s: %s, from %s, %s. ", side, s.File, stampedAt(s.Start), table.Duration(s.Seconds))
		first.Lines = append(first.Lines, fmt.Sprintf("%s: %s: %s", side, s.Primary, s.Title))
	}
	ratios := &html.Ranges{Title: "B / A of the figures whose change stands out", Source: "the two recordings"}
	for i := range d.Figures {
		if f := &d.Figures[i]; f.StandsOut && f.A != nil && f.B != nil && *f.A > 0 && *f.B > 0 && len(ratios.Rows) < mostRatios {
			ratios.Rows = append(ratios.Rows, html.Range{Name: f.Name, Low: *f.B / *f.A, High: *f.B / *f.A})
		}
	}
	if len(ratios.Rows) > 0 {
		first.Ranges = ratios
	}
	page.Sections = append(page.Sections, first)
	for _, t := range d.Tables(all, false) {
		if len(t.Rows) == 0 {
			continue
		}
		heading := t.Title
		if heading == "" {
			heading = "The two sides"
		}
		page.Sections = append(page.Sections, html.Section{Heading: heading, Lines: t.Notes, Tables: []html.Table{html.TableOf(&t, "")}})
	}
	page.Notes = append(page.Notes, "A change stands out if the totals differ by at least a tenth and nine of ten pairs of windows, one of each side, differ in the same direction.")
	return page
}

// mostRatios are drawn; the tables have the others.
const mostRatios = 24
