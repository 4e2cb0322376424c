package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/show"
	"iocause/internal/tool/check"
)

func newCheckCommand(e *env) *cobra.Command {
	var format, types string
	var limit time.Duration
	c := &cobra.Command{
		Use:   "check",
		Short: "Check what can be observed here, and which verdicts that allows",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runCheck(c.Context(), e, format, types, limit)
		},
	}
	c.Flags().StringVar(&types, "types", "", "for another kernel, of which this `FILE` has the types")
	c.Flags().Var(ask.TimeIn(&limit, check.Limit).From(check.Least, fmt.Sprintf("give %v or more", check.Least)), "timeout", "give up sources that take longer")
	c.Flags().Var(ask.Formats(&format, "json"), "format", "text or json")
	return c
}

func runCheck(ctx context.Context, e *env, format, types string, limit time.Duration) error {
	var found *check.Found
	var err error
	if types != "" {
		found, err = check.Foresee(types, e.sources)
		_, _ = fmt.Fprintln(e.stderr, "note: read from type information alone; iocause check on that kernel shows what holds")
	} else {
		found, err = check.Observe(ctx, e.host, e.sources, limit)
	}
	if err != nil {
		return err
	}
	if format == "json" {
		err = writeJSON(e.stdout, found)
	} else {
		err = show.Check(e.stdout, found, console.Style(e.stdout, func(string) string { return "" }, console.WidestText).Width)
	}
	if err != nil {
		return err
	}
	if len(found.Impossible()) > 0 {
		return &exitError{exitFailed}
	}
	return nil
}
