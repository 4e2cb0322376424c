package view

import (
	"cmp"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// FilesSources are the sources that Files reads.
func FilesSources() []string { return []string{"pagecache", "blockio", "writeback", "queue"} }

// FilesBy are the rows that Files can show.
func FilesBy() []string { return []string{"file", "process"} }

// fileRow is a file, or a process and a file.
type fileRow struct {
	file sample.FileID
	pid  int
}

// wayRow is what was read of a file by one way.
type wayRow struct {
	row fileRow
	way string
}

// readWays are the classes of cache.accesses_by_way.
func readWays() []string {
	return []string{sample.ClassRead, sample.ClassSplice, sample.ClassCopy, sample.ClassAIO, sample.ClassIOUring, sample.ClassKernel}
}

// Files is what was done with each file, whatever the way: through the cache,
// mapped or past it; and what of it the devices saw.
func Files(w *sample.Window, q *Query) []table.Table {
	byProcess := q.By == "process"
	t := table.Table{Key: "files", Title: "Files", Notes: append(missing(w, sample.CacheAccesses), losses(w)...)}
	if byProcess {
		t.Columns = []table.Column{{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true}}
	}
	t.Columns = append(t.Columns, []table.Column{
		{Key: "file", Head: "FILE", Flex: true, Least: 28},
		{Key: "read_bytes_per_s", Head: "READ/s", Unit: "bytes"},
		{Key: "from_disk_bytes_per_s", Head: "MISS/s", Unit: "bytes"},
		{Key: "mapped_from_disk_bytes_per_s", Head: "MAPPED/s", Unit: "bytes", Drop: 3},
		{Key: "dirtied_bytes_per_s", Head: "DIRTIED/s", Unit: "bytes"},
		{Key: "direct_read_bytes_per_s", Head: "DIR.R/s", Unit: "bytes", Drop: 2},
		{Key: "direct_written_bytes_per_s", Head: "DIR.W/s", Unit: "bytes", Drop: 2},
		{Key: "waits_seconds_per_s", Head: "WAIT", Unit: "ratio", Drop: 1},
		{Key: "slow_waits", Head: "SLOW", Unit: "count", Drop: 4},
		{Key: "longest_wait_seconds", Head: "LONGEST", Unit: "seconds", Drop: 5},
	}...)
	for _, way := range readWays() {
		t.Columns = append(t.Columns,
			table.Column{Key: "read_by_" + way + "_bytes_per_s", Head: way + "/s", Unit: "bytes", Drop: 8, Rare: true},
			table.Column{Key: "from_disk_by_" + way + "_bytes_per_s", Head: "miss/s", Unit: "bytes", Drop: 9, Rare: true})
	}
	if !byProcess {
		t.Columns = append(t.Columns,
			table.Column{Key: "device_read_bytes_per_s", Head: "DISK.R/s", Unit: "bytes", Drop: 6},
			table.Column{Key: "device_written_bytes_per_s", Head: "DISK.W/s", Unit: "bytes", Drop: 6},
			table.Column{Key: "size_bytes", Head: "SIZE", Unit: "bytes", Drop: 7},
			table.Column{Key: "slowest_layer", Head: "SLOWEST LAYER", Drop: 6, Rare: true},
			table.Column{Key: "slowest_layer_share", Head: "share", Unit: "ratio", Drop: 7, Rare: true})
	}
	g := newGroup(w, func(e sample.Entity) (fileRow, bool) {
		if e.PID == 0 || e.File.Ino == 0 || !q.keep(w, e) || !q.on(w, e.File) {
			return fileRow{}, false
		}
		k := fileRow{file: e.File}
		if byProcess {
			k.pid = e.PID
		}
		return k, true
	})
	g.add(sample.CacheAccesses, sample.CacheMisses, sample.CacheMappedMisses, sample.CacheDirtied, sample.DirectReadBytes,
		sample.DirectWriteByte, sample.CacheWait, sample.CacheInserted, sample.CacheSlow)
	accesses := newGroup(w, func(e sample.Entity) (wayRow, bool) {
		k, ok := g.key(e)
		return wayRow{k, e.Class}, ok
	})
	accesses.add(sample.CacheWayAccesses, sample.CacheWayMisses)
	longest := map[fileRow]float64{}
	w.Each(sample.CacheLongest, func(e sample.Entity, s *sample.Series) {
		if k, ok := g.key(e); ok {
			longest[k] = max(longest[k], s.Max())
		}
	})
	disk, layer := diskBytes(w, q), slowestLayers(w)
	keys := g.keys(func(r map[sample.Metric]float64) float64 {
		return PageBytes*(r[sample.CacheAccesses]+r[sample.CacheDirtied]+r[sample.CacheMappedMisses]+r[sample.CacheInserted]) +
			r[sample.DirectReadBytes] + r[sample.DirectWriteByte]
	}, func(a, b fileRow) int {
		return cmp.Or(cmp.Compare(a.file.Dev, b.file.Dev), cmp.Compare(a.file.Ino, b.file.Ino), cmp.Compare(a.pid, b.pid))
	})
	rate := func(v float64) table.Cell { return table.Num(v / w.Seconds()) }
	for _, k := range keys {
		r := g.rows[k]
		if idle(r) {
			continue
		}
		var cells []table.Cell
		if byProcess {
			cells = []table.Cell{pid(k.pid), comm(w, k.pid)}
		}
		slowest := table.None()
		if longest[k] > 0 {
			slowest = table.Num(longest[k])
		}
		cells = append(cells, table.Str(name(w, k.file)),
			rate(r[sample.CacheAccesses]*PageBytes), rate(r[sample.CacheMisses]*PageBytes), rate(r[sample.CacheMappedMisses]*PageBytes),
			rate(r[sample.CacheDirtied]*PageBytes), rate(r[sample.DirectReadBytes]), rate(r[sample.DirectWriteByte]),
			rate(r[sample.CacheWait]), table.Num(r[sample.CacheSlow]), slowest)
		for _, way := range readWays() {
			key := wayRow{k, way}
			cells = append(cells, rate(accesses.rows[key][sample.CacheWayAccesses]*PageBytes), rate(accesses.rows[key][sample.CacheWayMisses]*PageBytes))
		}
		if !byProcess {
			size := table.None()
			if f, ok := w.Files[k.file]; ok && f.Size >= 0 {
				size = table.Num(float64(f.Size))
			}
			cells = append(cells, rate(disk[k.file][0]), rate(disk[k.file][1]), size)
			cells = append(cells, layer(k.file)...)
		}
		t.Rows = append(t.Rows, cells)
	}
	return []table.Table{t}
}

// diskBytes are the bytes that the devices were asked to read and to write
// for each file.
func diskBytes(w *sample.Window, q *Query) map[sample.FileID][2]float64 {
	bytes := map[sample.FileID][2]float64{}
	add := func(e sample.Entity, s *sample.Series) {
		if q.Device != "" && e.Device != q.Device {
			return
		}
		b := bytes[e.File]
		if e.Class == sample.ClassRead {
			b[0] += s.Sum()
		} else {
			b[1] += s.Sum()
		}
		bytes[e.File] = b
	}
	w.Each(sample.BlockFileBytes, add)
	if q.Device != "" { // else they would count twice
		w.Each(sample.BlockLowerBytes, add)
	}
	return bytes
}

// slowestLayers is a way to ask which layer takes most of the time of what is read and
// written on the device of a file's file system, all files together, and which share.
// Of a file whose disk alone is known it is told where one stack alone lies on that.
func slowestLayers(w *sample.Window) func(sample.FileID) []table.Cell {
	slowest, lie := map[string][]table.Cell{}, map[string]int{}
	for _, s := range figure.Stacks(w) {
		l, share := s.Slowest()
		if l == nil {
			continue
		}
		cells := []table.Cell{table.Str(l.Name()), table.Num(share)}
		slowest[s[0].Device] = cells
		for i := range s[1:] {
			below := s[1+i].Device
			if lie[below]++; lie[below] == 1 {
				slowest[below] = cells
			} else {
				delete(slowest, below)
			}
		}
	}
	return func(f sample.FileID) []table.Cell {
		if cells, ok := slowest[w.Files[f].Device]; ok {
			return cells
		}
		return []table.Cell{table.None(), table.None()}
	}
}
