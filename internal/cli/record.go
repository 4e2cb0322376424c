package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/output"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/source"
	"iocause/internal/store/recording"
	"iocause/internal/tool/record"
	"iocause/internal/version"
)

// recordOptions are the flags of record.
type recordOptions struct {
	output   string
	interval time.Duration
	duration time.Duration // 0: until the command or Ctrl-C ends it
}

func newRecordCommand(e *env) *cobra.Command {
	o := &recordOptions{}
	c := &cobra.Command{
		Use:   "record [flags] [-- COMMAND ...]",
		Short: "Record what diagnose reads, to replay it later",
		Args: func(c *cobra.Command, args []string) error {
			if before := argsBeforeDash(c, args); len(before) > 0 {
				return &ask.Error{Err: fmt.Errorf("reading the arguments: %q is not a flag", before[0]), Next: orDuration(c, before[0], "put -- before a command to record; see 'iocause record --help'")}
			}
			return checkCommandGiven(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return runRecord(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "file to write; - is stdout (default iocause-TIME"+recording.Suffix+")")
	f.Var(ask.TimeIn(&o.interval, time.Second).From(shortest, "give 100ms or more; 1s is a good start"), "interval", "length of a window")
	f.Var(ask.TimeIn(&o.duration, 0).From(shortest, "give 100ms or more, or 0 for no limit"), "duration", "how long to record; 0: until Ctrl-C or the end of COMMAND")
	return c
}

// recordRun is one recording on its way to its file.
type recordRun struct {
	record.Recorder
	env  *env
	o    *recordOptions
	line *session.Line
}

// runRecord is the command.
func runRecord(e *env, c *cobra.Command, o *recordOptions, args []string) (err error) {
	r := &recordRun{env: e, o: o, line: console.NewLine(e.stderr)}
	r.Recorder = record.Recorder{Host: e.host, Program: version.Program(), OpenLimit: openLimit(), Interval: o.interval, Duration: o.duration,
		Opened: func(all []source.Status) { noteRefusals(e.stderr, all) },
		Begun: func() {
			r.line.InPlace = r.line.InPlace && r.Child == nil // a command writes to the same terminal
			r.line.Say(show.Begun(&r.Recorder))
		},
		Seen: func(w *sample.Window) { r.line.Draw(func() string { return show.Recording(&r.Recorder, w) }) },
		Note: func(err error) {
			fmt.Fprintf(e.stderr, "iocause: reading the fingerprint of this machine: %v; the recording lacks that part\n", err)
		}}
	if len(args) > 0 {
		to := e.stdout
		if o.output == "-" {
			to = e.stderr
		}
		if r.Child, err = newChild(e.streams, args, to); err != nil {
			return err
		}
	}
	file, err := r.create()
	if err != nil {
		return err
	}
	r.File = file
	watch, stop := session.UntilInterrupt(c.Context(), func(s os.Signal) { r.Child.Signal(s) })
	defer stop()
	err = r.Run(watch, e.sources)
	r.line.Erase()
	err = errors.Join(err, file.Close())
	if r.To != nil {
		r.say(show.Recorded(&r.Recorder))
	}
	if r.Child.PID() == 0 {
		return err
	}
	code := waitForChild(watch, e.stderr, r.Child)
	r.say(show.Used(&r.Recorder))
	if err == nil && code != 0 {
		return &exitError{code}
	}
	return err
}

// create makes the file.
func (r *recordRun) create() (output.KeptFile, error) {
	r.Name = r.o.output
	if r.Name == "" {
		r.Name = "iocause-" + r.env.host.Now().Format("20060102-150405") + recording.Suffix
	}
	return output.Kept(r.env.stdout, r.Name, "recording", func(f *os.File) error {
		first := make([]byte, 32)
		if n, _ := f.ReadAt(first, 0); !recording.Is(first[:n]) {
			return recording.ErrFormat
		}
		return nil
	})
}

// say says something, if there is anything to say.
func (r *recordRun) say(what string) {
	if what != "" {
		fmt.Fprintf(r.env.stderr, "iocause: %s\n", what)
	}
}
