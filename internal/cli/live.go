package cli

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/live"
	"iocause/internal/live/feed"
	"iocause/internal/present/text"
	"iocause/internal/view"
)

// liveOptions are the flags of live.
type liveOptions struct {
	filter   filter
	light    bool
	playback playback
}

func newLiveCommand(e *env) *cobra.Command {
	o := &liveOptions{}
	c := &cobra.Command{
		Use:   "live [INTERVAL] [flags]",
		Short: "Full-screen view: verdict, resources, latencies, tables",
		Args:  arguments(0, "give INTERVAL at most", "INTERVAL"),
		RunE:  func(c *cobra.Command, args []string) error { return runLive(e, c, o, args) },
	}
	o.filter.bind(c)
	c.Flags().BoolVar(&o.light, "light", false, "no verdict at first; load what tables need")
	o.playback.bind(c)
	return c
}

func runLive(e *env, c *cobra.Command, o *liveOptions, args []string) error {
	every := time.Second
	if len(args) > 0 {
		var err error
		if every, err = interval(args[0]); err != nil {
			return err
		}
	}
	if err := onTerminal(e.streams); err != nil {
		return err
	}
	play, err := o.playback.asked(c)
	if err != nil {
		return err
	}
	given, err := o.filter.one(c)
	if err != nil {
		return err
	}
	target, err := o.filter.target(e.host, play, given)
	if err != nil {
		return err
	}
	style := console.Style(e.stdout, os.Getenv, console.WidestTable)
	screen := live.Options{Every: every, Verdict: !o.light, Color: style.Color, ASCII: style.ASCII,
		Query: view.Query{PIDs: target.PIDs, Comm: target.Comm, Cgroup: target.Cgroup, Device: target.Device}}
	for _, x := range e.sources {
		screen.Sources = append(screen.Sources, x.Name)
	}
	if play {
		return runLivePast(e, c, o, target, screen)
	}
	f, err := feed.NewMachine(e.host, e.sources, screen.Sources, every, target, openLimit())
	if err != nil {
		return err
	}
	return live.Run(c.Context(), live.New(f, screen), e.stdin, e.stdout, console.BehindShell())
}

// livePast shows what was kept.
func runLivePast(e *env, c *cobra.Command, o *liveOptions, target diagnose.Target, screen live.Options) (err error) {
	// of an agent's history the whole course, not the newest incident in it
	from, err := openPlayback(e, &o.playback, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	f, err := feed.NewKept(from, target)
	if err != nil {
		return err
	}
	screen.Past = text.Escape(from.Name)
	return live.Run(c.Context(), live.New(f, screen), e.stdin, e.stdout, console.BehindShell())
}

// onTerminal refuses to draw into a file, and to read keys from one.
func onTerminal(s streams) error {
	const instead = "'iocause diagnose' prints the verdict; 'iocause use 1' and 'iocause disk 1' print tables every second"
	if _, ok := console.Width(s.stdout); !ok {
		return &ask.Error{Err: errors.New("standard output is not a terminal, which live needs"), Next: instead}
	}
	if os.Getenv("TERM") == "dumb" {
		return &ask.Error{Err: errors.New("the terminal cannot move its cursor (TERM=dumb)"), Next: instead}
	}
	if f, ok := s.stdin.(*os.File); !ok || !console.IsTerminal(f) {
		return &ask.Error{Err: errors.New("standard input is not a terminal, and live reads its keys from there"), Next: instead}
	}
	return nil
}
