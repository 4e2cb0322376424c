//go:build !light

package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/mcp"
	"iocause/internal/session"
	"iocause/internal/version"
)

func newMCPCommand(e *env) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Answer AI assistants over the Model Context Protocol",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runMCP(e, c, dir) },
	}
	c.Flags().StringVar(&dir, "dir", stateDir, "the agent's directory")
	return c
}

// runMCP answers until standard input ends. Each question is a command line of
// its own, with what it prints kept apart from the protocol.
func runMCP(e *env, c *cobra.Command, dir string) error {
	if _, terminal := console.Width(e.stdin); terminal {
		return &ask.Error{Err: errors.New("answering assistants: standard input is a terminal"), Next: "an assistant's client starts 'iocause mcp'; docs/mcp.md shows its configuration"}
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	s := mcp.Server{Version: version.Build().String(), Dir: dir,
		Run: func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
			return runLine(ctx, &env{streams: streams{stdin: stdin, stdout: stdout, stderr: stderr}, host: e.host, sources: e.sources}, args)
		}}
	in, ok := e.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(e.stdin)
	}
	return s.Serve(watch, in, e.stdout)
}
