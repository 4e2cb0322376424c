package cli

import (
	"errors"
	"fmt"
	"io"
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
	"iocause/internal/tool/baseline"
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

func newBaselineCommand(e *env) *cobra.Command {
	o := &baselineOptions{}
	c := &cobra.Command{
		Use:     "baseline [SIGNAL] [flags]",
		Short:   "Show what is normal on this host, and today against it",
		Long:    helpOf("baseline", "{signals}", signalList()),
		Example: examplesOf("baseline"),
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return runBaseline(e, o, args) },
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

func runBaseline(e *env, o *baselineOptions, args []string) error {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	day, err := dayOf(o.day, e.host.Now())
	if err != nil {
		return err
	}
	signals := detect.Signals()
	if len(args) == 1 {
		if signals, err = signalNamed(args[0]); err != nil {
			return err
		}
	}
	history, newest, lost, err := baseline.Read(filepath.Join(o.dir, baselinesIn), e.host.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; the agent keeps them: give its folder with --dir", err)
	}
	if err != nil {
		return err
	}
	for _, l := range lost {
		fmt.Fprintln(e.stderr, "iocause: "+text.Escape(l))
	}
	if len(args) == 1 {
		return drawBaseline(e.stdout, o, &signals[0], history, day)
	}
	return listBaselines(e.stdout, o, signals, history, newest.In(day.Location()))
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

// listBaselines shows the newest hour of every signal.
func listBaselines(out io.Writer, o *baselineOptions, signals []detect.Signal, history *detect.History, newest time.Time) error {
	hours := []baseline.Hour{}
	for i := range signals {
		if h := baseline.Beside(&signals[i], history, newest); h.Samples > 0 || h.Normal.Hours > 0 {
			hours = append(hours, h)
		}
	}
	if o.format == "json" {
		return writeJSON(out, map[string]any{"version": 1, "hours": hours})
	}
	t := baseline.List(hours, newest)
	return text.WriteTable(out, &t, styleOf(out, os.Getenv, widestTable))
}

// outside is how many spreads an hour's median is off for the drawing to mark it.
const outside = 4

// drawBaseline draws a day of a signal.
func drawBaseline(out io.Writer, o *baselineOptions, s *detect.Signal, history *detect.History, day time.Time) error {
	hours := []baseline.Hour{}
	for at := day; at.Before(day.AddDate(0, 0, 1)); at = at.Add(time.Hour) { // 23 or 25 where summer time begins or ends
		hours = append(hours, baseline.Beside(s, history, at))
	}
	if o.format == "json" {
		return writeJSON(out, map[string]any{"version": 1, "hours": hours})
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
	style := styleOf(out, os.Getenv, widestText)
	if err := text.WriteChart(out, &c, style); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t := baseline.Below(hours, known, normal)
	return text.WriteTable(out, &t, style)
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
