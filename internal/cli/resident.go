package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/filters"
	"iocause/internal/incident"
	"iocause/internal/source/residency"
	"iocause/internal/table"
	"iocause/internal/tool/resident"
)

// residentOptions are the flags of resident.
type residentOptions struct {
	intervals
	all      bool
	pids     []int
	filter   filters.Filter
	file     string
	parts    bool
	oneFS    bool
	files    *filters.Files
	playback playback
}

func newResidentCommand(e *env) *cobra.Command {
	o := &residentOptions{}
	c := &cobra.Command{
		Use:   "resident [flags] [PATH...] [INTERVAL [COUNT]]",
		Short: "Show which files are in the page cache, and which parts of them",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(c *cobra.Command, args []string) error { return runResident(e, c, o, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.all, "all", false, "the whole page cache, by file")
	f.IntSliceVar(&o.pids, "pid", nil, "files that these processes have open or mapped")
	f.StringVar(&o.filter.Comm, "comm", "", "files that processes of this name hold")
	f.StringVar(&o.filter.Cgroup, "cgroup", "", "files that processes below this cgroup hold")
	f.StringVar(&o.filter.Device, "device", "", "of these, files on this block device")
	bindFile(c, &o.file)
	f.BoolVar(&o.parts, "map", false, "which parts of each file are cached; JSON has ranges")
	f.BoolVarP(&o.oneFS, "one-file-system", "x", false, "stay on the file system of each PATH")
	o.bind(c, "cached_bytes")
	o.playback.bind(c)
	return c
}

func runResident(e *env, c *cobra.Command, o *residentOptions, args []string) error {
	if data, err := readEvidence(e, c, &o.playback, incident.SectionResident); err != nil {
		return err
	} else if data != nil {
		return playCache(e, c, o, data, args)
	}
	paths, rest := splitInterval(args)
	var asked []string
	given := c.Flags().Changed
	for _, x := range []struct {
		name string
		is   bool
	}{{"PATH", len(paths) > 0}, {"--all", o.all}, {"--pid, --comm or --cgroup", given("pid") || given("comm") || given("cgroup")}} {
		if x.is {
			asked = append(asked, x.name)
		}
	}
	switch {
	case len(asked) == 0:
		return &ask.Error{Err: errors.New("reading the arguments: no file is given"), Next: "give a PATH, --pid, --comm, --cgroup, or --all for the whole cache"}
	case len(asked) > 1:
		return &ask.Error{Err: fmt.Errorf("reading the arguments: %s cannot be combined", strings.Join(asked, " and ")), Next: "give one of them"}
	case o.oneFS && len(paths) == 0:
		return &ask.Error{Err: errors.New("reading the flags: --one-file-system needs a PATH"), Next: "give a PATH, or leave it out"}
	case o.all && o.parts:
		return &ask.Error{Err: errors.New("reading the flags: --map and --all cannot be combined"), Next: "give the files as PATHs"}
	}
	var err error
	if o.files, err = wantedFiles(e.host, c, o.file, o.filter.Device); err != nil {
		return err
	}
	if o.all {
		return residentAll(c.Context(), e, o, rest)
	}
	for i, id := range o.pids {
		if o.pids[i], err = filters.Process(e.host, id); err != nil {
			return err
		}
	}
	cgroup := ""
	if given("cgroup") {
		if cgroup, err = filters.Cgroup(e.host, o.filter.Cgroup); err != nil {
			return err
		}
	}
	take := func(ctx context.Context) (*residency.Found, error) {
		line := console.NewCounting(e.stderr, "files measured")
		defer line.Erase()
		if len(paths) > 0 {
			found, err := residency.Below(ctx, paths, residency.Options{OneFileSystem: o.oneFS, Progress: line.Update})
			return o.choice().Found(found), err
		}
		pids, err := o.filter.Processes(e.host, o.pids, changed(c, "comm", "cgroup"))
		if err != nil {
			return nil, err
		}
		return o.choice().Found(residency.OfProcesses(ctx, e.host, pids, line.Update)), nil
	}
	show := func(p *console.Printer, now, before *residency.Found) ([]table.Table, error) {
		tables, err := resident.FileTables(e.host, now, before, resident.Files{Form: residentForm(p), Held: len(paths) == 0,
			Parts: o.parts, Only: o.format == "csv", Width: p.Style.Width})
		if err != nil {
			return nil, &ask.Error{Err: fmt.Errorf("reading --sort: %w", err), Next: "give one of these"}
		}
		if charged, source := resident.Charged(e.host, cgroup); source != "" {
			total := &tables[len(tables)-1]
			total.Notes = append(total.Notes, fmt.Sprintf("the cgroup is charged for %s of cache (%s): with files that its processes have closed, without files that others read first",
				table.Value(charged, "bytes"), source))
		}
		return tables, nil
	}
	return snapshots(c.Context(), e.streams, &o.intervals, rest, take, show)
}

// roomy is the width from which on a table for people has columns that are of
// less use than a path that can be read.
const roomy = 110

// residentForm is what was asked for, and what the screen has room for.
func residentForm(p *console.Printer) resident.Form {
	people := p.Form.Format == "text"
	return resident.Form{Sort: p.Form.Sort, Top: p.Form.Top, People: people, Narrow: people && p.Style.Width < roomy}
}

// choice is the filter as the tables take it.
func (o *residentOptions) choice() resident.Choice {
	if !o.files.Narrow() {
		return resident.Choice{}
	}
	return resident.Choice{Named: o.files.Named, On: o.files.On, Device: o.files.Is}
}

// residentAll is resident --all.
func residentAll(ctx context.Context, e *env, o *residentOptions, rest []string) error {
	w := resident.Open(e.host)
	defer w.Close()
	doing := "inodes looked at"
	if w.Refused != nil {
		fmt.Fprintf(e.stderr, "iocause: %v; only files that processes have open are listed, closed ones as one sum\n", w.Refused)
		doing = "files measured"
	}
	take := func(ctx context.Context) (*resident.Cache, error) {
		line := console.NewCounting(e.stderr, doing)
		defer line.Erase()
		return w.Snapshot(ctx, line.Update)
	}
	show := func(p *console.Printer, now, before *resident.Cache) ([]table.Table, error) {
		line := console.NewCounting(e.stderr, "files looked up")
		defer line.Erase()
		return resident.CacheTables(w, now, before, o.choice(), residentForm(p), line.Update)
	}
	return snapshots(ctx, e.streams, &o.intervals, rest, take, show)
}

// playCache shows the page cache of an incident.
func playCache(e *env, c *cobra.Command, o *residentOptions, data []byte, args []string) error {
	if err := onlyLive(c, args, "an incident has the whole cache by file; select with --file", "pid", "comm", "cgroup", "device", "map", "one-file-system"); err != nil {
		return err
	}
	var err error
	if o.files, err = wantedFiles(e.host, c, o.file, ""); err != nil {
		return err
	}
	was, err := incident.As[resident.Cache](data, incident.SectionResident)
	if err != nil {
		return err
	}
	p := newPrinter(e.streams, &o.intervals)
	tables, err := resident.CacheTables(nil, was, nil, o.choice(), residentForm(p), nil)
	if err != nil {
		return err
	}
	return p.Print(was.At, 0, "", tables)
}
