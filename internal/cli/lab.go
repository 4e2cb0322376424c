package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/lab/space"
	"iocause/internal/session"
	"iocause/internal/table"
)

// newLabCommand is `iocause lab`: situations with a known cause, to try
// observers and fixes on.
func newLabCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Make slow I/O whose cause is known",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0], "see 'iocause lab --help'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newLabLoadCommand(e.stdout, e.stderr), newLabEatCommand(e), newLabProbeCommand(e), newLabFioCommand(e),
		newLabRunCommand(e), newLabCompareCommand(e), newLabScoreCommand(e), newLabProveCommand(e), newLabVerifyCommand(e), newLabDiskCommand(e), newLabNFSCommand(e))
	return c
}

func newLabLoadCommand(stdout, stderr io.Writer) *cobra.Command {
	var spec load.Spec
	var format string
	var readyFD int
	c := &cobra.Command{
		Use:       "load KIND [flags]",
		Short:     "Run a load and account for exactly what it did",
		Long:      helpOf("lab-load", "{kinds}", listOf(load.KindNames(), func(name string) (string, string) { return name, load.KindHelp(load.Kind(name)) })),
		Args:      arguments(1, "give one of "+strings.Join(load.KindNames(), ", ")+": see 'iocause lab load --help'", "KIND"),
		ValidArgs: load.KindNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Kind = load.Kind(args[0])
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, err := load.Run(ctx, spec, func() {
				if readyFD == 0 && spec.Endless() {
					_, _ = fmt.Fprintf(stderr, "%s runs until Ctrl-C; --duration, --count or --passes end it earlier\n", spec.Kind)
				}
				announce(readyFD, stderr)
			})
			if err != nil {
				return fmt.Errorf("load: %w", err)
			}
			if format == "text" {
				return r.WriteText(stdout)
			}
			if err := json.NewEncoder(stdout).Encode(r); err != nil {
				return fmt.Errorf("writing the result: %w", err)
			}
			return nil
		},
	}
	// The load's flags are declared once, in the load package, for the
	// command line and for scenario files.
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	spec.Bind(flags)
	c.Flags().AddGoFlagSet(flags)
	c.Flags().Var(ask.Formats(&format, "json"), "format", "text or json")
	c.Flags().IntVar(&readyFD, "ready-fd", 0, "write a line to this file descriptor when the calls begin")
	_ = c.Flags().MarkHidden("ready-fd") // fails only for a flag that does not exist
	return c
}

// announce tells whoever started us that the preparations are over.
func announce(fd int, stderr io.Writer) {
	if fd <= 0 {
		return
	}
	f := os.NewFile(uintptr(fd), "ready")
	if f == nil {
		return
	}
	if _, err := f.WriteString("running\n"); err != nil {
		_, _ = fmt.Fprintf(stderr, "note: cannot tell that the load is running: %v\n", err)
	}
	_ = f.Close()
}

// spaceOptions are those of drawn situations, with this very binary, until Ctrl-C.
// What runs that have died left behind goes first.
func spaceOptions(parent context.Context, h *host.Host, dir string) (ctx context.Context, o space.Options, stop func(), err error) {
	self, err := lab.Self()
	if err != nil {
		return nil, o, nil, err
	}
	if _, err := lab.Sweep(h); err != nil {
		return nil, o, nil, err
	}
	ctx, stop = session.UntilInterrupt(parent, func(os.Signal) {})
	return ctx, space.Usual(self, dir), stop, nil
}

// titled is a thing of the lab that has a name and a line that says what it is.
type titled struct{ name, title string }

// listTitled writes them as a table.
func listTitled(out io.Writer, key string, all []titled) error {
	t := &table.Table{Key: key, Whole: true, Columns: []table.Column{{Key: "name", Head: "NAME"}, {Key: "title", Head: "TITLE", Flex: true, Words: true}}}
	for _, x := range all {
		t.Rows = append(t.Rows, []table.Cell{table.Str(x.name), table.Str(x.title)})
	}
	return writeTable(out, t)
}
