package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"iocause/internal/agent"
	"iocause/internal/ask"
	"iocause/internal/replay"
	"iocause/internal/tool/top"
)

// topOptions are the flags of top.
type topOptions struct {
	playback
	rows intervals
	by   string
}

func newTopCommand(e *env) *cobra.Command {
	o := &topOptions{}
	c := &cobra.Command{
		Use:   "top [flags]",
		Short: "Busiest processes and cgroups, from the agent's history",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runTop(e, c, o) },
	}
	f := c.Flags()
	f.Var(ask.OneOf(&o.by, "", "process", "cgroup"), "by", "only this table: process or cgroup")
	f.Var(ask.RowsIn(&o.rows.top, 20), "top", "rows of each table; 0: all")
	f.StringVar(&o.rows.sort, "sort", "", "sort by column (JSON name)")
	f.Var(ask.Formats(&o.rows.format, "json", "csv"), "format", "text, json or csv (the first table)")
	o.playback.bind(c)
	return c
}

// lately is the time that top shows unless it is told another.
const lately = "10m ago"

func runTop(e *env, c *cobra.Command, o *topOptions) error {
	if _, err := o.playback.asked(c); err != nil {
		return err
	}
	if o.file == "" && o.from == "" && o.to == "" {
		o.from = lately
	}
	var t *top.Busiest
	var err error
	if opener := newOpener(e, o.dir); o.file != "" {
		t, err = top.Recorded(opener, o.file, agent.SectionTop, o.interval())
	} else {
		t, err = top.Kept(opener, filepath.Join(o.dir, agent.TablesIn), o.interval())
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
	from, to := t.Interval()
	return newPrinter(e.streams, &o.rows).Print(from, to.Sub(from), "from "+replay.Stamp(from)+" to "+replay.Stamp(to)+":", tables)
}
