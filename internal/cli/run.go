// Package cli is the command line: one file for each subcommand. It is the
// only place where the rooms meet.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/source"
)

// Exit codes.
const (
	exitWell   = 0
	exitFailed = 1
	exitUsage  = 2
	exitPipe   = 128 + int(syscall.SIGPIPE) // as of a program that SIGPIPE has ended
)

// streams are what a command reads and writes.
type streams struct {
	stdin  io.Reader
	stdout io.Writer // what was asked for
	stderr io.Writer // all else: notes, progress
}

// env is where commands run. Each takes of it what it needs.
type env struct {
	streams
	host    *host.Host
	sources []source.Entry // that diagnose and record watch
}

// Run runs one command line, without the program's name. It returns the exit
// code: 0 well, 1 failed, 2 bad usage, 141 when nobody reads its output any
// more; of a command that was watched with --exit-code, the command's own. Data
// goes to stdout, all else to stderr.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	defer console.KeepBrokenPipes()()
	a := &env{streams: streams{stdin: stdin, stdout: stdout, stderr: stderr}, host: host.Live(), sources: source.List()}
	return runLine(ctx, a, args)
}

func runLine(ctx context.Context, e *env, args []string) int {
	root := newRootCommand(e)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	out := &remembering{w: e.stdout}
	root.SetOut(out)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	if err == nil {
		return exitWell
	}
	var code *exitError
	if errors.As(err, &code) {
		return code.code
	}
	if errors.Is(err, syscall.EPIPE) && console.ReaderGone(e.stdout) {
		return exitPipe // as 'head' has it: it has seen enough, and nothing is wrong
	}
	lines := strings.Split(err.Error(), "\n")
	for i := range lines { // names of files are in errors as they are
		lines[i] = text.Escape(lines[i])
	}
	fmt.Fprintf(e.stderr, "iocause: %s%s\n", strings.Join(lines, "\n"), asRoot(err, os.Geteuid()))
	var bad *ask.Error
	if errors.As(err, &bad) {
		return exitUsage
	}
	return exitFailed
}

// asRoot is the advice for a user who may not read something.
func asRoot(err error, user int) string {
	if errors.Is(err, fs.ErrPermission) && user != 0 && !strings.Contains(err.Error(), "as root") {
		return "; run it as root"
	}
	return ""
}

// remembering keeps the first error of a writer: cobra drops those of its help.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// exitError ends the program with a code when all has been said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// badUsage is an ask.Error that points to the command's help.
func badUsage(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError // has what an ask.Error says of the value alone
	if errors.As(err, &bad) {
		return badValue(c, bad)
	}
	var already *ask.Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &ask.Error{Err: fmt.Errorf("reading the arguments: %w", err), Next: fmt.Sprintf("see '%s --help'", c.CommandPath())}
}

// badValue says what is wrong with the value of a flag, and what to give.
func badValue(c *cobra.Command, bad *pflag.InvalidValueError) error {
	why, next := bad.Unwrap(), fmt.Sprintf("see '%s --help'", c.CommandPath())
	var known *ask.Error
	var number *strconv.NumError
	switch {
	case errors.As(why, &known):
		why, next = known.Err, known.Next
	case errors.As(why, &number) && bad.GetFlag().Value.Type() != "bool":
		why = fmt.Errorf("%q is not a valid number", bad.GetValue())
	}
	return &ask.Error{Err: fmt.Errorf("reading --%s: %w", bad.GetFlag().Name, why), Next: next}
}

// tellUsageApart makes what cobra says about arguments and flags an ask.Error,
// in every command.
func tellUsageApart(c *cobra.Command) {
	c.SetFlagErrorFunc(badUsage)
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error { return badUsage(c, check(c, args)) }
	}
	for _, sub := range c.Commands() {
		tellUsageApart(sub)
	}
}

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %s takes no arguments, but has %q", c.Name(), args[0]), Next: orDuration(c, args[0], fmt.Sprintf("see '%s --help'", c.CommandPath()))}
	}
	return nil
}

// orDuration is the advice for an argument that is a time, as INTERVAL of other
// commands is, where the command has --duration; else next.
func orDuration(c *cobra.Command, arg, next string) string {
	if _, err := ask.ParseTime(arg); err == nil && c.Flags().Lookup("duration") != nil {
		return fmt.Sprintf("to watch for that long, write --duration %s", arg)
	}
	return next
}
