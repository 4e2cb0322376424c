package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/tool/diff"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	filter   filter
	from, to [2]string // of A and of B
	all      bool
	format   string
	dir      string
}

// times tells whether times are chosen.
func (o *diffOptions) times() bool { return o.from != [2]string{} || o.to != [2]string{} }

func newDiffCommand(e *env) *cobra.Command {
	o := &diffOptions{}
	c := &cobra.Command{
		Use:     "diff A [B]",
		Short:   "Compare two recordings, two times of one, or two texts",
		Long:    helpOf("diff"),
		Example: examplesOf("diff"),
		Args:    func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE:    func(c *cobra.Command, args []string) error { return runDiff(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.from[0], "from", "", "begin there in A")
	f.StringVar(&o.to[0], "to", "", "end there in A")
	f.StringVar(&o.from[1], "from-b", "", "begin there in B")
	f.StringVar(&o.to[1], "to-b", "", "end there in B")
	f.StringVar(&o.filter.Comm, "comm", "", "compare processes of this name")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "compare processes below this cgroup")
	f.StringVar(&o.dir, "dir", stateDir, "the agent's folder")
	f.BoolVar(&o.all, "all", false, "show every figure, not only those that stand out")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func (o *diffOptions) check(args []string) error {
	switch {
	case len(args) == 0 && !o.times():
		return &usageError{errors.New("reading the arguments: nothing to compare is named"), "give two recordings, or two times with --from, --to, --from-b and --to-b"}
	case len(args) > 2:
		return &usageError{fmt.Errorf("reading the arguments: %q is one too many", args[2]), "give two recordings"}
	case len(args) < 2 && o.times() && o.from[0] == o.from[1] && o.to[0] == o.to[1]:
		return alone()
	}
	return checkFormat(o.format)
}

func alone() error {
	return &usageError{errors.New("reading the arguments: there is nothing to compare it with"), "give a second recording, or --from-b and --to-b for another time of this one"}
}

// diffable is a kind of file that can be compared, told by how it begins.
type diffable struct {
	name string
	is   func(beginning []byte) bool
	diff func(e *env, c *cobra.Command, o *diffOptions, files [2]string) error
}

// recordedKind are files, and folders of an agent, that can be played.
const recordedKind = "a recording of iocause"

func diffables() []diffable {
	return []diffable{
		{recordedKind, isRecorded, diffRecordings},
		{"a text with the output of tools", hasOutput, diffTexts},
	}
}

// isRecorded tells recordings, and incidents, which hold one.
func isRecorded(beginning []byte) bool { return recording.Is(beginning) || incidents.Is(beginning) }

// runDiff finds out what the files are and compares them.
func runDiff(e *env, c *cobra.Command, o *diffOptions, args []string) error {
	if len(args) == 0 {
		args = []string{o.dir}
	}
	files := [2]string{args[0], args[len(args)-1]}
	for i, name := range files {
		files[i] = replay.Numbered(o.dir, name)
	}
	for _, kind := range diffables() {
		var is [2]bool
		for i, name := range files {
			if console.IsDirectory(name) {
				is[i] = kind.name == recordedKind
				continue
			}
			beginning, err := beginningOf(name)
			if err != nil {
				return err
			}
			if len(args) == 1 && !o.times() && !incidents.Is(beginning) {
				return alone()
			}
			is[i] = kind.is(beginning)
		}
		switch {
		case is[0] && is[1]:
			return kind.diff(e, c, o, files)
		case is[0] || is[1]:
			other := files[0]
			if is[0] {
				other = files[1]
			}
			return fmt.Errorf("comparing the files: %q is not %s; give two of the same kind", other, kind.name)
		}
	}
	return fmt.Errorf("comparing the files: %q is not what 'iocause record' has made, and holds no output of a tool that 'iocause read' knows; stacks are compared by 'iocause flame A B'", files[0])
}

// beginningOf is enough of a file to tell what it is.
func beginningOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("comparing the files: %w", err)
	}
	defer f.Close()
	b := make([]byte, 64<<10)
	n, err := io.ReadFull(f, b)
	if err != nil && n == 0 {
		return nil, fmt.Errorf("comparing the files: reading the beginning of %s: %w", name, err)
	}
	return b[:n], nil
}

// diffRecordings is diff for recordings.
func diffRecordings(e *env, c *cobra.Command, o *diffOptions, files [2]string) error {
	target, err := o.filter.Recorded(o.filter.given(c))
	if err != nil {
		return err
	}
	q := diff.Ask{Files: files, Target: target}
	for i, flags := range [2][2]string{{"from", "to"}, {"from-b", "to-b"}} {
		q.Spans[i] = replay.Span{From: o.from[i], To: o.to[i], FromFlag: flags[0], ToFlag: flags[1]}
	}
	d, err := diff.Recordings(newOpener(e, o.dir), &q)
	if err != nil {
		return err
	}
	if o.format == "json" {
		if !o.all {
			d.LeaveUnclear()
		}
		return writeJSON(e.stdout, d)
	}
	style := console.Style(e.stdout, os.Getenv, console.WidestText)
	for i, t := range d.Tables(o.all, style.Width < roomy) {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		if err := text.WriteTable(e.stdout, &t, style); err != nil {
			return err
		}
	}
	return nil
}
