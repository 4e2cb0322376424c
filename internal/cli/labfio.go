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
	"sync"

	"github.com/spf13/cobra"

	"iocause/internal/lab/fiojson"
	"iocause/internal/present/text"
	"iocause/internal/session"
)

type fioOptions struct {
	noDiagnose bool
	format     string
}

func newLabFioCommand(e *env) *cobra.Command {
	o := &fioOptions{}
	c := &cobra.Command{
		Use:     "fio JOB.fio [-- FIO-FLAGS ...]",
		Short:   "Run fio's jobs, show what they reached and diagnose them",
		Long:    helpOf("lab-fio"),
		Example: examplesOf("lab-fio"),
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
		failed = fmt.Errorf("running fio: it ended with exit code %d: %s", code, text.Escape(out.Says(notes.kept, b)))
	default:
		// What was watched is a machine on which nothing was done: that it is
		// healthy would be no answer.
		return fmt.Errorf("running fio: it ended with exit code %d and made no requests, so there is nothing to diagnose: %s", code, text.Escape(out.Says(notes.kept, b)))
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

func printFio(stdout io.Writer, o *fioOptions, out *fiojson.Output, report []byte) error {
	t := out.Table()
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
