package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"iocause/internal/lab/fiojson"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/table"
)

type fioOptions struct {
	noDiagnose bool
	format     string
}

func newLabFioCommand(e *env) *cobra.Command {
	o := &fioOptions{}
	c := &cobra.Command{
		Use:   "fio JOB.fio [-- FIO-FLAGS ...]",
		Short: "Run fio's jobs, show what they reached and diagnose them",
		Long: "Fio runs the jobs of a file with the fio that is installed, watches them as\n" +
			"'iocause diagnose' would, and prints the finding and a table of the jobs. SUBMIT\n" +
			"is from a request's call to its handing over, COMPLETE from there to its end;\n" +
			"of synchronous engines there is only the latter. The files that the jobs make\n" +
			"are fio's affair: see 'unlink' and 'directory' in fio(1).",
		Example: `  iocause lab fio randread.fio
  iocause lab fio randread.fio -- --runtime=30
  iocause lab fio randread.fio --no-diagnose --format json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(argsBeforeDash(c, args)) != 1 {
				return &usageError{errors.New("reading the arguments: which jobs?"), "give one JOB.fio, and fio's flags behind --"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabFio(e, c, o, args) },
	}
	c.Flags().BoolVar(&o.noDiagnose, "no-diagnose", false, "run the jobs only")
	c.Flags().StringVar(&o.format, "format", "text", "text or json")
	c.Flags().SortFlags = false
	return c
}

func runLabFio(e *env, c *cobra.Command, o *fioOptions, args []string) (err error) {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	program, err := exec.LookPath("fio")
	if err != nil {
		return fmt.Errorf("finding fio: %w; install the package fio (apt install fio, dnf install fio)", err)
	}
	if _, err := os.Stat(args[0]); err != nil {
		return fmt.Errorf("finding the jobs: %w", err)
	}
	dir, err := os.MkdirTemp("", "iocause-lab-fio-")
	if err != nil {
		return fmt.Errorf("making a place for fio's output: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "output.json")
	command := slices.Concat([]string{program, "--output-format=json", "--output=" + path}, args[1:], []string{args[0]})

	notes := &echo{to: e.stderr}
	report, code, err := runFio(e, c, o, command, notes)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading what fio wrote: %w", err)
	}
	out, parseErr := fiojson.Parse(bytes.NewReader(b))
	if parseErr != nil {
		out = &fiojson.Output{}
	}
	var failed error
	switch made := slices.ContainsFunc(out.Jobs, func(j fiojson.Job) bool { return len(j.Sides) > 0 }); {
	case made && code == 0:
	case made:
		failed = fmt.Errorf("running fio: it ended with exit code %d: %s", code, fioSays(notes.kept, b, out))
	default:
		// What was watched is a machine on which nothing was done: that it is
		// healthy would be no answer.
		return fmt.Errorf("running fio: it ended with exit code %d and made no requests, so there is nothing to diagnose: %s", code, fioSays(notes.kept, b, out))
	}
	return errors.Join(printFio(e.stdout, o, out, report), failed)
}

// runFio runs the command, with the diagnosis beside it. report is what that
// prints, code fio's exit code; notes get what fio prints.
func runFio(e *env, c *cobra.Command, o *fioOptions, command []string, notes *echo) (report []byte, code int, err error) {
	inner := *e
	inner.stderr = notes
	if !o.noDiagnose {
		kept := &held{of: e.stdout}
		inner.stdout = kept
		// There is no --duration here, so fio is watched until it ends.
		err := runDiagnose(&inner, c, &diagnoseOptions{duration: lookLength, format: o.format, exitCode: true}, command)
		var exit *exitError
		if errors.As(err, &exit) {
			return kept.Bytes(), exit.code, nil
		}
		return kept.Bytes(), 0, err
	}
	ch, err := newChild(inner.streams, command, inner.stderr)
	if err != nil {
		return nil, 0, err
	}
	watch, stop := session.UntilInterrupt(c.Context(), func(s os.Signal) { ch.Signal(s) })
	defer stop()
	if err := ch.Start(e.host); err != nil {
		return nil, 0, err
	}
	defer ch.StopTracking()
	return nil, waitForChild(watch, inner.stderr, ch), nil
}

// echo passes on what is written, by fio and beside it, and keeps the start of it
// but for iocause's own lines. kept is to be read when fio has ended.
type echo struct {
	to   io.Writer
	lock sync.Mutex
	kept []byte
}

func (e *echo) Write(b []byte) (int, error) {
	const most = 4096
	e.lock.Lock()
	defer e.lock.Unlock()
	if !bytes.HasPrefix(b, []byte("iocause: ")) {
		e.kept = append(e.kept, b[:min(len(b), most-len(e.kept))]...)
	}
	return e.to.Write(b)
}

// fioSays is why fio failed: what it wrote to its standard error, or else in front
// of the JSON, and the errors of its jobs.
func fioSays(notes, b []byte, out *fiojson.Output) string {
	words, _, _ := bytes.Cut(append([]byte("\n"), b...), []byte("\n{"))
	if len(bytes.TrimSpace(notes)) > 0 {
		words = notes
	}
	var all []string
	for line := range bytes.Lines(words) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all = append(all, string(line))
		}
	}
	all = all[:min(len(all), fioLines)]
	for i := range out.Jobs {
		if j := &out.Jobs[i]; j.Error != 0 {
			all = append(all, fmt.Sprintf("job %s: %v", j.Name, syscall.Errno(j.Error)))
		}
	}
	if len(all) == 0 {
		return "it does not say why"
	}
	return text.Escape(strings.Join(all, "; "))
}

// fioLines is how many lines of fio's words are repeated.
const fioLines = 6

func printFio(stdout io.Writer, o *fioOptions, out *fiojson.Output, report []byte) error {
	t := fioTable(out)
	if o.format == "text" {
		if len(report) > 0 {
			fmt.Fprintf(stdout, "%s\n", report)
		}
		return text.WriteTable(stdout, t, styleOf(stdout, os.Getenv, widestTable))
	}
	object := map[string]any{"fio_version": out.Version, "jobs": t.Object()}
	if report != nil {
		object["diagnosis"] = json.RawMessage(report)
	}
	return writeJSON(stdout, object)
}

func fioTable(out *fiojson.Output) *table.Table {
	t := &table.Table{
		Key: "jobs", Title: "jobs of " + out.Version, Whole: true,
		Columns: []table.Column{
			{Key: "job", Head: "JOB", Flex: true, Least: 8}, {Key: "direction", Head: "OP"},
			{Key: "requests_per_s", Head: "REQ/S", Unit: "count/s"}, {Key: "bytes_per_s", Head: "BYTES/S", Unit: "bytes/s"},
			{Key: "submit_mean_seconds", Head: "SUBMIT", Unit: "seconds"}, {Key: "submit_max_seconds", Head: "MAX", Unit: "seconds", Drop: 4},
			{Key: "complete_p50_seconds", Head: "COMPLETE P50", Unit: "seconds"}, {Key: "complete_p99_seconds", Head: "P99", Unit: "seconds"},
			{Key: "complete_p999_seconds", Head: "P99.9", Unit: "seconds", Drop: 2}, {Key: "complete_max_seconds", Head: "MAX", Unit: "seconds", Drop: 1},
			{Key: "cpu", Head: "CPU", Unit: "ratio", Drop: 3},
		},
	}
	for i := range out.Jobs {
		j := &out.Jobs[i]
		for k := range j.Sides {
			s := &j.Sides[k]
			quantile := func(q float64) table.Cell { return table.Maybe(s.Complete.At(q)) }
			t.Rows = append(t.Rows, []table.Cell{
				table.Str(j.Name), table.Str(s.Direction), table.Num(s.PerSecond), table.Num(s.BytesPerSec),
				table.Maybe(s.Submit.Mean, s.Submit.N > 0), table.Maybe(s.Submit.Max, s.Submit.N > 0),
				quantile(0.5), quantile(0.99), quantile(0.999), table.Maybe(s.Complete.Max, s.Complete.N > 0), table.Num(j.CPU[0] + j.CPU[1]),
			})
		}
		if j.Error != 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("job %s ended with error %d (%v)", j.Name, j.Error, syscall.Errno(j.Error)))
		}
		if len(j.Sides) == 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("job %s made no requests", j.Name))
		}
	}
	return t
}
