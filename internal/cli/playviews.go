package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/source/probe/pagecache"
	"iocause/internal/table"
	"iocause/internal/view"
)

// playTool shows the views of a recording: of all of it, or of the part that
// is asked for, or interval by interval.
func playTool(here *env, c *cobra.Command, t *tool, o *watchOptions, q *view.Query, target diagnose.Target, args []string) (err error) {
	if t.slow && c.Flags().Changed("slow") && o.slow != pagecache.Slow {
		return &ask.Error{Err: fmt.Errorf("reading --slow: a recording counts accesses that waited %v or longer", pagecache.Slow), Next: "leave it out"}

	}
	ofProbes := t.name != "use" && t.name != "disk"
	if t.name == "cache" && len(o.filter.given(c)) == 0 && !c.Flags().Changed("by") && !c.Flags().Changed("file") && o.playback.file == "" && newOpener(here, o.playback.dir).Has(o.playback.span(), sample.CacheSampledTime) {
		ofProbes = false // an estimate of the host
	}
	from, err := openPlayback(here, &o.playback, ofProbes)
	if err != nil {
		return err
	}
	defer func() {
		if e := from.Close(); err == nil {
			err = e
		}
	}()
	out := newPrinter(here.streams, &o.intervals)
	s := replay.Intervals{Missing: target.Missing, OfDevice: target.Device != "", Show: func(w *sample.Window) error {
		return out.Print(w.Start, w.Length, "", t.view(w, q))
	}}
	if len(args) > 0 {
		s.Every, s.Count = o.every, o.count
	}
	all, err := s.Play(from)
	if err != nil || all == nil || o.format != "text" {
		return err
	}
	return out.Print(all.Start, all.Length, fmt.Sprintf("in all, %s:", table.Duration(all.Seconds())), t.view(all, q))
}
