package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
	"iocause/internal/tool/baseline"
)

// writeIncident shows an incident to people.
func writeIncident(e *env, x *incidents.Incident) error {
	style := styleOf(e.stdout, os.Getenv, widestText)
	m := &x.Meta
	const clock = "2006-01-02 15:04:05 -0700"
	loc := e.host.Now().Location()
	head := []string{
		fmt.Sprintf("%s on %s, kernel %s", numbered(m.Number), m.Host, m.Kernel),
		fmt.Sprintf("from %s to %s (%s)", m.What.Start.In(loc).Format(clock), m.What.End.In(loc).Format(clock), lasted(m)),
	}
	if m.What.Lasting {
		head = append(head, "it went on for so long that it is taken for the new normal")
	}
	for _, l := range m.What.Limits {
		head = append(head, reached(&l))
	}
	for _, n := range m.Notes {
		head = append(head, "not gathered: "+n)
	}
	for _, line := range head {
		for i, part := range text.Wrap(text.Escape(line), style.Width-2) {
			if i > 0 {
				part = "  " + part
			}
			fmt.Fprintln(e.stdout, part)
		}
	}
	parts := []func() error{func() error { return writeReasons(e.stdout, m, style) }, func() error { return writeFinding(e.stdout, x, style) },
		func() error { return writeIncidentSeries(e, x, style) }, func() error { return writeSections(e.stdout, x, style) }}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
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

// writeReasons shows the signals that were off at the worst.
func writeReasons(out io.Writer, m *incidents.Meta, style text.Style) error {
	if len(m.What.Reasons) == 0 {
		return nil
	}
	t := table.Table{Title: "Off at its worst", Whole: true, Columns: []table.Column{{Key: "signal", Head: "SIGNAL", Flex: true}, {Key: "was", Head: "WAS"},
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
	fmt.Fprintln(out)
	return text.WriteTable(out, &t, style)
}

func writeFinding(out io.Writer, x *incidents.Incident, style text.Style) error {
	fmt.Fprintln(out)
	if x.Finding == nil {
		_, err := fmt.Fprintf(out, "%s.\n", replay.NotJudged(&x.Meta))
		return err
	}
	var r diagnose.Report
	if err := json.Unmarshal(x.Finding, &r); err != nil {
		_, err := fmt.Fprintf(out, "The finding cannot be read: %s.\n", text.Escape(err.Error()))
		return err
	}
	return text.Write(out, &r, style)
}

// writeIncidentSeries shows every series as a line, its left end first.
func writeIncidentSeries(e *env, x *incidents.Incident, style text.Style) error {
	if len(x.Series) == 0 {
		return nil
	}
	const spark = 30
	t := table.Table{Whole: true, Columns: []table.Column{{Key: "name", Head: "SERIES", Flex: true}, {Key: "shape", Head: "FROM ZERO TO ITS MOST"},
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
			table.Str(s.Start.In(e.host.Now().Location()).Format(time.TimeOnly)), table.Str(table.Duration(s.Step * float64(len(s.Values)))), table.Str(s.Source)})
	}
	fmt.Fprintln(e.stdout)
	return text.WriteTable(e.stdout, &t, style)
}

func writeSections(out io.Writer, x *incidents.Incident, style text.Style) error {
	if len(x.Sections) == 0 {
		return nil
	}
	t := table.Table{Whole: true, Columns: []table.Column{{Key: "name", Head: "EVIDENCE", Flex: true}, {Key: "type", Head: "TYPE", Flex: true}, {Key: "bytes", Head: "SIZE", Unit: "bytes"}},
		Notes: []string{"--section NAME writes one of them; top, resident, mem, threads, latency, offcpu, oncpu, trace and burst show theirs, the other commands the recording, with --recording"}}
	for _, s := range x.Sections {
		t.Rows = append(t.Rows, []table.Cell{table.Str(s.Name), table.Str(s.Type), table.Num(float64(len(s.Data)))})
	}
	fmt.Fprintln(out)
	return text.WriteTable(out, &t, style)
}
