package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/output"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
	"iocause/internal/tool/fleet"
)

// fleetOptions are the flags of fleet and of the commands below it.
type fleetOptions struct {
	fleet.Ask
	rows             intervals
	from, to, output string
}

// fleetAnswer answers one question; without tables, it has shown what it found.
type fleetAnswer func(context.Context, *fleet.Ask) ([]table.Table, error)

func newFleetCommand(e *env) *cobra.Command {
	c, _ := newFleetPart(e, "fleet --url URL [flags]", "Which hosts have which cause, and what they have in common", fleet.Causes)
	for _, part := range []struct {
		use, short string
		answer     fleetAnswer
		cause      bool
	}{
		{"common --url URL --cause ID [flags]", "What hosts with one cause have in common", fleet.InCommon, true},
		{"hosts --url URL [flags]", "The hosts with a cause, by name", fleet.HostsWith, true},
		{"latency --url URL [flags]", "Requests of all disks by latency over time, and the slowest hosts", fleet.Latencies, false},
		{"disks --url URL [flags]", "Disks that are slower than others of their model at the same load", fleet.SlowOnes, false},
	} {
		one, o := newFleetPart(e, part.use, part.short, part.answer)
		if part.cause {
			one.Flags().StringVar(&o.Cause, "cause", "", "only this cause, by its ID (docs/causes.md)")
		}
		c.AddCommand(one)
	}
	both, sides := newFleetPart(e, "diff --url URL A B [flags]", "Compare two hosts, or two groups of hosts", fleet.SideBySide)
	both.Args = func(_ *cobra.Command, args []string) error {
		if copy(sides.Sides[:], args); len(args) != 2 {
			return &ask.Error{Err: fmt.Errorf("reading the arguments: two sides are compared, and %d are given", len(args)), Next: "give two hosts by name, or two groups such as 'zone=\"a\"' 'zone=\"b\"'"}
		}
		return nil
	}
	page, o := newFleetPart(e, "report --url URL -o FILE.html [flags]", "All of it as a page", nil)
	page.Flags().StringVarP(&o.output, "output", "o", "iocause-fleet.html", "file to write; - is stdout")
	c.AddCommand(both, page, newFleetFetch(e))
	return c
}

// newFleetFetch makes the command that asks an agent, not a store.
func newFleetFetch(e *env) *cobra.Command {
	o := &fleet.Fetching{}
	c := &cobra.Command{Use: "fetch HOST -o FILE --token-file FILE [flags]", Short: "Have the agent of a host record, and fetch the recording", Args: arguments(1, "give HOST:PORT of an agent", "HOST")}
	f := c.Flags()
	f.Var(ask.TimeIn(&o.Length, 10*time.Second).From(time.Second, goodLength), "duration", "how long all probes watch, at most 1m")
	f.StringVarP(&o.Output, "output", "o", "fetched.iocause", "file to write")
	f.StringVar(&o.TokenFile, "token-file", "", "file with the agent's token")
	f.StringVar(&o.CAFile, "ca-file", "", "CA certificates to check the agent's with (default: the system's)")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Host = args[0]
		ctx, stop := session.UntilInterrupt(c.Context(), nil)
		defer stop()
		fmt.Fprintf(e.stderr, "iocause: %s records for %s\n", text.Escape(o.Host), table.Duration(o.Length.Seconds()))
		size, err := fleet.Fetch(ctx, o, agent.FetchPath, agent.FetchType)
		var bad *fleet.BadEndpoint
		if errors.As(err, &bad) {
			return &ask.Error{Err: bad.Err, Next: "see 'iocause fleet fetch --help'"}
		} else if err != nil {
			return err
		}
		name := text.Escape(o.Output)
		_, err = fmt.Fprintf(e.stdout, "%s: %s; see: iocause diagnose --recording %[1]s\n", name, table.Value(float64(size), "bytes"))
		return err
	}
	return c
}

// newFleetPart makes a command with the flags that all have; without an answer, what
// it finds becomes a page.
func newFleetPart(e *env, use, short string, answer fleetAnswer) (*cobra.Command, *fleetOptions) {
	o := &fleetOptions{}
	c := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return runFleet(e, c, o, answer) }}
	f := c.Flags()
	f.StringVar(&o.URL, "url", "", "address of the store, as http://prometheus:9090")
	f.StringVar(&o.from, "from", "1h ago", "start of the time")
	f.StringVar(&o.to, "to", "", "its end (now)")
	f.StringVar(&o.Match, "match", "", "only series with these labels, e.g. zone=\"a\"")
	f.StringVar(&o.HostLabel, "host-label", "instance", "label that tells hosts apart")
	f.StringVar(&o.TokenFile, "token-file", "", "file with a bearer token")
	f.StringVar(&o.CAFile, "ca-file", "", "CA certificates to check the store's with (default: the system's)")
	f.Var(ask.TimeIn(&o.Timeout, time.Minute), "timeout", "longest wait for one answer")
	if answer == nil {
		return c, o
	}
	f.Var(ask.RowsIn(&o.rows.top, 20), "top", "rows, 0 for all")
	f.StringVar(&o.rows.sort, "sort", "", "sort by column (JSON name)")
	f.Var(ask.Formats(&o.rows.format, "json", "csv"), "format", "text, json or csv")
	return c, o
}

func runFleet(e *env, c *cobra.Command, o *fleetOptions, answer fleetAnswer) error {
	if o.URL == "" {
		return &ask.Error{Err: errors.New("reading --url: it is missing"), Next: "give the address of the store that agents send to, as http://prometheus:9090"}
	}
	if answer == nil {
		if err := output.CheckPage(e.stdout, o.output); err != nil {
			return err
		}
		answer = func(ctx context.Context, a *fleet.Ask) ([]table.Table, error) {
			all, err := fleet.Everything(ctx, a)
			if err != nil {
				return nil, err
			}
			return nil, output.Report(e.stdout, e.stderr, o.output, show.FleetPage(all))
		}
	}
	now := e.host.Now()
	for _, t := range []struct {
		flag, said string
		to         *time.Time
	}{{"from", o.from, &o.From}, {"to", o.to, &o.To}} {
		if t.said == "" {
			*t.to = now
			continue
		}
		var err error
		if *t.to, err = replay.Instant(t.said, now); err != nil {
			return &ask.Error{Err: fmt.Errorf("reading --%s: %w", t.flag, err), Next: replay.TimeHelp}
		}
	}
	progress := console.NewLine(e.stderr)
	progress.After, progress.Every = 0, 0 // one line for each question, and some take their time
	o.Progress = func(what string) { progress.Draw(func() string { return "iocause: asking " + text.Escape(what) }) }
	o.Note = func(what string) { progress.Say("the store says: " + text.Escape(what)) }
	t, err := answer(c.Context(), &o.Ask)
	progress.Erase()
	var bad *fleet.BadEndpoint
	var none *fleet.NoSuchCause
	switch {
	case errors.As(err, &bad):
		return &ask.Error{Err: bad.Err, Next: fmt.Sprintf("see '%s --help'", c.CommandPath())}
	case errors.As(err, &none):
		return &ask.Error{Err: err, Next: "'iocause fleet' shows them"}
	case err != nil || t == nil:
		return err
	}
	return newPrinter(e.streams, &o.rows).Print(o.From, o.To.Sub(o.From), "from "+replay.Stamp(o.From)+" to "+replay.Stamp(o.To)+":", t)
}
