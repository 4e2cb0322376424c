package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/recording"
	"iocause/internal/view"
)

// topOptions are the flags of top.
type topOptions struct {
	playback
	rows intervals
	by   string
}

func newTopCommand(a *app) *cobra.Command {
	o := &topOptions{}
	c := &cobra.Command{
		Use:   "top [flags]",
		Short: "Busiest processes and cgroups of any time that the agent kept",
		Long: "Top shows which processes and cgroups did most I/O, from the tables that\n" +
			"'iocause agent' keeps every ten seconds of the 20 busiest of each, for two days:\n" +
			"of the last ten minutes, or of the time from --from to --to. READ and WRITTEN\n" +
			"are bytes from devices and made dirty (/proc/PID/io), CALLS.R and CALLS.W those\n" +
			"of read and write calls, from and to anywhere; WAITED is the time that threads\n" +
			"were blocked on block I/O, where the kernel accounts it; STARTED the time from\n" +
			"boot to the process's start, which tells two processes of one number apart. What\n" +
			"one did in intervals when it was not among the busiest is not in the sums, nor\n" +
			"what a process did that began and ended within an interval, nor after the last\n" +
			"reading before it ended. Cgroups are counted without those below them, on disks\n" +
			"for which the kernel counts it. To watch now, see 'iocause disk --by process'.",
		Example: "  iocause top\n  iocause top --from '2h ago' --to '1h ago'\n" +
			"  iocause top --from 'yesterday 14:00' --to 'yesterday 14:10' --by cgroup\n" +
			"  iocause top --from 14:02 --to 14:03 --sort waited_seconds --format json\n" +
			"  iocause top --recording 17",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.top(c, o) },
	}
	f := c.Flags()
	f.StringVar(&o.by, "by", "", "only this table: process or cgroup")
	f.IntVar(&o.rows.top, "top", 20, "rows of each table, 0 for all")
	f.StringVar(&o.rows.sort, "sort", "", "column, by its name in JSON")
	f.StringVar(&o.rows.format, "format", "text", "text, json or csv (the first table)")
	o.playback.bind(c)
	f.SortFlags = false
	return c
}

// lately is the time that top shows unless it is told another.
const lately = "10m ago"

func (a *app) top(c *cobra.Command, o *topOptions) error {
	if err := o.rows.args(nil); err != nil {
		return err
	}
	if o.by != "" && o.by != "process" && o.by != "cgroup" {
		return &usageError{fmt.Errorf("reading --by: rows cannot be by %q", o.by), "use process or cgroup"}
	}
	if _, err := o.playback.asked(c); err != nil {
		return err
	}
	t := view.NewTop()
	add := func(r *recording.Record) error {
		t.Add(r.Window)
		return nil
	}
	var err error
	if o.file != "" {
		err = a.eachRecorded(&o.playback, add)
	} else {
		err = a.eachTable(&o.playback, add)
	}
	if err != nil {
		return err
	}
	tables := t.Tables()
	switch o.by {
	case "process":
		tables = tables[:1]
	case "cgroup":
		tables = tables[1:]
	}
	from, to := t.Span()
	return a.newPrinter(&o.rows).print(from, to.Sub(from), "from "+replay.Stamp(from)+" to "+replay.Stamp(to)+":", tables)
}

// eachTable hands out the tables that the agent kept.
func (a *app) eachTable(p *playback, f func(*recording.Record) error) error {
	if p.from == "" && p.to == "" {
		p.from = lately
	}
	from, to, err := a.opener(p.dir).Times(p.span())
	if err != nil {
		return err
	}
	some := false
	dir := filepath.Join(p.dir, agent.TablesIn)
	lost, err := recording.EachShelved(dir, from, to, func(r *recording.Record) error {
		some = true
		return f(r)
	})
	for _, l := range lost {
		fmt.Fprintln(a.stderr, "iocause: "+text.Escape(l))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; 'iocause agent' keeps tables of processes and cgroups, --dir says where; to watch now, see 'iocause disk --by process'", err)
	case err != nil:
		return err
	case !some:
		return fmt.Errorf("reading %s: no table was kept from %s to %s", text.Escape(dir), replay.Stamp(from), replay.Stamp(to))
	}
	return nil
}

// eachRecorded hands out the windows of a recording, or those of the tables
// that are kept with an incident.
func (a *app) eachRecorded(p *playback, f func(*recording.Record) error) error {
	one, err := a.playTables(p)
	if err != nil {
		return err
	}
	return errors.Join(one.Each(f), one.Close())
}

func (a *app) playTables(p *playback) (*replay.Playback, error) {
	o := a.opener(p.dir)
	x, err := o.Incident(p.file)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return o.File(p.file, p.span())
	}
	data, err := replay.SectionOf(x, p.file, agent.SectionTop)
	if err != nil {
		return nil, err
	}
	return o.Data(p.file, data, p.span())
}
