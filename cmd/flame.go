package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/present/folded"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
)

func newFlameCommand(a *app) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "flame FILE.folded [flags]",
		Short: "Draw recorded stacks as a flame graph, or compare two recordings",
		Long: "Flame reads folded stacks, as 'iocause offcpu -o FILE.folded' and many other\n" +
			"tools write them, and draws them. Numbers are taken for microseconds. FILE may\n" +
			"be - for standard input. 'iocause flame diff' compares two recordings.",
		Example: `  iocause flame waits.folded -o waits.html
  iocause flame diff before.folded after.folded -o diff.html
  perf script | stackcollapse-perf.pl | iocause flame - -o cpu.svg`,
		Args: func(c *cobra.Command, args []string) error { return filesGiven(c, args, 1) },
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			p, err := a.readFolded(args[0])
			if err != nil {
				return err
			}
			return a.writeProfile(p, output)
		},
	}
	bindFlameOutput(c, &output, ".html, .svg, ...")
	c.AddCommand(newFlameDiffCommand(a))
	return c
}

func newFlameDiffCommand(a *app) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "diff BEFORE.folded AFTER.folded [flags]",
		Short: "Compare two recordings in one flame graph",
		Long: "Diff draws both recordings in one page: a function is as wide as its time in\n" +
			"both together, red where it takes more time in the second, blue where it takes\n" +
			"less. Record both for the same time and under the same load, or the difference\n" +
			"is that of the recordings.",
		Example: `  iocause offcpu --pid 1234 -o before.folded
  iocause offcpu --pid 1234 -o after.folded
  iocause flame diff before.folded after.folded -o diff.html`,
		Args: func(c *cobra.Command, args []string) error { return filesGiven(c, args, 2) },
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if !strings.HasSuffix(output, ".html") {
				return &usageError{fmt.Errorf("reading --output: a comparison is a page, %q is not", output), "give a name that ends in .html"}
			}
			before, err := a.readFolded(args[0])
			if err != nil {
				return err
			}
			after, err := a.readFolded(args[1])
			if err != nil {
				return err
			}
			after.Title = "What changed"
			after.Notes = append(after.Notes, fmt.Sprintf("before: %s, after: %s", args[0], args[1]))
			if err := writeWhole(output, func(w io.Writer) error { return html.WriteDiff(w, after, before) }); err != nil {
				return fmt.Errorf("writing %s: %w", output, err)
			}
			fmt.Fprintf(a.stderr, "iocause: wrote %s: %s before, %s after\n", text.Escape(output),
				text.Duration(before.Total().Seconds()), text.Duration(after.Total().Seconds()))
			return nil
		},
	}
	bindFlameOutput(c, &output, ".html")
	return c
}

func bindFlameOutput(c *cobra.Command, output *string, ends string) {
	c.Flags().StringVarP(output, "output", "o", "flame.html", "file to write, "+ends)
}

func filesGiven(c *cobra.Command, args []string, n int) error {
	if len(args) != n {
		return &usageError{fmt.Errorf("reading the arguments: %d files are given, %s takes %d", len(args), c.Name(), n),
			fmt.Sprintf("see '%s --help'", c.CommandPath())}
	}
	return nil
}

// readFolded reads a file of folded stacks; "-" is standard input.
func (a *app) readFolded(name string) (*sample.Profile, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading folded stacks: %w; record some with 'iocause offcpu -o %s'", err, name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading folded stacks: %w", err)
		}
		defer f.Close()
		in = f
	}
	var states []string
	for _, s := range stacks.States() {
		states = append(states, string(s))
	}
	p, err := folded.Read(in, states)
	if err != nil {
		return nil, fmt.Errorf("reading folded stacks of %s: %w; each line is FUNCTION;FUNCTION NUMBER", name, err)
	}
	p.Title = name
	return p, nil
}
