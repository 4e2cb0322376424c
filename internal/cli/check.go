package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/show"
	"iocause/internal/tool/check"
)

func newCheckCommand(e *env) *cobra.Command {
	var format string
	limit := check.Limit
	c := &cobra.Command{
		Use:     "check",
		Short:   "Say what can be observed here, and which verdicts that allows",
		Long:    helpOf("check"),
		Example: examplesOf("check"),
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if limit < check.Limit {
				return &usageError{fmt.Errorf("reading --timeout: %v is too short", limit), fmt.Sprintf("give %v or more", check.Limit)}
			}
			return runCheck(c.Context(), e, format, limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "give up what has not answered by then")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func runCheck(ctx context.Context, e *env, format string, limit time.Duration) error {
	found, err := check.Observe(ctx, e.host, e.sources, limit)
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
