package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/parse"
	"iocause/internal/parse/blktrace"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
	"iocause/internal/tool/read"
)

// readOptions are the flags of read.
type readOptions struct {
	list   bool
	series bool
	one    bool
	as     string
	which  int
	format string
}

func newReadCommand(e *env) *cobra.Command {
	o := &readOptions{}
	c := &cobra.Command{
		Use:   "read [FILE ...] [flags]",
		Short: "Name the cause from the output of other tools",
		Long:  helpOf("read", "{tools}", listOf(parse.List(), func(t parse.Tool) (name, what string) { return t.Name, t.What })),
		RunE:  func(c *cobra.Command, args []string) error { return readTexts(e, c, o, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "show what was recognised, without a verdict")
	f.BoolVar(&o.series, "series", false, "export the values that were read, as CSV or JSON lines")
	f.BoolVar(&o.one, "one", false, "take everything as one case")
	f.StringVar(&o.as, "as", "", "look for the output of this tool only")
	f.Var(ask.NumberIn(&o.which, 0, 0, math.MaxInt), "case", "show this case only, counted from 1")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

// readTexts is the command: recognise, sort into cases, judge, print.
func readTexts(e *env, c *cobra.Command, o *readOptions, args []string) error {
	if o.list && o.series {
		return &ask.Error{Err: errors.New("reading the flags: --list and --series cannot be combined"), Next: "give one of them"}
	}
	tools, err := read.Tools(o.as)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if _, terminal := console.Width(e.stdin); terminal {
			return &ask.Error{Err: errors.New("reading the arguments: no FILE is given"), Next: "name files, pipe a tool's output into it, or give - to paste, and Ctrl-D; see 'iocause read --help'"}
		}
		args = []string{"-"}
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	var texts []*parse.Text
	broken := false // one could not be read to its end
	for _, names := range blktrace.Together(args) {
		t, err := readOne(ctx, e.streams, names, &parse.Reader{Tools: tools})
		if err != nil && (t == nil || len(t.Blocks) == 0) {
			return err
		}
		if err != nil {
			fmt.Fprintf(e.stderr, "iocause: %s; the part before it is judged\n", text.Escape(err.Error()))
			broken = broken || ctx.Err() == nil
		}
		texts = append(texts, t)
	}
	if err := showRead(e, texts, o); err != nil || !broken {
		return err
	}
	return &exitError{1}
}

// showRead judges and prints what was read.
func showRead(e *env, texts []*parse.Text, o *readOptions) error {
	if o.list {
		return printList(e.stdout, texts, o)
	}
	show.Faults(e.stderr, texts)
	cases, left := parse.Cases(texts, o.one)
	if left > 0 {
		fmt.Fprintf(e.stderr, "iocause: %d more cases were left out; split the input\n", left)
	}
	if len(cases) == 0 {
		return read.Nothing(texts)
	}
	if o.series {
		return printSeries(e.stdout, texts, o)
	}
	return printCases(e.stdout, texts, read.Judge(e.host, cases), o)
}

// readOne reads one file, or those of one trace; "-" is standard input. From a
// while on it says how far that is.
func readOne(ctx context.Context, s streams, names []string, r *parse.Reader) (*parse.Text, error) {
	const patience = 2 * time.Second
	line := console.NewLine(s.stderr)
	line.After, line.Every = patience, patience
	defer line.Erase()
	return r.ReadFiles(ctx, s.stdin, names, func(name string, bytes float64) {
		line.Tell(func() string {
			return fmt.Sprintf("reading %s, %s so far", text.Middle(text.Escape(name), 40), table.Value(bytes, "bytes"))
		})
	})
}
