package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/incident"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
)

// captureOptions are the flags of capture.
type captureOptions struct {
	length         time.Duration
	note, dir, out string
}

func newCaptureCommand(e *env) *cobra.Command {
	o := &captureOptions{}
	c := &cobra.Command{
		Use:   "capture [flags]",
		Short: "Keep what happens now as an incident",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runCapture(c.Context(), e, o) },
	}
	f := c.Flags()
	f.Var(ask.TimeIn(&o.length, 10*time.Second).From(shortest, goodLength), "duration", "how long all probes watch")
	f.StringVar(&o.note, "note", "", "text to keep with the incident")
	f.StringVarP(&o.out, "output", "o", "", "keep it in this file")
	f.StringVar(&o.dir, "dir", stateDir, "the agent's directory")
	return c
}

func (o *captureOptions) check() error {
	if o.length > time.Hour {
		return &ask.Error{Err: fmt.Errorf("reading --duration: %v is longer than 1h", o.length), Next: goodLength}
	}
	if o.out == "" {
		return nil
	}
	if _, err := os.Lstat(o.out); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing %s: it exists already, or cannot be examined; give another name", o.out)
	}
	if dir := filepath.Dir(o.out); !console.IsDirectory(dir) {
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a directory", dir), Next: "create it, or choose another"}
	}
	return nil
}

func runCapture(parent context.Context, e *env, o *captureOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	ctx, stop := session.UntilInterrupt(parent, nil)
	defer stop()
	began := e.host.Now()
	fmt.Fprintf(e.stderr, "iocause: watching for %s, then gathering evidence for about %s\n",
		table.Duration(o.length.Seconds()), table.Duration(incident.Watching(evidenceKinds(e.host), o.length).Seconds()))
	x, err := newIncidentJudge(e).Capture(ctx, o.length, o.note, o.dir, began)
	if err != nil {
		return err
	}
	how := o.out
	if o.out != "" {
		if err := incidents.SaveFile(o.out, x); err != nil {
			return fmt.Errorf("writing %s: %w", o.out, err)
		}
	} else if err := incident.Save(o.dir, x); err != nil {
		return err
	} else {
		how = fmt.Sprint(x.Meta.Number)
		if o.dir != stateDir {
			how += " --dir " + o.dir
		}
	}
	_, err = fmt.Fprintf(e.stdout, "%s\nKept; see: iocause incident %s\n", text.Escape(x.Meta.Title), text.Escape(how))
	return err
}
