package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/view"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	filter   filter
	from, to [2]string // of A and of B
	all      bool
	format   string
}

func newDiffCommand(a *app) *cobra.Command {
	o := &diffOptions{}
	c := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two recordings, two times of one, or two texts",
		Long: "Diff compares two files of 'iocause record', or two times of one file: what is\n" +
			"wrong in each, the figures whose change stands out, and the settings of the\n" +
			"machines that differ. Of recorded commands it compares the commands, else the\n" +
			"whole machine, unless a filter is given. Two texts with the output of other\n" +
			"tools are judged as 'iocause read' does, each as one case, and compared.\n\n" +
			"A change stands out when the figure of the whole time differs by a tenth at\n" +
			"least, and nine of ten pairs of windows, one of each side, differ in the same\n" +
			"direction. Sizes and limits are compared as they are. --all shows every figure.\n" +
			"B is judged knowing A: whether its device became slower for the same requests,\n" +
			"and which settings that differ can be behind a slowdown.\n\n" + spanHelp,
		Example: `  iocause diff before.iocause after.iocause
  iocause diff night.iocause --from 02:00 --to 02:10 --from-b 04:00 --to-b 04:10
  iocause diff a.iocause b.iocause --comm postgres
  iocause diff slow.txt fast.txt
  iocause diff a.iocause b.iocause --format json --all | jq .figures`,
		Args: func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE: func(c *cobra.Command, args []string) error { return a.diff(c, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.from[0], "from", "", "begin there in A")
	f.StringVar(&o.to[0], "to", "", "end there in A")
	f.StringVar(&o.from[1], "from-b", "", "begin there in B")
	f.StringVar(&o.to[1], "to-b", "", "end there in B")
	f.StringVar(&o.filter.comm, "comm", "", "compare processes of this name")
	f.StringVar(&o.filter.cgroup, "cgroup", "", "compare processes below this cgroup")
	f.BoolVar(&o.all, "all", false, "show every figure, not only those that stand out")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.SortFlags = false
	return c
}

func (o *diffOptions) check(args []string) error {
	switch {
	case len(args) == 0:
		return &usageError{errors.New("reading the arguments: nothing to compare is named"), "give two recordings"}
	case len(args) > 2:
		return &usageError{fmt.Errorf("reading the arguments: %q is one too many", args[2]), "give two recordings"}
	case len(args) == 1 && o.from == [2]string{o.from[0], o.from[0]} && o.to == [2]string{o.to[0], o.to[0]}:
		return &usageError{errors.New("reading the arguments: there is nothing to compare it with"), "give a second recording, or --from-b and --to-b for another time of this one"}
	}
	return checkFormat(o.format)
}

// diffable is a kind of file that can be compared, told by how it begins.
type diffable struct {
	name string
	is   func(beginning []byte) bool
	diff func(c *cobra.Command, o *diffOptions, files [2]string) error
}

func (a *app) diffables() []diffable {
	return []diffable{
		{"a recording of iocause", recording.Is, a.diffRecordings},
		{"a text with the output of tools", isTold, a.diffTexts},
	}
}

// diff finds out what the files are and compares them.
func (a *app) diff(c *cobra.Command, o *diffOptions, args []string) error {
	files := [2]string{args[0], args[len(args)-1]}
	for _, kind := range a.diffables() {
		var is [2]bool
		for i, name := range files {
			beginning, err := beginningOf(name)
			if err != nil {
				return err
			}
			is[i] = kind.is(beginning)
		}
		switch {
		case is[0] && is[1]:
			return kind.diff(c, o, files)
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

// diffSide is one side of a comparison.
type diffSide struct {
	name    string
	header  recording.Header
	found   *judgement
	whole   []view.Figure        // of the span
	values  map[string][]float64 // of its windows, by the figure's key
	windows int
	// ofCommand tells that without a filter the command is asked for, not the machine.
	ofCommand bool
}

// diffRecordings is diff for recordings.
func (a *app) diffRecordings(c *cobra.Command, o *diffOptions, files [2]string) error {
	given := o.filter.given(c)
	target, err := o.filter.recordedTarget(given)
	if err != nil {
		return err
	}
	var sides [2]*diffSide
	commands := 0
	for i, name := range files {
		header, err := a.headerOf(name)
		if err != nil {
			return err
		}
		if header.Command != nil {
			commands++
		}
		sides[i] = &diffSide{name: name, header: header, values: map[string][]float64{}}
	}
	for i, s := range sides {
		// like is compared with like: a command with a command, a machine with a machine
		s.ofCommand = commands == 2
		var before *past
		if i == 1 { // what came first is not judged by what came after it
			before = &past{judgement: sides[0].found, name: sides[0].name, fingerprint: sides[0].found.report.Host}
		}
		if err := s.read(a, o, i, target, before); err != nil {
			return err
		}
	}
	d, err := compareSides(sides)
	if err != nil {
		return err
	}
	if o.format == "json" {
		if !o.all {
			d.leaveUnclear()
		}
		return writeJSON(a.stdout, d)
	}
	return a.writeDiff(d, o)
}

// read reads a side twice: to judge it, which also says whose it is, and for
// the figures of its windows.
func (s *diffSide) read(a *app, o *diffOptions, i int, target diagnose.Target, before *past) error {
	flags := [2][2]string{{"from", "to"}, {"from-b", "to-b"}}[i]
	p, err := a.playSpan(s.name, o.from[i], o.to[i], flags[0], flags[1])
	if err != nil {
		return err
	}
	s.found, err = p.judge(target, s.ofCommand, before)
	if err = errors.Join(err, p.close()); err != nil {
		return err
	}
	scope := scopeOf(s.found.window, s.found.target)
	s.whole = view.Figures(s.found.window, scope)
	if p, err = a.playSpan(s.name, o.from[i], o.to[i], flags[0], flags[1]); err != nil {
		return err
	}
	err = p.each(func(r *recording.Record) error {
		s.windows++
		if r.Window.Length < time.Duration(s.header.Interval*float64(time.Second))/2 {
			return nil // the last, cut short: its rates are those of a moment
		}
		for _, f := range view.Figures(r.Window, scope) {
			s.values[f.Key] = append(s.values[f.Key], f.Value)
		}
		return nil
	})
	return errors.Join(err, p.file.Close())
}

// headerOf is what a recording says at its beginning.
func (a *app) headerOf(name string) (recording.Header, error) {
	p, err := a.playSpan(name, "", "", "", "")
	if err != nil {
		return recording.Header{}, err
	}
	return p.Header(), p.file.Close()
}

// scopeOf are the processes that a target means, nil for the whole machine.
func scopeOf(w *sample.Window, t diagnose.Target) view.Scope {
	if len(t.PIDs) == 0 && t.Comm == "" && t.Cgroup == "" {
		return nil
	}
	scope := view.Scope{}
	for _, pid := range t.PIDs {
		scope[pid] = true
	}
	top := strings.TrimSuffix(t.Cgroup, "/") + "/"
	for pid, p := range w.Processes {
		if t.Comm != "" && p.Comm == t.Comm ||
			t.Cgroup != "" && (strings.HasPrefix(p.MemoryCgroup+"/", top) || strings.HasPrefix(p.IOCgroup+"/", top)) {
			scope[pid] = true
		}
	}
	return scope
}
