package show

import (
	"fmt"
	"time"

	"iocause/internal/present/html"
	"iocause/internal/table"
	"iocause/internal/tool/fleet"
)

const (
	mostCourses   = 6   // causes that are drawn
	mostFleetRows = 200 // of a table on the page
)

// FleetPage is all that is known of a fleet, as a page.
func FleetPage(all *fleet.Whole) *html.Report {
	f := all.Fleet
	page := &html.Report{Title: "Hosts by cause", When: fmt.Sprintf("From %s to %s.", stampedAt(f.From), stampedAt(f.To)), Notes: all.Notes}
	add := func(heading string, t table.Table) {
		if left := len(t.Rows) - mostFleetRows; left > 0 {
			t.Rows, t.Notes = t.Rows[:mostFleetRows], append(t.Notes, fmt.Sprintf("%d more rows are left out: the command without report has them", left))
		}
		s := html.Section{Heading: heading, Lines: t.Notes}
		if len(t.Rows) > 0 {
			s.Tables = []html.Table{html.TableOf(&t, t.Title)}
		}
		page.Sections = append(page.Sections, s)
	}
	causes := f.Tables()[0]
	causes.Without("course")
	add("Causes", causes)
	if chart := courses(all); len(chart.Lines) > 0 {
		page.Sections[0].Charts = []html.Chart{chart}
	}
	for _, c := range all.Common {
		add("What hosts with "+c.Cause+" have in common", c.Table())
	}
	if all.Disks != nil {
		add("Slow disks", all.Disks.Table())
	}
	hosts := f.HostTable("")
	hosts.Notes = nil // said above
	add("Hosts with a cause", hosts)
	return page
}

// courses are how many hosts had each cause from instant to instant.
func courses(all *fleet.Whole) html.Chart {
	out := html.Chart{Title: "Hosts with each cause", Source: "iocause_finding", Value: func(v float64) string { return table.Value(v, "count") },
		Time: func(v float64) string { return time.Unix(int64(v), 0).Format("01-02 15:04") }}
	for _, c := range all.Common {
		course := all.Fleet.Courses[c.Cause]
		if course == nil || len(out.Lines) == mostCourses {
			continue
		}
		line := html.Line{Name: c.Cause, Y: course.Hosts}
		for _, at := range course.At {
			line.X = append(line.X, float64(at.Unix()))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}
