package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/output"
	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/tool/diff"
	"iocause/internal/tool/read"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	filter   filter
	from, to [2]string // of A and of B
	all      bool
	format   string
	output   string
	dir      string
}

// times tells whether times are chosen.
func (o *diffOptions) times() bool { return o.from != [2]string{} || o.to != [2]string{} }

func newDiffCommand(e *env) *cobra.Command {
	o := &diffOptions{}
	c := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two recordings, two times of one, or two texts",
		Args:  func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE:  func(c *cobra.Command, args []string) error { return runDiff(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.from[0], "from", "", "start there in A")
	f.StringVar(&o.to[0], "to", "", "end there in A")
	f.StringVar(&o.from[1], "from-b", "", "start there in B")
	f.StringVar(&o.to[1], "to-b", "", "end there in B")
	f.StringVar(&o.filter.Comm, "comm", "", "compare processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "compare processes below this cgroup")
	f.StringVar(&o.dir, "dir", stateDir, "the agent's directory")
	f.BoolVar(&o.all, "all", false, "show every figure, not only those that stand out")
	f.Var(ask.Formats(&o.format, "json"), "format", "text or json")
	f.StringVarP(&o.output, "output", "o", "", "also write a page: FILE.html (of recordings)")
	return c
}

func (o *diffOptions) check(args []string) error {
	switch {
	case len(args) == 0 && !o.times():
		return &ask.Error{Err: errors.New("reading the arguments: there is nothing to compare"), Next: "give two recordings, or two times with --from, --to, --from-b and --to-b"}
	case len(args) > 2:
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %q is an unexpected argument", args[2]), Next: "give two recordings"}
	case len(args) < 2 && o.times() && o.from[0] == o.from[1] && o.to[0] == o.to[1]:
		return alone()
	}
	return nil
}

func alone() error {
	return &ask.Error{Err: errors.New("reading the arguments: there is nothing to compare it with"), Next: "give a second recording, or --from-b and --to-b for another time of this one"}
}

// runDiff finds out what the files are and compares them.
func runDiff(e *env, c *cobra.Command, o *diffOptions, args []string) error {
	if err := checkBeside(o.output); err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{o.dir}
	}
	files := [2]string{args[0], args[len(args)-1]}
	for i, name := range files {
		files[i] = replay.Numbered(o.dir, name)
	}
	if _, err := os.Stat(files[0]); err == nil && len(args) == 1 && !o.times() && !diff.HoldsBoth(files[0]) {
		return alone()
	}
	kind, err := diff.KindOf(files, read.HasOutput)
	switch {
	case err != nil:
		return err
	case kind == diff.OfTexts:
		return diffTexts(e, c, o, files)
	}
	return diffRecordings(e, c, o, files)
}

// diffRecordings is diff for recordings.
func diffRecordings(e *env, c *cobra.Command, o *diffOptions, files [2]string) error {
	target, err := o.filter.Recorded(o.filter.given(c))
	if err != nil {
		return err
	}
	q := diff.Ask{Files: files, Target: target}
	for i, flags := range [2][2]string{{"from", "to"}, {"from-b", "to-b"}} {
		q.Spans[i] = replay.Interval{From: o.from[i], To: o.to[i], FromFlag: flags[0], ToFlag: flags[1]}
	}
	d, err := diff.Recordings(newOpener(e, o.dir), &q)
	if err != nil {
		return err
	}
	if err := printDifference(e, o, d); err != nil || o.output == "" {
		return err
	}
	return output.Report(e.stdout, e.stderr, o.output, show.DifferencePage(d, o.all))
}

// printDifference writes it in one of the forms.
func printDifference(e *env, o *diffOptions, d *diff.Difference) error {
	if o.format == "json" {
		if !o.all {
			d.LeaveUnclear()
		}
		return writeJSON(e.stdout, d)
	}
	style := console.Style(e.stdout, os.Getenv, console.WidestText)
	return text.WriteTables(e.stdout, d.Tables(o.all, style.Width < roomy), style)
}

// diffTexts judges two texts, each as one case, and says what differs.
func diffTexts(e *env, c *cobra.Command, o *diffOptions, files [2]string) error {
	if o.output != "" {
		return &ask.Error{Err: errors.New("reading --output: a page needs two recordings"), Next: "leave it out, or redirect the output with '> FILE'"}
	}
	if o.from != [2]string{} || o.to != [2]string{} || o.filter.Comm != "" || o.filter.Cgroup != "" || o.all {
		return &ask.Error{Err: errors.New("reading the flags: texts can only be compared as a whole"), Next: "leave --from, --to, --comm, --cgroup and --all out"}
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	var texts []*parse.Text
	var cases []*parse.Case
	for _, name := range files {
		t, err := readOne(ctx, e.streams, []string{name}, &parse.Reader{Tools: parse.List()})
		if err != nil {
			return err
		}
		found, _ := parse.Cases([]*parse.Text{t}, true)
		if len(found) == 0 {
			return read.Nothing([]*parse.Text{t})
		}
		texts, cases = append(texts, t), append(cases, found...)
	}
	show.Faults(e.stderr, texts)
	return printCases(e.stdout, texts, read.Judge(e.host, cases), &readOptions{format: o.format})
}
