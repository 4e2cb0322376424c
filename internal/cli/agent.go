package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/agent/page"
	"iocause/internal/ask"
	"iocause/internal/incident"
	"iocause/internal/replay"
	"iocause/internal/session"
	"iocause/internal/version"
)

// agentOptions are the flags of agent.
type agentOptions struct {
	config, dir, listen string
	interval            time.Duration
	check               bool
}

func newAgentCommand(e *env) *cobra.Command {
	o := &agentOptions{}
	c := &cobra.Command{
		Use:   "agent [flags]",
		Short: "Watch this machine all the time and record what it does",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runAgent(e, c, o) },
	}
	f := c.Flags()
	f.StringVar(&o.config, "config", "", "configuration file (YAML)")
	f.StringVar(&o.dir, "dir", "", "directory of the history (/var/lib/iocause)")
	f.Var(ask.TimeIn(&o.interval, 0).From(agent.ShortestInterval, "give a time such as 1s"), "interval", "time between two readings (1s)")
	f.StringVar(&o.listen, "listen", "", "address for scrapers and queries, none to listen nowhere (127.0.0.1:9464)")
	f.BoolVar(&o.check, "check-config", false, "check the configuration and exit")
	return c
}

func (o *agentOptions) read(c *cobra.Command) (agent.Config, error) {
	config := agent.DefaultConfig()
	if o.config != "" {
		var err error
		if config, err = agent.LoadConfig(o.config); err != nil {
			return config, &ask.Error{Err: err, Next: "see docs/agent.md for what can be set"}
		}
	}
	if c.Flags().Changed("interval") {
		if o.interval > time.Minute {
			return config, &ask.Error{Err: fmt.Errorf("reading --interval: %v is longer than 1m", o.interval), Next: "give a time such as 1s"}
		}
		config.Interval = o.interval
	}
	if o.dir != "" {
		dir, err := filepath.Abs(o.dir)
		if err != nil {
			return config, fmt.Errorf("reading --dir: %w", err)
		}
		config.Dir = dir
	}
	switch {
	case o.listen == "none":
		config.Listen = ""
	case o.listen != "":
		if err := agent.CheckListen(o.listen); err != nil {
			return config, &ask.Error{Err: fmt.Errorf("reading --listen: %w", err), Next: "or give none"}
		}
		config.Listen = o.listen
	}
	config.SlowInterval = max(config.SlowInterval, config.Interval)
	return config, nil
}

// newIncidentJudge judges incidents of this machine.
func newIncidentJudge(e *env) *incident.Judge {
	return &incident.Judge{Host: e.host, Program: version.Program(), Opener: newOpener(e, stateDir), Sources: e.sources, OpenLimit: openLimit()}
}

func runAgent(e *env, c *cobra.Command, o *agentOptions) error {
	config, err := o.read(c)
	if err != nil || o.check {
		return err
	}
	if err := agent.Built(); err != nil {
		return err
	}
	// What a machine does is for those to read who may ask it.
	defer syscall.Umask(syscall.Umask(0o077))
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	log := slog.New(slog.NewTextHandler(e.stderr, nil))
	a := agent.New(e.host, config, log, newIncidentJudge(e).Judge, version.Program())
	showPage(e, a, &config, log)
	return a.Run(ctx)
}

// showPage gives the agent its page.
func showPage(e *env, a *agent.Agent, config *agent.Config, log *slog.Logger) {
	if config.Listen == "" {
		return
	}
	if err := page.Prepare(config.Dir); err != nil {
		log.Error("the page cannot be shown yet", "why", err)
	} else {
		log.Info("there is a page to look at", "url", "http://"+config.Listen+"/", "password", filepath.Join(config.Dir, page.KeyFile))
	}
	a.Show(page.New(page.Options{Dir: config.Dir, Program: version.Program(), Host: e.host, Verdict: a.Verdict,
		Recording: func() replay.Series {
			if r := a.Recording(); r != nil {
				return r
			}
			return nil
		},
		Report: func(ctx context.Context, w io.Writer, ask page.Ask) error {
			return page.ReportAside(ctx, w, config.Dir, ask)
		},
	}))
}
