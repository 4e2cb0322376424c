package mem

import (
	"fmt"

	"iocause/internal/procfile"
	"iocause/internal/table"
)

// freeTable is what free(1) of procps 4 shows.
func freeTable(m *procfile.Meminfo) table.Table {
	t := table.Table{Key: "free", Title: "As free(1) shows it", Whole: true, Columns: []table.Column{
		{Key: "what", Head: ""},
		{Key: "total_bytes", Head: "TOTAL", Unit: "bytes"}, {Key: "used_bytes", Head: "USED", Unit: "bytes"},
		{Key: "free_bytes", Head: "FREE", Unit: "bytes"}, {Key: "shared_bytes", Head: "SHARED", Unit: "bytes"},
		{Key: "buff_cache_bytes", Head: "BUFF/CACHE", Unit: "bytes"}, {Key: "available_bytes", Head: "AVAILABLE", Unit: "bytes"}}}
	known := func(v *uint64) table.Cell {
		if v == nil {
			return table.None()
		}
		return table.Num(float64(*v))
	}
	less := func(a, b *uint64) table.Cell {
		if a == nil || b == nil {
			return table.None()
		}
		return table.Num(float64(*a) - float64(*b))
	}
	cache := float64(*m.Cached + *m.Buffers)
	if m.SReclaimable != nil {
		cache += float64(*m.SReclaimable)
	}
	t.Rows = append(t.Rows,
		[]table.Cell{table.Str("memory"), known(m.Total), less(m.Total, m.Available), known(m.Free), known(m.Shmem), table.Num(cache), known(m.Available)},
		[]table.Cell{table.Str("swap"), known(m.SwapTotal), less(m.SwapTotal, m.SwapFree), known(m.SwapFree), table.None(), table.None(), table.None()})
	return t
}

// droppable is what dropping the page cache would do.
type droppable struct {
	all, freed           float64 // Cached + Buffers, and what goes of it; bytes
	shmem, mapped, dirty float64
	writing, pinned      float64
	known                bool // mapped and pinned are
}

func drop(now *Memory) droppable {
	m := &now.Info
	d := droppable{all: float64(*m.Cached + *m.Buffers), shmem: float64(*m.Shmem)}
	if f := now.Beside.Files; f != nil {
		d.known = true
		d.mapped, d.dirty, d.writing, d.pinned = float64(f.Mapped), float64(f.Dirty), float64(f.Writeback), float64(f.Pinned)
	} else {
		if m.Dirty != nil {
			d.dirty = float64(*m.Dirty)
		}
		if m.Writeback != nil {
			d.writing = float64(*m.Writeback)
		}
	}
	d.freed = d.all - d.shmem - d.mapped - d.dirty - d.writing - d.pinned
	return d
}

// dropTable is what would go, and what would stay and why.
func dropTable(now *Memory) table.Table {
	t := table.Table{Key: "drop", Title: "What writing 1 to /proc/sys/vm/drop_caches would do", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "share", Head: "OF CACHE", Unit: "ratio"},
		{Key: "fate", Head: "FATE"}, {Key: "why", Head: "WHY", Flex: true, Words: true}}}
	d := drop(now)
	row := func(bytes float64, known bool, fate, why string) {
		t.Rows = append(t.Rows, []table.Cell{table.Maybe(bytes, known), table.Maybe(bytes/d.all, known && d.all > 0), table.Str(fate), table.Str(why)})
	}
	freed := "clean, and nobody maps it"
	if !d.known {
		freed = "clean; an upper bound, because mappings are not known"
	}
	row(d.freed, true, "freed", freed)
	row(d.shmem, true, "stays", "shared memory and tmpfs: only swap takes it")
	row(d.mapped, d.known, "stays", "mapped by a process")
	row(d.dirty, true, "stays", "dirty: run sync first")
	row(d.writing, true, "stays", "being written")
	row(d.pinned, d.known, "stays", "locked by mlock(2), or in a memory file system")
	row(d.all, true, "all", "Cached + Buffers of /proc/meminfo")
	t.Notes = append(t.Notes, "blocks that file systems keep (journals, tables) and pages under I/O stay too; how many is not known in advance")
	if s := now.Info.SReclaimable; s != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("writing 2 frees kernel objects, names and inodes: at most %s; 3 does both. What is dropped is read again from the disk",
			table.Value(float64(*s), "bytes")))
	}
	return t
}

// availableTable is how the kernel comes to MemAvailable.
func availableTable(now *Memory) table.Table {
	t := table.Table{Key: "available", Title: "How the kernel estimates available memory", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "term", Head: "TERM", Flex: true}}}
	row := func(v float64, term string) {
		t.Rows = append(t.Rows, []table.Cell{table.Num(v), table.Str(term)})
	}
	m := &now.Info
	if now.Beside.Zones == nil {
		t.Notes = append(t.Notes, "/proc/zoneinfo could not be read")
	} else if e, ok := now.Beside.Zones.Estimate(m, now.Beside.Page); ok {
		row(float64(e.Free), "free")
		row(-float64(e.Reserve), "reserved for the kernel (high watermarks, zone protection)")
		row(float64(e.FilePages), "pages of files that reclaim scans, active and inactive")
		row(-float64(e.KeptFile), "minus the low watermarks, at most half: in use")
		row(float64(e.Reclaimable), "kernel objects and pages, reclaimable")
		row(-float64(e.KeptSlab), "minus the low watermarks, at most half: in use")
		row(float64(e.Sum), "together")
	}
	if m.Available == nil {
		t.Notes = append(t.Notes, "this kernel has no MemAvailable (3.14)")
		return t
	}
	row(float64(*m.Available), "MemAvailable of /proc/meminfo")
	t.Notes = append(t.Notes, misleading(now)...)
	return t
}

// misleading says where MemAvailable is not what can be had.
func misleading(now *Memory) []string {
	var notes []string
	value := func(v float64) string { return table.Value(v, "bytes") }
	d := drop(now)
	if d.known && d.mapped > 0 {
		notes = append(notes, value(d.mapped)+" of it are mapped pages, such as programs' code: programs wait for the disk when they are evicted")
	}
	if d.dirty+d.writing > 0 {
		notes = append(notes, value(d.dirty+d.writing)+" must be written to disk before it can be freed")
	}
	if d.shmem > 0 {
		notes = append(notes, value(d.shmem)+" of shared memory and tmpfs count as buff/cache, but are not available")
	}
	notes = append(notes, "cgroup limits and protection (memory.min, memory.low) are not considered")
	return notes
}
