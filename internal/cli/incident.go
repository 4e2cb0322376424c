package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
	"iocause/internal/tool/baseline"
)

func newIncidentCommand(a *app) *cobra.Command {
	var dir, format, section string
	var brief bool
	c := &cobra.Command{
		Use:   "incident N|FILE [flags]",
		Short: "Show one incident with its finding and evidence",
		Long: "Incident shows which signals were abnormal and what is normal at such a time,\n" +
			"the finding as 'iocause diagnose' prints it, the series around it, and the\n" +
			"evidence in the tables of the live commands; these take an incident with\n" +
			"--recording, too.\n" +
			"FILE is what 'iocause export' wrote, on whatever machine; - is standard input,\n" +
			"of which the evidence is only listed. A file that was cut off or damaged is\n" +
			"shown as far as it goes.",
		Example: `  iocause incident 17
  iocause threads --recording 17
  iocause incident 17 --format json
  iocause incident 17 --section trace > slow.trace
  iocause incident db1.iocause`,
		Args: oneIncident,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			x, err := a.loadIncident(dir, args[0])
			if err != nil {
				return err
			}
			for _, l := range x.Lost {
				fmt.Fprintln(a.stderr, "iocause: "+text.Escape(l))
			}
			switch {
			case c.Flags().Changed("section"):
				return a.printSection(x, section)
			case format == "json":
				return a.incidentJSON(x, whichOf(dir, args[0]))
			}
			if err := a.incidentText(x); err != nil || args[0] == "-" || brief {
				return err
			}
			return a.viewText(x, whichOf(dir, args[0]))
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", stateDir, "the agent's folder")
	f.StringVar(&section, "section", "", "write this piece of evidence as it is")
	f.BoolVar(&brief, "brief", false, "leave out what the evidence shows")
	f.StringVar(&format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func oneIncident(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("reading the arguments: %s takes one incident, but has %d", c.Name(), len(args)),
			"give a number that 'iocause incidents' lists, or a file"}
	}
	return nil
}

// loadIncident reads an incident of the folder by its number, or a file. A
// file whose name is a number is written ./17.
func (a *app) loadIncident(dir, which string) (*incidents.Incident, error) {
	if n, err := strconv.Atoi(which); err == nil {
		x, err := incidents.Load(filepath.Join(dir, incidentsIn), n)
		if errors.Is(err, incidents.ErrNone) {
			return nil, fmt.Errorf("%w; see 'iocause incidents'", err)
		}
		return x, err
	}
	if which == "-" {
		return incidents.Read(a.stdin)
	}
	f, err := os.Open(which)
	if err != nil {
		return nil, fmt.Errorf("reading the incident: %w", err)
	}
	defer f.Close()
	return incidents.Read(f)
}

// whichOf is what --recording takes for an incident that was named.
func whichOf(dir, which string) string {
	if n, err := strconv.Atoi(which); err == nil && dir != stateDir {
		return incidents.Path(filepath.Join(dir, incidentsIn), n)
	}
	return which
}

// incidentJSON writes an incident for programs, with what the commands show of
// evidence that is not JSON.
func (a *app) incidentJSON(x *incidents.Incident, which string) error {
	d := documentOf(x)
	if which != "-" {
		var err error
		if d.Shown, err = a.viewJSON(x, which); err != nil {
			d.Lost = append(d.Lost, "the evidence cannot be shown: "+err.Error())
		}
	}
	return writeJSON(a.stdout, d)
}

// sectionJSON is a piece of evidence: JSON as it is, else only how much.
type sectionJSON struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Bytes int             `json:"bytes"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// incidentDocument is an incident for programs.
type incidentDocument struct {
	Version int `json:"version"`
	incidents.Meta
	Finding  json.RawMessage    `json:"finding"` // null while not judged
	Series   []incidents.Series `json:"series"`
	Sections []sectionJSON      `json:"sections"`
	Lost     []string           `json:"lost"`
	// Shown is what commands show of evidence that is not JSON, by command.
	Shown map[string]json.RawMessage `json:"shown,omitempty"`
}

func documentOf(x *incidents.Incident) incidentDocument {
	d := incidentDocument{Version: 1, Meta: x.Meta, Finding: x.Finding, Series: notNil(x.Series), Sections: []sectionJSON{}, Lost: notNil(x.Lost)}
	for _, s := range x.Sections {
		one := sectionJSON{Name: s.Name, Type: s.Type, Bytes: len(s.Data)}
		if s.Type == incident.TypeJSON && json.Valid(s.Data) {
			one.Data = s.Data
		}
		d.Sections = append(d.Sections, one)
	}
	return d
}

// printSection writes a piece of evidence as it is. It may hold anything, so
// that a terminal does not get it.
func (a *app) printSection(x *incidents.Incident, name string) error {
	at := sectionAt(x, name)
	if at < 0 {
		var names []string
		for _, s := range x.Sections {
			names = append(names, s.Name)
		}
		return fmt.Errorf("looking for the section %q: it is not there; there are %q", name, names)
	}
	if _, terminal := terminalWidth(a.stdout); terminal {
		return &usageError{fmt.Errorf("writing the section %q: it may hold what a terminal obeys", name), "send it to a file or a program"}
	}
	if _, err := a.stdout.Write(x.Sections[at].Data); err != nil {
		return fmt.Errorf("writing the section: %w", err)
	}
	return nil
}

// incidentText shows an incident to people.
func (a *app) incidentText(x *incidents.Incident) error {
	style := styleOf(a.stdout, os.Getenv, widestText)
	m := &x.Meta
	const clock = "2006-01-02 15:04:05 -0700"
	loc := a.host.Now().Location()
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
			fmt.Fprintln(a.stdout, part)
		}
	}
	parts := []func() error{func() error { return a.reasonsText(m, style) }, func() error { return a.findingText(x, style) },
		func() error { return a.seriesText(x, style) }, func() error { return a.sectionsText(x, style) }}
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

// reasonsText shows the signals that were off at the worst.
func (a *app) reasonsText(m *incidents.Meta, style text.Style) error {
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
	fmt.Fprintln(a.stdout)
	return text.WriteTable(a.stdout, &t, style)
}

func (a *app) findingText(x *incidents.Incident, style text.Style) error {
	fmt.Fprintln(a.stdout)
	if x.Finding == nil {
		_, err := fmt.Fprintf(a.stdout, "%s.\n", replay.NotJudged(&x.Meta))
		return err
	}
	var r diagnose.Report
	if err := json.Unmarshal(x.Finding, &r); err != nil {
		_, err := fmt.Fprintf(a.stdout, "The finding cannot be read: %s.\n", text.Escape(err.Error()))
		return err
	}
	return text.Write(a.stdout, &r, style)
}

// seriesText shows every series as a line, its left end first.
func (a *app) seriesText(x *incidents.Incident, style text.Style) error {
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
			table.Str(s.Start.In(a.host.Now().Location()).Format(time.TimeOnly)), table.Str(table.Duration(s.Step * float64(len(s.Values)))), table.Str(s.Source)})
	}
	fmt.Fprintln(a.stdout)
	return text.WriteTable(a.stdout, &t, style)
}

func (a *app) sectionsText(x *incidents.Incident, style text.Style) error {
	if len(x.Sections) == 0 {
		return nil
	}
	t := table.Table{Whole: true, Columns: []table.Column{{Key: "name", Head: "EVIDENCE", Flex: true}, {Key: "type", Head: "TYPE", Flex: true}, {Key: "bytes", Head: "SIZE", Unit: "bytes"}},
		Notes: []string{"--section NAME writes one of them; top, resident, mem, threads, latency, offcpu, oncpu, trace and burst show theirs, the other commands the recording, with --recording"}}
	for _, s := range x.Sections {
		t.Rows = append(t.Rows, []table.Cell{table.Str(s.Name), table.Str(s.Type), table.Num(float64(len(s.Data)))})
	}
	fmt.Fprintln(a.stdout)
	return text.WriteTable(a.stdout, &t, style)
}
