package mem

import (
	"fmt"

	"iocause/internal/sample"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/smaps"
	"iocause/internal/table"
)

// Form is what the tables are for.
type Form struct {
	People bool // parts that are empty are left out
	Narrow bool // the screen has no room for where each figure is from
}

// Tables are all that is shown of a snapshot, with what changed since old, nil for
// none. Where processes were chosen, they come first: it is what CSV has.
func Tables(now, old *Memory, f Form) []table.Table {
	tables := []table.Table{memoryTable(now, old, f), freeTable(&now.Info), dropTable(now), availableTable(now), processTable(now, old)}
	if now.chosen {
		last := len(tables) - 1
		tables = append(tables[last:], tables[:last]...)
	}
	return tables
}

// memoryTable is the parts of the memory.
func memoryTable(now, old *Memory, f Form) table.Table {
	t := table.Table{Key: "memory", Title: "Where the memory is", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "share", Head: "OF ALL", Unit: "ratio"}}}
	was := map[string]meminfo.Part{}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, x := range old.Parts {
			was[x.Key] = x
		}
	}
	t.Columns = append(t.Columns, table.Column{Key: "part", Head: "KEY"}, table.Column{Key: "name", Head: "PART"},
		table.Column{Key: "source", Head: "SOURCE", Flex: true})
	total := float64(*now.Info.Total)
	row := func(x meminfo.Part, before meminfo.Part, known bool) {
		cells := []table.Cell{table.Maybe(float64(x.Bytes), x.Known), table.Maybe(float64(x.Bytes)/total, x.Known)}
		if old != nil {
			cells = append(cells, table.Maybe(float64(x.Bytes-before.Bytes), x.Known && known))
		}
		t.Rows = append(t.Rows, append(cells, table.Str(x.Key), table.Str(x.Name), table.Str(x.Source)))
	}
	none := 0
	for _, x := range now.Parts {
		before, ok := was[x.Key]
		if f.People && x.Known && x.Bytes == 0 && before.Bytes == 0 {
			none++
			continue
		}
		row(x, before, ok && before.Known)
	}
	all := meminfo.Part{Key: "total", Name: "all: MemTotal", Bytes: int64(*now.Info.Total), Known: true, Source: "/proc/meminfo MemTotal"}
	before := all
	if old != nil {
		before.Bytes = int64(*old.Info.Total)
	}
	row(all, before, true)
	if none > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more parts are empty", none))
	}
	t.Notes = append(t.Notes, memoryNotes(now)...)
	if f.People {
		t.Without("part")
	}
	if f.Narrow {
		t.Without("source")
	}
	return t
}

// memoryNotes say how far the parts are estimates, and what could not be read.
func memoryNotes(now *Memory) []string {
	var notes []string
	if f := now.Beside.Files; f != nil && f.Every > 1 {
		notes = append(notes, fmt.Sprintf("the parts of the cache are estimated from one page in %d; --exact reads all", f.Every))
	}
	if now.Beside.Files != nil {
		notes = append(notes, "dirty, written and pinned pages of block devices are counted with those of files")
	}
	if s := now.Info.SwapCached; s != nil && *s > 0 {
		notes = append(notes, fmt.Sprintf("%s of swapped-out memory is in memory too: counted as anonymous if mapped, else as unexplained",
			table.Value(float64(*s), "bytes")))
	}
	if b := now.Info.Balloon; b != nil && *b > 0 {
		notes = append(notes, fmt.Sprintf("the hypervisor's balloon holds %s; with some drivers it counts as unexplained here",
			table.Value(float64(*b), "bytes")))
	}
	for _, why := range now.Unread {
		notes = append(notes, why+": its part is missing, or in others")
	}
	return notes
}

// processTable is each process's memory and its share of what is common.
func processTable(now, old *Memory) table.Table {
	t := table.Table{Key: "processes", Title: "Processes", Columns: []table.Column{
		{Key: "pss_bytes", Head: "PSS", Unit: "bytes"}, {Key: "pss_file_bytes", Head: "CACHE", Unit: "bytes"},
		{Key: "cache_share", Head: "OF CACHE", Unit: "ratio", Drop: 3},
		{Key: "rss_bytes", Head: "RSS", Unit: "bytes"}}}
	was := map[int]smaps.Process{}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, x := range old.Processes {
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
	cache := float64(*now.Info.Cached + *now.Info.Buffers)
	failed := 0
	first := ""
	num := func(v uint64) table.Cell { return table.Num(float64(v)) }
	for _, x := range now.Processes {
		pss, file, share, locked := table.Unread(), table.Unread(), table.Unread(), table.Unread()
		if s := x.Shares; s != nil {
			pss, file, share, locked = num(s.All), num(s.File), table.Maybe(float64(s.File)/cache, cache > 0), num(s.Locked)
		} else if failed++; first == "" {
			first = x.Unread
		}
		row := []table.Cell{pss, file, share, num(x.RSS())}
		if old != nil {
			before, ok := was[x.PID]
			row = append(row, table.Maybe(float64(x.RSS())-float64(before.RSS()), ok && before.Comm == x.Comm))
		}
		t.Rows = append(t.Rows, append(row, num(x.Anon), num(x.File), num(x.Shmem), num(x.Swap), locked,
			table.Str(fmt.Sprint(x.PID)), table.Str(string(x.Comm))))
	}
	t.Notes = []string{"PSS divides a page among the processes that map it; CACHE is the same for mapped files, MAPPED counts their resident pages in full. Files that a process only reads or writes are not in its figures: see iocause resident --pid"}
	t.Notes = append(t.Notes, now.notes...)
	if failed > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("the shares of %s could not be read: %s", sample.Counted(failed, "process"), first))
	}
	return t
}
