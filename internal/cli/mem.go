package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/smaps"
	"iocause/internal/table"
)

// memOptions are the flags of mem.
type memOptions struct {
	intervals
	exact    bool
	filter   filter
	file     string
	playback playback
}

// sampled is how many pages' flags are looked at unless all are asked for:
// about 0.2 s of a processor.
const sampled = 1 << 20

func newMemCommand(a *app) *cobra.Command {
	o := &memOptions{}
	c := &cobra.Command{
		Use:   "mem [INTERVAL [COUNT]] [flags]",
		Short: "Show where the memory is, and how much of it can be had back",
		Long: "Mem divides the memory into parts that do not overlap and add up to MemTotal,\n" +
			"with what nothing explains as a part of its own. It shows what free(1) shows,\n" +
			"how the kernel reckons what is available and where that misleads, what dropping\n" +
			"the cache would free and leave, and for each process what it has in memory and\n" +
			"its share of the cache.\n\n" +
			"Filters choose processes: --file and --device those that map such a file. The\n" +
			"other tables are the host's and do not change.\n\n" + looksHelp,
		Example: `  iocause mem
  iocause mem --exact --top 5
  iocause mem --sort pss_file_bytes
  iocause mem 10 -t --comm postgres
  iocause mem --file libc.so.6 --top 5
  iocause mem --format json | jq .memory.rows
  iocause mem --recording 17`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.mem(c, o, args) },
	}
	c.Flags().BoolVar(&o.exact, "exact", false, "look at every page to divide the cache, not at\na sample")
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.bind(c, "pss_bytes")
	o.playback.bind(c)
	return c
}

// memory is one look at it.
type memory struct {
	info      procfile.Meminfo
	beside    meminfo.Beside
	parts     []meminfo.Part
	processes []smaps.Process
	filtered  []string // notes on the filter
}

func (a *app) mem(c *cobra.Command, o *memOptions, args []string) error {
	if data, err := a.evidence(c, &o.playback, sectionMem); err != nil {
		return err
	} else if data != nil {
		return a.playMemory(c, o, data, args)
	}
	chosen, err := a.memFilter(c, o)
	if err != nil {
		return err
	}
	take := func(context.Context) (*memory, error) {
		most := sampled
		if o.exact {
			most = 0
		}
		now, err := a.takeMemory(most)
		if err == nil && chosen != nil {
			now.processes, now.filtered, err = chosen(now.processes)
		}
		return now, err
	}
	show := func(p *printer, now *memory, before **memory) ([]table.Table, error) {
		var old *memory
		if before != nil {
			old = *before
		}
		return memoryTables(p, o, now, old, chosen != nil), nil
	}
	return looks(c.Context(), a, &o.intervals, args, take, show)
}

// takeMemory looks once, at the flags of so many pages at most, 0 for all.
func (a *app) takeMemory(most int) (*memory, error) {
	line := a.newCounting("processes read")
	defer line.Erase()
	now := &memory{}
	var err error
	if now.info, err = procfile.ReadMeminfo(a.host); err != nil {
		return nil, err
	}
	now.beside = meminfo.ReadBeside(a.host, &now.info, most)
	var ok bool
	if now.parts, ok = meminfo.Parts(&now.info, now.beside); !ok {
		return nil, errors.New("dividing the memory: /proc/meminfo lacks MemTotal, MemFree, AnonPages, Cached, Buffers or Shmem")
	}
	now.processes, err = smaps.All(a.host, line.update)
	return now, err
}

// memoryTables are all that is shown of a look. Where processes were chosen,
// they come first: it is what CSV has.
func memoryTables(p *printer, o *memOptions, now, old *memory, chosen bool) []table.Table {
	tables := []table.Table{memoryTable(p, o, now, old), freeTable(&now.info), dropTable(now), availableTable(now), processTable(now, old)}
	if chosen {
		last := len(tables) - 1
		tables = append(tables[last:], tables[:last]...)
	}
	return tables
}

// memoryTable is the parts of the memory.
func memoryTable(p *printer, o *memOptions, now, old *memory) table.Table {
	t := table.Table{Key: "memory", Title: "Where the memory is", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "share", Head: "OF ALL", Unit: "ratio"}}}
	was := map[string]meminfo.Part{}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, x := range old.parts {
			was[x.Key] = x
		}
	}
	t.Columns = append(t.Columns, table.Column{Key: "part", Head: "KEY"}, table.Column{Key: "name", Head: "PART"},
		table.Column{Key: "source", Head: "SOURCE", Flex: true})
	total := float64(*now.info.Total)
	row := func(x meminfo.Part, before meminfo.Part, known bool) {
		cells := []table.Cell{table.Maybe(float64(x.Bytes), x.Known), table.Maybe(float64(x.Bytes)/total, x.Known)}
		if old != nil {
			cells = append(cells, table.Maybe(float64(x.Bytes-before.Bytes), x.Known && known))
		}
		t.Rows = append(t.Rows, append(cells, table.Str(x.Key), table.Str(x.Name), table.Str(x.Source)))
	}
	none := 0
	for _, x := range now.parts {
		before, ok := was[x.Key]
		if o.format == "text" && x.Known && x.Bytes == 0 && before.Bytes == 0 {
			none++
			continue
		}
		row(x, before, ok && before.Known)
	}
	all := meminfo.Part{Key: "total", Name: "all: MemTotal", Bytes: int64(*now.info.Total), Known: true, Source: "/proc/meminfo MemTotal"}
	before := all
	if old != nil {
		before.Bytes = int64(*old.info.Total)
	}
	row(all, before, true)
	if none > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more parts are empty", none))
	}
	t.Notes = append(t.Notes, memoryNotes(now)...)
	if o.format == "text" {
		without(&t, "part")
		if p.style.Width < roomy {
			without(&t, "source")
		}
	}
	return t
}

// memoryNotes say how far the parts are estimates, and what could not be read.
func memoryNotes(now *memory) []string {
	var notes []string
	if f := now.beside.Files; f != nil && f.Every > 1 {
		notes = append(notes, fmt.Sprintf("how the cache divides is estimated from one page in %d; --exact looks at all", f.Every))
	}
	if now.beside.Files != nil {
		notes = append(notes, "dirty, written and pinned pages of block devices are counted with those of files")
	}
	if s := now.info.SwapCached; s != nil && *s > 0 {
		notes = append(notes, fmt.Sprintf("%s of what was swapped out is in memory too: in the anonymous part where it is mapped, unexplained where it is not",
			table.Value(float64(*s), "bytes")))
	}
	if b := now.info.Balloon; b != nil && *b > 0 {
		notes = append(notes, fmt.Sprintf("the hypervisor's balloon holds %s, which not every driver takes out of MemTotal: then it is unexplained here",
			table.Value(float64(*b), "bytes")))
	}
	for _, err := range now.beside.Errors {
		notes = append(notes, err.Error()+": its part is missing, or in others")
	}
	return notes
}

// processTable is each process's memory and its share of what is common.
func processTable(now, old *memory) table.Table {
	t := table.Table{Key: "processes", Title: "Processes", Columns: []table.Column{
		{Key: "pss_bytes", Head: "PSS", Unit: "bytes"}, {Key: "pss_file_bytes", Head: "CACHE", Unit: "bytes"},
		{Key: "cache_share", Head: "OF CACHE", Unit: "ratio", Drop: 3},
		{Key: "rss_bytes", Head: "RSS", Unit: "bytes"}}}
	was := map[int]smaps.Process{}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, x := range old.processes {
			was[x.PID] = x
		}
	}
	t.Columns = append(t.Columns,
		table.Column{Key: "anon_bytes", Head: "ANON", Unit: "bytes", Drop: 2},
		table.Column{Key: "file_bytes", Head: "MAPPED", Unit: "bytes"},
		table.Column{Key: "shmem_bytes", Head: "SHMEM", Unit: "bytes", Drop: 5},
		table.Column{Key: "swap_bytes", Head: "SWAP", Unit: "bytes"},
		table.Column{Key: "locked_bytes", Head: "LOCKED", Unit: "bytes", Drop: 6},
		table.Column{Key: "pid", Head: "PID"},
		table.Column{Key: "comm", Head: "COMMAND", Flex: true})
	cache := float64(*now.info.Cached + *now.info.Buffers)
	failed := 0
	var first error
	num := func(v uint64) table.Cell { return table.Num(float64(v)) }
	for _, x := range now.processes {
		pss, file, share, locked := table.Unread(), table.Unread(), table.Unread(), table.Unread()
		if s := x.Shares; s != nil {
			pss, file, share, locked = num(s.All), num(s.File), table.Maybe(float64(s.File)/cache, cache > 0), num(s.Locked)
		} else if failed++; first == nil {
			first = x.Err
		}
		row := []table.Cell{pss, file, share, num(x.RSS())}
		if old != nil {
			before, ok := was[x.PID]
			row = append(row, table.Maybe(float64(x.RSS())-float64(before.RSS()), ok && before.Comm == x.Comm))
		}
		t.Rows = append(t.Rows, append(row, num(x.Anon), num(x.File), num(x.Shmem), num(x.Swap), locked,
			table.Str(fmt.Sprint(x.PID)), table.Str(x.Comm)))
	}
	t.Notes = []string{"PSS shares a page among those that map it; CACHE is that of mapped files, MAPPED their resident pages whole. What a process only reads or writes is in the cache without being its own: see iocause resident --pid"}
	t.Notes = append(t.Notes, now.filtered...)
	if failed > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("the shares of %s could not be read: %v", sample.Counted(failed, "process"), first))
	}
	return t
}
