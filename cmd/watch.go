package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/view"
)

// tool is an observation command that shows a view of every interval.
type tool struct {
	name, short, long, example string
	sources                    []string // of source.List
	by                         []string // rows to choose from, the first by default; nil for no choice
	sort                       string   // column, "" as the view has it
	view                       func(*sample.Window, *view.Query) []text.Table
}

// tools are the observation commands that read the same sources as diagnose.
func tools() []tool {
	return []tool{
		cacheTool(), diskTool(),
	}
}

// watchOptions are the flags of an observation command.
type watchOptions struct {
	intervals
	filter filter
	file   string
	by     string
}

func (a *app) newTool(t *tool) *cobra.Command {
	o := &watchOptions{}
	c := &cobra.Command{
		Use: t.name + " " + intervalUsage, Short: t.short, Long: t.long + "\n\n" + intervalHelp, Example: t.example,
		RunE: func(c *cobra.Command, args []string) error { return a.watch(c, t, o, args) },
	}
	f := c.Flags()
	if len(t.by) > 0 {
		f.StringVar(&o.by, "by", t.by[0], "what the rows are: "+strings.Join(t.by, ", "))
	}
	o.filter.bind(c)
	f.StringVar(&o.file, "file", "", "show this file, all below this directory, or what this pattern matches")
	o.intervals.bind(c, t.sort)
	return c
}

// watch observes interval after interval and shows the view of each.
func (a *app) watch(c *cobra.Command, t *tool, o *watchOptions, args []string) error {
	if err := o.args(args); err != nil {
		return err
	}
	if len(t.by) > 0 && !slices.Contains(t.by, o.by) {
		return &usageError{fmt.Errorf("reading --by: rows cannot be by %q", o.by), "use " + strings.Join(t.by, ", ")}
	}
	target, err := o.filter.target(a.host, o.filter.given(c))
	if err != nil {
		return err
	}
	q := &view.Query{PIDs: target.PIDs, Comm: target.Comm, Cgroup: target.Cgroup, Device: target.Device, File: o.file, By: o.by}
	watch, stop := untilInterrupt(c.Context(), nil)
	defer stop()
	open, cancel := context.WithTimeout(watch, openLimit)
	defer cancel()
	collector := source.Open(open, a.host, chosen(a.sources, t.sources))
	defer collector.Close()
	a.noteRefusals(collector.Statuses())
	if watch.Err() != nil {
		return tooEarly(watch)
	}
	out := a.newPrinter(&o.intervals)
	var total sample.Total
	laps := 0
	collector.Begin()
	err = collector.Laps(watch, o.every, o.count, func(w *sample.Window) error {
		if watch.Err() != nil && laps == 0 && w.Length < shortest {
			return tooEarly(watch)
		}
		laps++
		total.Add(w)
		return out.print(w.Start, w.Length, "", t.view(w, q))
	})
	if err != nil {
		return err
	}
	if laps > 1 && o.count == 0 && o.format == "text" {
		w := total.Window()
		return out.print(w.Start, w.Length, fmt.Sprintf("in all, %s:", text.Duration(w.Seconds())), t.view(w, q))
	}
	return nil
}

// chosen are the sources of these names, in the order of the list.
func chosen(all []source.Entry, names []string) []source.Entry {
	var some []source.Entry
	for _, e := range all {
		if slices.Contains(names, e.Name) {
			some = append(some, e)
		}
	}
	return some
}

func cacheTool() tool {
	return tool{
		name: "cache", short: "Page cache: hits, what came from disk, what was wasted, pushed out and read again",
		long: "Cache shows the exact account of the page cache. A page counts as a hit unless\n" +
			"it had come from disk since it was last used: data read once shows 0 %, however\n" +
			"well read-ahead works. READ is what read calls asked for, COLD what of it came\n" +
			"from disk, FILLED what was read into the cache, AMPL how much of that for one\n" +
			"page used, WASTED what was dropped before anybody used it, EVICT what memory\n" +
			"pressure pushed out, REREAD what came back after that, WAIT how many threads\n" +
			"waited for it on average. Hits through mappings leave no trace and are not\n" +
			"counted; MAPPED is what mappings used from disk.",
		example: "  iocause cache\n  iocause cache 1\n  iocause cache 5 12 --by file --sort cold_bytes_per_s\n" +
			"  iocause cache 1 --pid 1234 --format json\n  iocause cache --by cgroup --top 5",
		sources: view.CacheSources(), by: view.CacheBy(), view: view.Cache,
	}
}

func diskTool() tool {
	return tool{
		name: "disk", short: "Block devices: rates, latency in queue and device, depth, sizes, and who uses them",
		long: "Disk shows the block devices that did something, and who used them. r_await and\n" +
			"w_await are the kernel's own figures from the queue's entry to the end; queue\n" +
			"and device split them where the kernel issued the request. depth is the mean\n" +
			"number of I/Os under way. %util is the share of time with at least one: of a\n" +
			"device that serves many at once it says nothing about how much is left. seq is\n" +
			"the share of I/Os that began where the process's last one ended. --by latency\n" +
			"and --by size show histograms.",
		example: "  iocause disk\n  iocause disk 1 --device nvme0n1\n  iocause disk 5 1 --by latency\n" +
			"  iocause disk 1 10 --by cgroup --format csv\n  iocause disk 10 1 --by file --top 0",
		sources: view.DiskSources(), by: view.DiskBy(), view: view.Disk,
	}
}
