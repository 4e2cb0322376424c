package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source"
	"iocause/internal/store/recording"
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
		Short: "Keep all that diagnose looks at, to look at it later",
		Long: "Record writes what diagnose and the observation commands look at to a file,\n" +
			"window by window. They answer from it with --recording FILE as they would have\n" +
			"live, and 'iocause diff' compares two such files.\n\n" +
			"With a COMMAND it starts that, records until it ends, says what it used, and\n" +
			"exits with its code; without, it records for --duration or until Ctrl-C. Either\n" +
			"way the file is whole; after kill -9 it lacks the last window. Only its owner\n" +
			"may read it. It holds names of processes, files and cgroups, but no data and no\n" +
			"arguments of commands.",
		Example: `  iocause record
  iocause record -o night.iocause --interval 10s --duration 8h
  iocause record -o before.iocause -- tar cf /tmp/home.tar /home
  iocause diagnose --recording before.iocause
  iocause cache 10 --recording night.iocause --from 02:00 --to 02:10`,
		Args: func(c *cobra.Command, args []string) error {
			if before := argsBeforeDash(c, args); len(before) > 0 {
				return &usageError{fmt.Errorf("reading the arguments: %q is no flag", before[0]),
					"put -- before a command to record; see 'iocause record --help'"}
			}
			return checkCommandGiven(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return runRecord(e, c, o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "file to write; - is stdout\n(default iocause-TIME"+recording.Suffix+")")
	f.Var(timeIn(&o.interval, time.Second), "interval", "length of a window")
	f.Var(timeIn(&o.duration, 0), "duration", "how long to record; 0 until Ctrl-C, or the end of\nCOMMAND")
	f.SortFlags = false
	return c
}

func (o *recordOptions) check() error {
	switch {
	case o.interval < shortest:
		return &usageError{fmt.Errorf("reading --interval: %v is too short to see anything", o.interval), "use 100ms or more; 1s is a good start"}
	case o.duration != 0 && o.duration < shortest:
		return &usageError{fmt.Errorf("reading --duration: %v is too short to see anything", o.duration), "use 100ms or more, or 0 for no limit"}
	}
	return nil
}

// recordRun is one recording on its way to its file.
type recordRun struct {
	env   *env
	o     *recordOptions
	name  string
	file  *os.File
	to    *recording.Writer
	child *session.Child // nil without a command
	began time.Time
	cpu   float64 // seconds of our own so far
}

// runRecord is the command.
func runRecord(e *env, c *cobra.Command, o *recordOptions, args []string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	r := &recordRun{env: e, o: o}
	if len(args) > 0 {
		to := e.stdout
		if o.output == "-" {
			to = e.stderr
		}
		if r.child, err = newChild(e.streams, args, to); err != nil {
			return err
		}
	}
	if err := r.create(); err != nil {
		return err
	}
	watch, stop := session.UntilInterrupt(c.Context(), func(s os.Signal) { r.child.Signal(s) })
	defer stop()
	err = r.run(watch)
	if r.file != e.stdout {
		err = errors.Join(err, closeRecording(r.file))
	}
	switch {
	case r.to != nil:
		r.sayRecorded()
	case r.file != e.stdout:
		err = errors.Join(err, os.Remove(r.name)) // it is empty
	}
	if r.child.PID() == 0 {
		return err
	}
	code := waitForChild(watch, e.stderr, r.child)
	r.sayUsed()
	if err == nil && code != 0 {
		return &exitError{code}
	}
	return err
}

func closeRecording(f *os.File) error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

// create makes the file.
func (r *recordRun) create() (err error) {
	r.name = r.o.output
	if r.name == "-" {
		out, ok := r.env.stdout.(*os.File)
		if _, isTerminal := terminalWidth(r.env.stdout); !ok || isTerminal {
			return &usageError{errors.New("writing the recording: standard output is a terminal"), "give a file, or lead it into a pipe"}
		}
		r.file = out
		return nil
	}
	if r.name == "" {
		r.name = "iocause-" + r.env.host.Now().Format("20060102-150405") + recording.Suffix
	}
	r.file, err = createKept(r.name, "recording", func(f *os.File) error {
		first := make([]byte, 32)
		if n, _ := f.ReadAt(first, 0); !recording.Is(first[:n]) {
			return recording.ErrFormat
		}
		return nil
	})
	return err
}

// run observes until it is over.
func (r *recordRun) run(watch context.Context) error {
	open, cancel := context.WithTimeout(watch, openLimit())
	defer cancel()
	entries := append(slices.Clone(r.env.sources), source.Others()...)
	collector := source.Open(open, r.env.host, entries)
	defer collector.Close()
	collector.StandIn(source.StandIns())
	if watch.Err() != nil {
		return session.TooEarly(watch)
	}
	noteRefusals(r.env.stderr, collector.Statuses())
	until, end := context.WithCancel(watch)
	defer end()
	r.began = time.Now()
	collector.Begin()
	if r.child != nil {
		if err := r.child.Start(r.env.host); err != nil {
			return err
		}
		defer r.child.StopTracking()
		go func() {
			select {
			case <-r.child.Done():
				end()
			case <-until.Done():
			}
		}()
	}
	if r.o.duration > 0 {
		timer := time.AfterFunc(r.o.duration, end)
		defer timer.Stop()
	}
	err := r.begin(collector.Statuses())
	if err == nil {
		line := r.newProgress()
		err = collector.Laps(until, r.o.interval, 0, func(w *sample.Window) error {
			line.Draw(func() string { return r.soFar(w) })
			return r.window(w)
		})
		line.Erase()
	}
	if r.child != nil && watch.Err() != nil {
		r.child.Signal(session.SignalOf(watch))
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, r.kept())
	}
	return r.to.End(recording.End{Run: r.ranSo()})
}

// recordingHeader says what made a recording, where, and of what. The error is
// of the machine's fingerprint, of which a part may be there.
func recordingHeader(m *host.Host, all []source.Status, interval time.Duration) (recording.Header, error) {
	h := recording.Header{Program: programName(), Began: m.Now(), Interval: interval.Seconds()}
	fingerprint, failed := m.Fingerprint()
	var err error
	if h.Host, err = json.Marshal(fingerprint); err != nil {
		failed = errors.Join(failed, err)
	}
	for _, s := range all {
		one := recording.Source{Name: s.Name, Metrics: s.Metrics, Gaps: s.Gaps}
		if s.OpenErr != nil {
			one.Gaps = append(one.Gaps, sample.Gap{Source: s.Name, Why: fmt.Sprintf("%s: %v", s.Name, s.OpenErr), Metrics: s.Metrics})
		}
		h.Sources = append(h.Sources, one)
	}
	return h, failed
}

// begin writes the header.
func (r *recordRun) begin(all []source.Status) error {
	h, err := recordingHeader(r.env.host, all, r.o.interval)
	if err != nil {
		fmt.Fprintf(r.env.stderr, "iocause: reading the fingerprint of this machine: %v; the recording lacks that part\n", err)
	}
	if r.child != nil {
		h.Command = &recording.Command{Name: []byte(r.child.Name()), PID: r.child.PID()}
	}
	to, err := recording.NewWriter(r.file, h)
	if err == nil {
		r.to = to
	}
	return err
}

// window writes one window.
func (r *recordRun) window(w *sample.Window) error {
	cost, err := source.ReadCost(r.env.host, w)
	if err != nil {
		w.Gaps = append(w.Gaps, sample.Gap{Why: err.Error()})
	}
	one := &recording.Record{Window: w, Cost: recording.Cost{CPUSeconds: cost.CPUSeconds - r.cpu, RSSBytes: cost.RSSBytes}}
	r.cpu = cost.CPUSeconds
	return r.to.Window(one)
}

// ranSo is how the command went; nil without one.
func (r *recordRun) ranSo() *recording.Run {
	if r.child == nil {
		return nil
	}
	run := &recording.Run{}
	procs := r.child.StopTracking()
	for _, pid := range slices.Sorted(maps.Keys(procs)) {
		run.Processes = append(run.Processes, recording.Process{PID: pid, Comm: []byte(procs[pid])})
	}
	ran, state, ended := r.child.Ended()
	if !ended {
		return run
	}
	run.Ended, run.Exit, run.Seconds = true, r.child.Code(), ran.Seconds()
	run.How = state.String()
	if use, ok := state.SysUsage().(*syscall.Rusage); ok {
		run.User, run.System = seconds(use.Utime), seconds(use.Stime)
		run.MostBytes = use.Maxrss << 10
		run.ReadBytes, run.WriteBytes = use.Inblock*512, use.Oublock*512
		run.MajorFaults = use.Majflt
	}
	return run
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
