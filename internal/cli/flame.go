package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/output"
	"iocause/internal/present/folded"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/tool/read"
)

// flameAsk is what is wanted of the stacks in a file.
type flameAsk struct {
	output, format, event, by string
}

func newFlameCommand(e *env) *cobra.Command {
	o := &flameAsk{}
	c := &cobra.Command{
		Use:   "flame FILE [AFTER] [flags]",
		Short: "Draw recorded stacks as a flame graph, or compare two recordings",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return filesGiven(c, args, 1)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(len(args)); err != nil {
				return err
			}
			if len(args) == 2 {
				return flameDiff(e.streams, args, o)
			}
			p, err := readStacks(e.streams, args[0], o)
			if err != nil {
				return err
			}
			if o.format == "folded" {
				for _, note := range p.Notes {
					fmt.Fprintln(e.stderr, "iocause: "+text.Escape(note))
				}
				return folded.Collapse(e.stdout, p)
			}
			return output.Profile(e.stdout, e.stderr, p, o.output)
		},
	}
	o.bind(c, ".html, .svg, ...")
	c.Flags().Var(ask.OneOf(&o.format, "", "folded"), "format", "folded: stacks to standard output, as stackcollapse-perf.pl")
	c.AddCommand(newFlameDiffCommand(e))
	return c
}

func (k *flameAsk) bind(c *cobra.Command, ends string) {
	c.Flags().StringVarP(&k.output, "output", "o", "flame.html", "file to write, "+ends)
	c.Flags().StringVar(&k.event, "event", "", "event of perf's text, map of bpftrace (@NAME) or value of pprof to draw (default the first; of pprof its own)")
	c.Flags().Var(ask.OneOf(&k.by, "time", "time", "count"), "by", "weight of thread switches: time, count")
}

// check refuses what cannot be done, before anything is read.
func (k *flameAsk) check(files int) error {
	if k.format == "folded" && files > 1 {
		return &ask.Error{Err: errors.New("reading --format: a comparison is written as a page only"), Next: "leave --format out"}
	}
	if k.format == "folded" {
		return nil // no file is written
	}
	if err := output.CheckProfile(k.output); err != nil {
		return err
	}
	if files > 1 && !strings.HasSuffix(k.output, ".html") {
		return &ask.Error{Err: fmt.Errorf("reading --output: a comparison is written as a page, which %q is not", k.output), Next: "give a name that ends in .html"}
	}
	return nil
}

func newFlameDiffCommand(e *env) *cobra.Command {
	o := &flameAsk{}
	c := &cobra.Command{
		Use:   "diff BEFORE AFTER [flags]",
		Short: "Compare two recordings in one flame graph",
		Args:  func(c *cobra.Command, args []string) error { return filesGiven(c, args, 2) },
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(len(args)); err != nil {
				return err
			}
			return flameDiff(e.streams, args, o)
		},
	}
	o.bind(c, ".html")
	return c
}

// flameDiff draws what changed between two files.
func flameDiff(s streams, args []string, o *flameAsk) error {
	before, err := readStacks(s, args[0], o)
	if err != nil {
		return err
	}
	after, err := readStacks(s, args[1], o)
	if err != nil {
		return err
	}
	if err := read.Beside(before, after, args[0], args[1]); err != nil {
		return err
	}
	if err := output.Changes(o.output, after, before); err != nil {
		return err
	}
	fmt.Fprintf(s.stderr, "iocause: wrote %s: %s before, %s after\n", text.Escape(o.output), output.Weight(before), output.Weight(after))
	return nil
}

func filesGiven(c *cobra.Command, args []string, n int) error {
	if len(args) != n {
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %d files are given, %s takes %d", len(args), c.Name(), n), Next: fmt.Sprintf("see '%s --help'", c.CommandPath())}
	}
	return nil
}

// readStacks reads a file of stacks, and says what became of its lines where it is
// text of a tool.
func readStacks(s streams, name string, o *flameAsk) (*sample.Profile, error) {
	return read.Stacks(s.stdin, read.StacksAsk{Name: name, Event: o.event, ByCount: o.by == "count", NamesOnly: o.format == "folded"}, func(note string) { fmt.Fprintln(s.stderr, "iocause: "+text.Escape(note)) })
}
