package view

import (
	"cmp"
	"fmt"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// EvictionsSources are the sources that Evictions reads.
func EvictionsSources() []string { return []string{"meminfo", "vmstat", "pagecache", "reclaim"} }

// Evictions is who pushed whose pages out of the cache, who read them back,
// and who filled the cache meanwhile.
func Evictions(w *sample.Window, q *Query) []table.Table {
	return []table.Table{evicted(w, q), reread(w, q), insertions(w, q)}
}

// evicted is by evictor and file. kswapd evicts in the name of all who fill
// the cache: the last table says who they are.
func evicted(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "evictions", Title: "Pushed out", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "BY", Flex: true},
		{Key: "file", Head: "PAGES OF", Flex: true, Least: 20},
		{Key: "evicted_bytes_per_s", Head: "EVICT/s", Unit: "bytes"},
		{Key: "unused_bytes_per_s", Head: "UNUSED/s", Unit: "bytes"},
		{Key: "reread_bytes_per_s", Head: "REREAD/s", Unit: "bytes"},
		{Key: "reread_by", Head: "READ BACK BY", Flex: true},
	}, Notes: append(missing(w, sample.CacheEvicted), losses(w)...)}
	g := fileGroup(w, q)
	g.add(sample.CacheEvicted, sample.CacheWasted)
	back := map[sample.FileID][]reader{}
	w.Each(sample.CacheReread, func(e sample.Entity, s *sample.Series) {
		if e.PID != 0 && e.File.Ino != 0 && s.Sum() > 0 {
			back[e.File] = append(back[e.File], reader{e.PID, s.Sum()})
		}
	})
	keys := g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.CacheEvicted] }, compareFileRows)
	evictors, shared := map[sample.FileID]int{}, false
	for _, k := range keys {
		r := g.rows[k]
		if r[sample.CacheEvicted] == 0 {
			continue
		}
		evictors[k.file]++
		shared = shared || evictors[k.file] > 1 && len(back[k.file]) > 0
		pages, who := readers(w, back[k.file])
		t.Rows = append(t.Rows, []table.Cell{pid(k.pid), comm(w, k.pid), table.Str(name(w, k.file)),
			bytesRate(w, r[sample.CacheEvicted]), bytesRate(w, r[sample.CacheWasted]), bytesRate(w, pages), who})
	}
	if shared {
		t.Notes = append(t.Notes, "REREAD/s is the file's, whoever evicted its pages")
	}
	return t
}

// reader is a process that read evicted pages back.
type reader struct {
	pid   int
	pages float64
}

// readers are all pages that were read back of a file, and by whom most.
func readers(w *sample.Window, all []reader) (pages float64, who table.Cell) {
	if len(all) == 0 {
		return 0, table.None()
	}
	slices.SortFunc(all, func(a, b reader) int { return cmp.Or(cmp.Compare(b.pages, a.pages), cmp.Compare(a.pid, b.pid)) })
	for _, r := range all {
		pages += r.pages
	}
	first := cmp.Or(w.Processes[all[0].pid].Comm, fmt.Sprintf("process %d", all[0].pid))
	if len(all) > 1 {
		first += fmt.Sprintf(" and %d more", len(all)-1)
	}
	return pages, table.Str(first)
}

// reread is who had to read evicted pages again.
func reread(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "rereads", Title: "Read back", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true}, {Key: "file", Head: "FILE", Flex: true, Least: 28},
		{Key: "reread_bytes_per_s", Head: "REREAD/s", Unit: "bytes"},
		{Key: "wait_seconds_per_s", Head: "WAIT", Unit: "ratio"},
	}}
	g := fileGroup(w, q)
	g.add(sample.CacheReread, sample.CacheWait)
	for _, k := range g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.CacheReread] }, compareFileRows) {
		if r := g.rows[k]; r[sample.CacheReread] > 0 {
			t.Rows = append(t.Rows, []table.Cell{pid(k.pid), comm(w, k.pid), table.Str(name(w, k.file)),
				bytesRate(w, r[sample.CacheReread]), table.Num(r[sample.CacheWait] / w.Seconds())})
		}
	}
	return t
}

// insertions is who filled the cache, and so made the room be needed.
func insertions(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "insertions", Title: "Filled the cache", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
		{Key: "inserted_bytes_per_s", Head: "FILLED/s", Unit: "bytes"},
		{Key: "share", Head: "SHARE", Unit: "ratio"},
		{Key: "for_writing_bytes_per_s", Head: "FOR WRITES/s", Unit: "bytes"},
		{Key: "stalled_seconds_per_s", Head: "STALLED", Unit: "ratio"},
	}}
	g := newGroup(w, func(e sample.Entity) (int, bool) { return e.PID, q.ofProcess(w, e) })
	g.add(sample.CacheInserted, sample.CacheWriteAlloc, sample.ReclaimTime)
	if q.byFile() { // reclaim is the process's, whatever file it was for
		w.Each(sample.ReclaimTime, func(e sample.Entity, s *sample.Series) {
			if r := g.rows[e.PID]; r != nil && e.File.Ino == 0 {
				r[sample.ReclaimTime] += s.Sum()
			}
		})
	}
	all, _ := w.Sum(sample.CacheInserted, sample.Entity{})
	for _, k := range g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.CacheInserted] }, cmp.Compare[int]) {
		r := g.rows[k]
		if r[sample.CacheInserted] == 0 && r[sample.ReclaimTime] == 0 {
			continue
		}
		t.Rows = append(t.Rows, []table.Cell{pid(k), comm(w, k), bytesRate(w, r[sample.CacheInserted]),
			ratio(r[sample.CacheInserted], all), bytesRate(w, r[sample.CacheWriteAlloc]), table.Num(r[sample.ReclaimTime] / w.Seconds())})
	}
	return t
}

// fileGroup has a row for each process and file that is asked for.
func fileGroup(w *sample.Window, q *Query) *group[fileRow] {
	return newGroup(w, func(e sample.Entity) (fileRow, bool) {
		return fileRow{e.File, e.PID}, e.PID != 0 && e.File.Ino != 0 && q.keep(w, e) && q.on(w, e.File)
	})
}

func compareFileRows(a, b fileRow) int {
	return cmp.Or(cmp.Compare(a.file.Dev, b.file.Dev), cmp.Compare(a.file.Ino, b.file.Ino), cmp.Compare(a.pid, b.pid))
}

// bytesRate is pages as bytes a second.
func bytesRate(w *sample.Window, pages float64) table.Cell {
	return table.Num(pages * PageBytes / w.Seconds())
}
