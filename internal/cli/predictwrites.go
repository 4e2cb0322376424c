package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/output"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/table"
	"iocause/internal/tool/predict"
)

// writesLength is how long predict --writes watches unless told otherwise.
const writesLength = 10 * time.Second

// runPredictWrites is predict --writes.
func runPredictWrites(e *env, c *cobra.Command, o *predictOptions) error {
	for _, name := range []string{"pid", "comm", "cgroup", "file", "memory"} {
		if c.Flags().Changed(name) {
			return &ask.Error{Err: fmt.Errorf("reading the flags: --writes and --%s exclude each other: the limits of dirty memory are the host's", name), Next: "leave one of them out"}
		}
	}
	if !c.Flags().Changed("duration") {
		o.duration = writesLength
	}
	watch, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	look, err := predict.LookAtWrites(e.host)
	if err != nil {
		return err
	}
	line := console.NewProgress(e.stderr, o.duration, nil)
	loop := session.Loop{Every: o.duration, Count: 1, Tick: time.Second / 4, During: look.Poll, Show: func(elapsed time.Duration) {
		line.Draw(func() string {
			return fmt.Sprintf("observing %.0f of %s", elapsed.Seconds(), table.Duration(o.duration.Seconds()))
		})
	}}
	return loop.Run(watch, func(i session.Interval) error {
		line.Erase()
		if watch.Err() != nil && i.Length < session.Shortest {
			return session.TooEarly(watch)
		}
		w, err := look.Predict(float64(o.rate))
		if err != nil {
			return err
		}
		if err := printWrites(e, w, o.format); err != nil || o.output == "" {
			return err
		}
		return output.Report(e.stdout, e.stderr, o.output, show.WritesPage(w))
	})
}

// printWrites writes it in one of the forms.
func printWrites(e *env, w *predict.Writes, format string) error {
	switch format {
	case "json":
		return writeJSONLine(e.stdout, w)
	case "csv":
		return printCurve(e, w.Start, w.Seconds, w.Table())
	}
	return show.Writes(e.stdout, w, console.Style(e.stdout, os.Getenv, console.WidestText))
}
