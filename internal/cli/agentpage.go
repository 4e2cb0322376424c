package cli

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"

	"iocause/internal/agent"
	"iocause/internal/agent/page"
	"iocause/internal/replay"
	"iocause/internal/version"
)

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
