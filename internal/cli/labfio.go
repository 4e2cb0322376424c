package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab/fiojson"
	"iocause/internal/session"
)

type fioOptions struct {
	noDiagnose bool
	format     string
}

func newLabFioCommand(e *env) *cobra.Command {
	o := &fioOptions{}
	c := &cobra.Command{
		Use:   "fio JOB.fio [-- FIO-FLAGS ...]",
		Short: "Run fio's jobs, show their results and diagnose them",
		Args: func(c *cobra.Command, args []string) error {
			if len(argsBeforeDash(c, args)) != 1 {
				return &ask.Error{Err: errors.New("reading the arguments: exactly one job file is needed"), Next: "give one JOB.fio, and fio's flags after --"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runLabFio(e, c, o, args) },
	}
	c.Flags().BoolVar(&o.noDiagnose, "no-diagnose", false, "run the jobs only")
	c.Flags().Var(ask.Formats(&o.format, "json"), "format", "text or json")
	return c
}

func runLabFio(e *env, c *cobra.Command, o *fioOptions, args []string) (err error) {
	job, err := fiojson.Prepare(args[0], args[1:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	notes := &fiojson.Notes{To: e.stderr}
	report, code, err := runFio(e, c, o, job.Command, notes)
	if err != nil {
		return err
	}
	out, failed, err := job.Ended(code, notes)
	if err != nil {
		return err
	}
	return errors.Join(printFio(e.stdout, o, out, report), failed)
}

// runFio runs the command, with the diagnosis beside it. report is what that
// prints, code fio's exit code; notes get what fio prints.
func runFio(e *env, c *cobra.Command, o *fioOptions, command []string, notes io.Writer) (report []byte, code int, err error) {
	inner := *e
	inner.stderr = notes
	if !o.noDiagnose {
		kept := &console.Held{Of: e.stdout}
		inner.stdout = kept
		// There is no --duration here, so fio is watched until it ends.
		err := runDiagnose(&inner, c, &diagnoseOptions{duration: usualLength, format: o.format, exitCode: true}, command)
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

func printFio(stdout io.Writer, o *fioOptions, out *fiojson.Output, report []byte) error {
	t := out.Table()
	if o.format == "text" {
		if len(report) > 0 {
			fmt.Fprintf(stdout, "%s\n", report)
		}
		return writeTable(stdout, t)
	}
	object := map[string]any{"fio_version": out.Version, "jobs": t.Object()}
	if report != nil {
		object["diagnosis"] = json.RawMessage(report)
	}
	return writeJSON(stdout, object)
}
