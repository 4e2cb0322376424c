package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/table"
	"iocause/internal/tool/fleet"
)

// fleetOptions are the flags of fleet and of the commands below it.
type fleetOptions struct {
	fleet.Ask
	rows            intervals
	from, to, cause string
}

func newFleetCommand(e *env) *cobra.Command {
	c := newFleetPart(e, &cobra.Command{
		Use:   "fleet --url URL [flags]",
		Short: "Which hosts have which cause, and what they have in common",
	}, false, func(ctx context.Context, o *fleetOptions) ([]table.Table, error) {
		f, err := fleet.Observe(ctx, &o.Ask)
		if err != nil {
			return nil, err
		}
		return f.Tables(), nil
	})
	c.AddCommand(
		newFleetPart(e, &cobra.Command{
			Use:   "common --url URL --cause ID [flags]",
			Short: "What hosts with one cause have in common",
		}, true, func(ctx context.Context, o *fleetOptions) ([]table.Table, error) {
			if o.cause == "" {
				return nil, &ask.Error{Err: errors.New("reading --cause: it is missing"), Next: "'iocause fleet' shows which there are"}
			}
			f, err := fleet.Observe(ctx, &o.Ask)
			if err != nil {
				return nil, err
			}
			common, err := f.Common(o.cause)
			if err != nil {
				return nil, err
			}
			return []table.Table{common.Table()}, nil
		}),
		newFleetPart(e, &cobra.Command{
			Use:   "hosts --url URL [flags]",
			Short: "The hosts with a cause, by name",
		}, true, func(ctx context.Context, o *fleetOptions) ([]table.Table, error) {
			f, err := fleet.Observe(ctx, &o.Ask)
			if err != nil {
				return nil, err
			}
			return []table.Table{f.HostTable(o.cause)}, nil
		}),
		newFleetPart(e, &cobra.Command{
			Use:   "disks --url URL [flags]",
			Short: "Disks that are slower than others of their model at the same load",
		}, false, func(ctx context.Context, o *fleetOptions) ([]table.Table, error) {
			d, err := fleet.ObserveDisks(ctx, &o.Ask)
			if err != nil {
				return nil, err
			}
			return []table.Table{d.Table()}, nil
		}))
	return c
}

// newFleetPart gives a command the flags that all have, and prints its table.
func newFleetPart(e *env, c *cobra.Command, byCause bool, observe func(context.Context, *fleetOptions) ([]table.Table, error)) *cobra.Command {
	o := &fleetOptions{}
	c.Args = noArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return runFleet(e, c, o, observe) }
	f := c.Flags()
	f.StringVar(&o.URL, "url", "", "address of the store, as http://prometheus:9090")
	f.StringVar(&o.from, "from", "1h ago", "start of the time")
	f.StringVar(&o.to, "to", "", "its end (now)")
	if byCause {
		f.StringVar(&o.cause, "cause", "", "only this cause, by its ID (docs/causes.md)")
	}
	f.StringVar(&o.Match, "match", "", "only series with these labels, e.g. zone=\"a\"")
	f.StringVar(&o.HostLabel, "host-label", "instance", "label that tells hosts apart")
	f.StringVar(&o.TokenFile, "token-file", "", "file with a bearer token")
	f.StringVar(&o.CAFile, "ca-file", "", "CA certificates to check the store's with\n(default: the system's)")
	f.Var(ask.TimeIn(&o.Timeout, time.Minute), "timeout", "longest wait for one answer")
	f.Var(ask.RowsIn(&o.rows.top, 20), "top", "rows, 0 for all")
	f.StringVar(&o.rows.sort, "sort", "", "sort by column (JSON name)")
	f.Var(ask.Formats(&o.rows.format, "json", "csv"), "format", "text, json or csv")
	return c
}

func runFleet(e *env, c *cobra.Command, o *fleetOptions, observe func(context.Context, *fleetOptions) ([]table.Table, error)) error {
	if o.URL == "" {
		return &ask.Error{Err: errors.New("reading --url: it is missing"), Next: "give the address of the store that agents send to, as http://prometheus:9090"}
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
	o.Progress = func(what string) { progress.Draw(func() string { return "iocause: asking " + what }) }
	o.Note = func(what string) { progress.Say("the store says: " + text.Escape(what)) }
	t, err := observe(c.Context(), o)
	progress.Erase()
	var bad *fleet.BadEndpoint
	var none *fleet.NoSuchCause
	switch {
	case errors.As(err, &bad):
		return &ask.Error{Err: bad.Err, Next: fmt.Sprintf("see '%s --help'", c.CommandPath())}
	case errors.As(err, &none):
		return &ask.Error{Err: err, Next: "'iocause fleet' shows them"}
	case err != nil:
		return err
	}
	return newPrinter(e.streams, &o.rows).Print(o.From, o.To.Sub(o.From), "from "+replay.Stamp(o.From)+" to "+replay.Stamp(o.To)+":", t)
}
