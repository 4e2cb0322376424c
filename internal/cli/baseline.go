package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/detect"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/summaries"
	"iocause/internal/table"
)

// stateDir is where the agent keeps what it records.
const stateDir = "/var/lib/iocause"

// Folders below it.
const (
	baselinesIn = "baselines"
	incidentsIn = replay.IncidentsIn
)

// baselineOptions are the flags of baseline.
type baselineOptions struct{ dir, format, day string }

func newBaselineCommand(a *app) *cobra.Command {
	o := &baselineOptions{}
	c := &cobra.Command{
		Use:   "baseline [SIGNAL] [flags]",
		Short: "Show what is normal on this host, and today against it",
		Long: "Baseline compares the newest hour of every signal that the agent keeps with\n" +
			"what is normal at that time: the same hour of the week over eight weeks, or,\n" +
			"while less is known, of working days or weekends over 14 days, or the last day.\n" +
			"Z is how many times the usual spread the hour is off to the bad side.\n\n" +
			"With SIGNAL it draws the day hour by hour (dots: medians) against the band that\n" +
			"nine tenths of the samples are in (shaded), with the month and the year.\n\n" +
			"Signals:\n" + signalList(),
		Example: `  iocause baseline
  iocause baseline disk.pressure
  iocause baseline cpu.user --day 2026-11-03
  iocause baseline memory.available --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.baseline(o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", stateDir, "the agent's folder")
	f.StringVar(&o.day, "day", "today", "to draw: today, yesterday, 2026-11-03")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

// signalList is the part of the help that says what is learned.
func signalList() string {
	var b strings.Builder
	for i, s := range detect.Signals() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-17s %s", s.Name, s.Help)
	}
	return b.String()
}

func (a *app) baseline(o *baselineOptions, args []string) error {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	day, err := dayOf(o.day, a.host.Now())
	if err != nil {
		return err
	}
	signals := detect.Signals()
	if len(args) == 1 {
		if signals, err = signalNamed(args[0]); err != nil {
			return err
		}
	}
	history := detect.NewHistory(day.Location())
	newest := time.Time{}
	lost, err := summaries.Read(filepath.Join(o.dir, baselinesIn), func(h sample.Hour) {
		history.Put(h)
		if h.Start.After(newest) && !h.Start.After(a.host.Now()) {
			newest = h.Start
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; the agent keeps them: give its folder with --dir", err)
	}
	if err != nil {
		return err
	}
	for _, l := range lost {
		fmt.Fprintln(a.stderr, "iocause: "+text.Escape(l))
	}
	if len(args) == 1 {
		return a.drawBaseline(o, &signals[0], history, day)
	}
	return a.listBaselines(o, signals, history, newest.In(day.Location()))
}

// dayOf is midnight of a day in the zone of the clock.
func dayOf(s string, now time.Time) (time.Time, error) {
	switch s {
	case "today":
	case "yesterday":
		now = now.AddDate(0, 0, -1)
	default:
		day, err := time.ParseInLocation(time.DateOnly, s, now.Location())
		if err != nil {
			return time.Time{}, &usageError{fmt.Errorf("reading --day: %q is no day", s), "give today, yesterday or a day such as 2026-11-03"}
		}
		now = day
	}
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()), nil
}

func signalNamed(name string) ([]detect.Signal, error) {
	var names []string
	for _, s := range detect.Signals() {
		if s.Name == name {
			return []detect.Signal{s}, nil
		}
		names = append(names, s.Name)
	}
	return nil, &usageError{fmt.Errorf("reading the arguments: no signal is called %q", name), "there are " + strings.Join(names, ", ")}
}

// bandJSON is a band for programs; its figures are null where nothing is known.
type bandJSON struct {
	Hours   int      `json:"hours"` // that it was made of
	P05     *float64 `json:"p05"`
	P25     *float64 `json:"p25"`
	P50     *float64 `json:"p50"`
	P75     *float64 `json:"p75"`
	P95     *float64 `json:"p95"`
	Extreme *float64 `json:"worst_minute"`
}

func bandOf(b detect.Band) bandJSON {
	o := bandJSON{Hours: b.Hours}
	if b.Hours > 0 {
		q := b.Q
		o.P05, o.P25, o.P50, o.P75, o.P95, o.Extreme = &q[0], &q[1], &q[2], &q[3], &q[4], &b.Extreme
	}
	return o
}

// hourJSON is one hour of a signal beside what is normal.
type hourJSON struct {
	Signal  string       `json:"signal"`
	Unit    string       `json:"unit"`
	Start   time.Time    `json:"start"`
	Samples int          `json:"samples"`
	Alarmed int          `json:"samples_off"`
	Was     bandJSON     `json:"was"`
	Basis   detect.Basis `json:"basis"`
	Days    int          `json:"days"`
	Normal  bandJSON     `json:"normal"`
	Z       *float64     `json:"z"`
	Month   bandJSON     `json:"month"`
	Year    bandJSON     `json:"year"`
}

// beside is one hour, known or not, with its references.
func beside(s *detect.Signal, history *detect.History, start time.Time) hourJSON {
	ref, context := history.Reference(s, start), history.Context(s, start)
	h := hourJSON{Signal: s.Name, Unit: s.Unit, Start: start, Basis: ref.Basis, Days: ref.Days, Normal: bandOf(ref.Band),
		Month: bandOf(context.Month), Year: bandOf(context.Year)}
	for _, x := range history.Hours(s.Name, start, start.Add(time.Second)) {
		h.Samples, h.Alarmed = x.N, x.Alarmed
		if x.N > 0 {
			h.Was = bandOf(detect.Band{Hours: 1, Q: x.Q, Extreme: x.Extreme})
			if z := ref.Z(s, x.Q[2]); ref.Basis != detect.Learning {
				h.Z = &z
			}
		}
	}
	return h
}

// listBaselines shows the newest hour of every signal.
func (a *app) listBaselines(o *baselineOptions, signals []detect.Signal, history *detect.History, newest time.Time) error {
	hours := []hourJSON{}
	for i := range signals {
		if h := beside(&signals[i], history, newest); h.Samples > 0 || h.Normal.Hours > 0 {
			hours = append(hours, h)
		}
	}
	if o.format == "json" {
		return writeJSON(a.stdout, map[string]any{"version": 1, "hours": hours})
	}
	t := table.Table{Columns: []table.Column{
		{Key: "signal", Head: "SIGNAL"}, {Key: "was", Head: "WAS"}, {Key: "normal", Head: "NORMAL"},
		{Key: "z", Head: "Z"}, {Key: "basis", Head: "COMPARED WITH"}, {Key: "month", Head: "MONTH", Drop: 1}, {Key: "year", Head: "YEAR", Drop: 2},
	}}
	if len(hours) > 0 {
		t.Title = "The hour of " + newest.Format("Mon 2006-01-02 15:04 -0700")
	}
	for _, h := range hours {
		t.Rows = append(t.Rows, []table.Cell{table.Str(h.Signal), h.cell(h.Was.P50), h.span(h.Normal.P05, h.Normal.P95),
			zCell(h.Z), table.Str(basisText(h.Basis, h.Days)), h.cell(h.Month.P50), h.cell(h.Year.P50)})
	}
	return text.WriteTable(a.stdout, &t, styleOf(a.stdout, os.Getenv, widestTable))
}

// cell is a figure in the unit of the signal.
func (h *hourJSON) cell(v *float64) table.Cell {
	if v == nil {
		return table.None()
	}
	return table.Str(h.value(*v))
}

// value leaves out what is counted: the signal's name says it, and there is not
// the room.
func (h *hourJSON) value(v float64) string {
	return table.Value(v, strings.Replace(h.Unit, string(sample.Pages), string(sample.Count), 1))
}

// span is two figures with their unit once, where it is one.
func (h *hourJSON) span(low, high *float64) table.Cell {
	if low == nil || high == nil {
		return table.None()
	}
	from, to := h.value(*low), h.value(*high)
	if at := strings.LastIndexByte(to, ' '); at > 0 {
		from = strings.TrimSuffix(from, to[at:])
	}
	return table.Str(from + ".." + to)
}

func zCell(z *float64) table.Cell {
	if z == nil {
		return table.None()
	}
	return table.Str(fmt.Sprintf("%.1f", *z))
}

// basisText says what is compared with, and how much of it is known.
func basisText(b detect.Basis, days int) string {
	switch b {
	case detect.HourOfWeek:
		return fmt.Sprintf("%s, %s", b, sample.Counted(days, "week"))
	case detect.DayKind:
		return "kind of day, " + sample.Counted(days, "day") // weekday or weekend
	case detect.LastDay:
		return fmt.Sprintf("%s, %s", b, sample.Counted(days, "hour"))
	}
	return string(b)
}

// outside is how many spreads an hour's median is off for the drawing to mark it.
const outside = 4

// drawBaseline draws a day of a signal.
func (a *app) drawBaseline(o *baselineOptions, s *detect.Signal, history *detect.History, day time.Time) error {
	hours := []hourJSON{}
	for at := day; at.Before(day.AddDate(0, 0, 1)); at = at.Add(time.Hour) { // 23 or 25 where summer time begins or ends
		hours = append(hours, beside(s, history, at))
	}
	if o.format == "json" {
		return writeJSON(a.stdout, map[string]any{"version": 1, "hours": hours})
	}
	c := text.Chart{Title: fmt.Sprintf("%s, %s: %s", s.Name, day.Format("Mon 2006-01-02 -0700"), s.Help), Unit: s.Unit}
	known, normal := false, false
	for i, h := range hours {
		b := text.Bar{Lo: orNaN(h.Normal.P05), Hi: orNaN(h.Normal.P95), Value: orNaN(h.Was.P50), Outside: h.Z != nil && *h.Z >= outside}
		if i%3 == 0 {
			b.Label = h.Start.Format("15")
		}
		known, normal = known || h.Was.P50 != nil, normal || h.Normal.Hours > 0
		c.Bars = append(c.Bars, b)
	}
	style := styleOf(a.stdout, os.Getenv, widestText)
	if err := text.WriteChart(a.stdout, &c, style); err != nil {
		return err
	}
	return a.belowChart(hours, known, normal, style)
}

// belowChart says what the drawing cannot.
func (a *app) belowChart(hours []hourJSON, known, normal bool, style text.Style) error {
	var notes []string
	if !known {
		notes = append(notes, "nothing was measured on that day, or it is not an hour old")
	}
	if !normal {
		notes = append(notes, "learning: too little is known to say what is normal")
	}
	at := hours[len(hours)-1]
	alarmed := 0
	for _, h := range hours {
		alarmed += h.Alarmed
		if h.Was.P50 != nil {
			at = h
		}
	}
	if alarmed > 0 {
		notes = append(notes, fmt.Sprintf("%s of that day were off: incidents, or what recurs", table.Duration(float64(alarmed)*10)))
	}
	t := table.Table{Whole: true, Notes: notes, Columns: []table.Column{{Key: "at", Head: at.Start.Format("At 15:04")}, {Key: "p05", Head: "5 %"},
		{Key: "p50", Head: "MEDIAN"}, {Key: "p95", Head: "95 %"}, {Key: "extreme", Head: "WORST MINUTE"}, {Key: "from", Head: "FROM"}}}
	for _, r := range []struct {
		name string
		band bandJSON
		from string
	}{{"that hour", at.Was, sample.Counted(at.Samples, "sample")}, {"normal", at.Normal, basisText(at.Basis, at.Days)},
		{"this month", at.Month, sample.Counted(at.Month.Hours, "hour")}, {"a year ago", at.Year, sample.Counted(at.Year.Hours, "hour")}} {
		t.Rows = append(t.Rows, []table.Cell{table.Str(r.name), at.cell(r.band.P05), at.cell(r.band.P50), at.cell(r.band.P95), at.cell(r.band.Extreme), table.Str(r.from)})
	}
	fmt.Fprintln(a.stdout)
	return text.WriteTable(a.stdout, &t, style)
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
