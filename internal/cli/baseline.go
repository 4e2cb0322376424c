package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/detect"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/show"
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
		Use:   "baseline [SIGNAL] [flags]",
		Short: "Compare this host's signals with their baselines",
		Long:  helpOf("baseline", "{signals}", listOf(detect.Signals(), func(s detect.Signal) (name, what string) { return s.Name, s.Help })),
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return runBaseline(e, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", stateDir, "the agent's directory")
	f.StringVar(&o.day, "day", "today", "day to draw: today, yesterday or a date, 2026-11-03")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

func runBaseline(e *env, o *baselineOptions, args []string) error {
	day, err := baseline.DayOf(o.day, e.host.Now())
	if err != nil {
		return err
	}
	signals := detect.Signals()
	if len(args) == 1 {
		if signals, err = baseline.Named(args[0]); err != nil {
			return err
		}
	}
	history, newest, lost, err := baseline.Read(filepath.Join(o.dir, baselinesIn), e.host.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; the agent keeps them from its first hours on: name its directory with --dir", err)
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

// listBaselines shows the newest hour of every signal.
func listBaselines(out io.Writer, o *baselineOptions, signals []detect.Signal, history *detect.History, newest time.Time) error {
	hours := baseline.Known(signals, history, newest)
	if o.format == "json" {
		return writeJSON(out, map[string]any{"version": 1, "hours": hours})
	}
	t := baseline.List(hours, newest)
	return writeTable(out, &t)
}

// drawBaseline draws a day of a signal.
func drawBaseline(out io.Writer, o *baselineOptions, s *detect.Signal, history *detect.History, day time.Time) error {
	hours := baseline.Day(s, history, day)
	if o.format == "json" {
		return writeJSON(out, map[string]any{"version": 1, "hours": hours})
	}
	return show.Baseline(out, s, hours, day, console.Style(out, os.Getenv, console.WidestText))
}
