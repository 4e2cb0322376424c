package present

import (
	"fmt"
	"math"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
	"iocause/internal/tool/baseline"
)

// Head is what is said of an incident above its tables, with times as of loc.
func Head(m *incidents.Meta, loc *time.Location) (head []string) {
	const clock = "2006-01-02 15:04:05 -0700"
	head = []string{
		fmt.Sprintf("%s on %s, kernel %s", numbered(m.Number), m.Host, m.Kernel),
		fmt.Sprintf("from %s to %s (%s)", m.What.Start.In(loc).Format(clock), m.What.End.In(loc).Format(clock), lasted(m)),
	}
	if m.What.Lasting {
		head = append(head, "it lasted so long that it became the new baseline")
	}
	for _, l := range m.What.Limits {
		head = append(head, reached(&l))
	}
	for _, n := range m.Notes {
		head = append(head, "not gathered: "+n)
	}
	return head
}

// Evidence are the series around an incident and its sections, where there are
// any, with times as of loc.
func Evidence(x *incidents.Incident, loc *time.Location) (tables []*table.Table) {
	if len(x.Series) > 0 {
		tables = append(tables, seriesTable(x, loc))
	}
	if len(x.Sections) > 0 {
		tables = append(tables, sections(x))
	}
	return tables
}

// numbered names an incident; one that was captured into a file has no number.
func numbered(n int) string {
	if n == 0 {
		return "Incident"
	}
	return fmt.Sprintf("Incident %d", n)
}

// reached says which limit began an incident.
func reached(l *sample.Limit) string {
	what := "a limit was reached: " + l.Kind
	if l.Kind == sample.LimitByHand {
		what = "captured by hand"
	}
	return strings.TrimSuffix(what+": "+l.What, ": ")
}

// Reasons are the signals that were off at the worst; nil for none.
func Reasons(m *incidents.Meta) *table.Table {
	if len(m.What.Reasons) == 0 {
		return nil
	}
	t := &table.Table{Title: "Abnormal signals at the worst time", Whole: true, Columns: []table.Column{{Key: "signal", Head: "SIGNAL", Flex: true}, {Key: "was", Head: "WAS"},
		{Key: "normal", Head: "NORMAL"}, {Key: "from", Head: "FROM"}, {Key: "to", Head: "TO"}, {Key: "z", Head: "Z"}, {Key: "basis", Head: "COMPARED WITH", Drop: 1}}}
	for _, r := range m.What.Reasons {
		row := []table.Cell{table.Str(r.Signal), table.Str(table.Value(r.Value, r.Unit))}
		if r.Basis == string(detect.Learning) {
			row = append(row, table.None(), table.None(), table.None(), table.None())
		} else {
			row = append(row, table.Str(table.Value(r.Normal, r.Unit)), table.Str(table.Value(r.Low, r.Unit)), table.Str(table.Value(r.High, r.Unit)),
				table.Str(fmt.Sprintf("%.1f", r.Z)))
		}
		t.Rows = append(t.Rows, append(row, table.Str(baseline.Basis(detect.Basis(r.Basis), r.Days))))
	}
	return t
}

// seriesTable shows every series as a line, its left end first.
func seriesTable(x *incidents.Incident, loc *time.Location) *table.Table {
	const spark = 30
	t := &table.Table{Whole: true, Columns: []table.Column{{Key: "name", Head: "SERIES", Flex: true}, {Key: "shape", Head: "FROM ZERO TO ITS MAXIMUM"},
		{Key: "most", Head: "MOST"}, {Key: "from", Head: "SINCE"}, {Key: "length", Head: "FOR", Drop: 1}, {Key: "source", Head: "FROM", Flex: true, Drop: 2}}}
	for i := range x.Series {
		s := &x.Series[i]
		most := table.None()
		var top float64
		values := make([]float64, len(s.Values))
		for i, v := range s.Values {
			values[i] = math.NaN()
			if v == nil {
				continue
			}
			values[i] = *v
			if most.State == table.Absent || *v > top {
				top = *v
				most = table.Str(table.Value(top, s.Unit))
			}
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(strings.TrimSpace(s.Name + " " + s.On)), table.Str(table.Spark(values, spark)), most,
			table.Str(s.Start.In(loc).Format(time.TimeOnly)), table.Str(table.Duration(s.Step * float64(len(s.Values)))), table.Str(s.Source)})
	}
	return t
}

// sections are the pieces of evidence.
func sections(x *incidents.Incident) *table.Table {
	t := &table.Table{Whole: true, Columns: []table.Column{{Key: "name", Head: "EVIDENCE", Flex: true}, {Key: "type", Head: "TYPE", Flex: true}, {Key: "bytes", Head: "SIZE", Unit: "bytes"}},
		Notes: []string{"--section NAME writes one of them; top, resident, mem, threads, latency, offcpu, oncpu, trace and burst show theirs, the other commands the recording, with --recording"}}
	for _, s := range x.Sections {
		t.Rows = append(t.Rows, []table.Cell{table.Str(s.Name), table.Str(s.Type), table.Num(float64(len(s.Data)))})
	}
	return t
}
