package cli

import (
	"context"
	"fmt"
	"io"

	"iocause/internal/console"
	"iocause/internal/present/text"
	"iocause/internal/session"
)

// newChild finds the command that is to be watched. What it prints goes to out.
func newChild(s streams, args []string, out io.Writer) (*session.Child, error) {
	in := s.stdin
	if _, isTerminal := console.Width(in); isTerminal {
		in = nil
	}
	return session.NewChild(args, in, out, s.stderr)
}

// waitForChild waits for the command's end and returns its exit code. A command that
// runs on is mentioned.
func waitForChild(watch context.Context, notes io.Writer, c *session.Child) int {
	return c.Wait(watch, func(advice string) {
		fmt.Fprintf(notes, "iocause: %s (process %d) is still running; %s\n", text.Escape(c.Name()), c.PID(), advice)
	})
}
