package view

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// DiskSources are the sources that Disk reads.
func DiskSources() []string {
	return []string{"diskstats", "queue", "raid", "filesystem", "health", "blockio"}
}

// DiskBy are the tables that Disk can show beside the devices.
func DiskBy() []string {
	return []string{"process", "cgroup", "file", "latency", "size", "heat", "stack", "health", "forecast"}
}

// Disk is the block devices, and who uses them; by latency and by size it
// shows histograms instead.
func Disk(w *sample.Window, q *Query) []table.Table {
	devices := diskDevices(w, q)
	devices.Notes = append(missing(w, sample.DiskReads, sample.BlockOps), losses(w)...)
	switch q.By {
	case "latency":
		return append([]table.Table{devices}, histograms(w, q, "latency", "Latency", "seconds", []part{
			{"queue", "Time in the queue", sample.HistQueue}, {"device", "Time in the device", sample.HistDevice}})...)
	case "size":
		return append([]table.Table{devices}, histograms(w, q, "size", "Size of an I/O", "bytes", []part{
			{"size", "Size of an I/O", sample.HistSize}})...)
	case "heat":
		return []table.Table{heatMap(w, q)}
	case "stack":
		return []table.Table{diskStack(w, q), devices}
	case "forecast":
		return []table.Table{diskForecast(w, q)}
	case "health":
		return append([]table.Table{diskHealth(w, q)}, fileSystems(w, q)...)
	}
	rows := diskUsers
	if q.By == "file" {
		rows = diskFiles
	}
	if q.narrow() || q.File != "" || q.By == "cgroup" || q.By == "file" {
		// what was asked for comes first: it is what CSV has
		devices.Title += ", all of their I/O"
		return keepErrors(rows(w, q), devices)
	}
	return keepErrors(devices, rows(w, q))
}

// keepErrors lets no terminal be too narrow for requests that failed.
func keepErrors(all ...table.Table) []table.Table {
	for i := range all {
		t := &all[i]
		at := slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Key == "errors" })
		if at >= 0 && slices.ContainsFunc(t.Rows, func(row []table.Cell) bool { return row[at].Number > 0 }) {
			t.Columns[at].Drop = 0
		}
	}
	return all
}

// diskDevices is iostat's table: counts, bytes, await and depth as the kernel
// counts them, the time in queue and device from the probe.
func diskDevices(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "devices", Title: "Block devices", Columns: []table.Column{
		{Key: "device", Head: "DEVICE", Flex: true},
		{Key: "reads_per_s", Head: "r/s", Unit: "count"},
		{Key: "writes_per_s", Head: "w/s", Unit: "count"},
		{Key: "read_bytes_per_s", Head: "READ/s", Unit: "bytes"},
		{Key: "written_bytes_per_s", Head: "WRITE/s", Unit: "bytes"},
		{Key: "read_await_seconds", Head: "r_await", Unit: "seconds"},
		{Key: "write_await_seconds", Head: "w_await", Unit: "seconds"},
		{Key: "queue_seconds", Head: "queue", Unit: "seconds", Drop: 2},
		{Key: "device_seconds", Head: "device", Unit: "seconds", Drop: 1},
		{Key: "queue_depth", Head: "depth", Unit: "count"},
		{Key: "utilisation", Head: "%util", Unit: "ratio"},
		{Key: "sequential_ratio", Head: "seq", Unit: "ratio", Drop: 3},
		{Key: "read_size_bytes", Head: "r_size", Unit: "bytes", Drop: 5},
		{Key: "write_size_bytes", Head: "w_size", Unit: "bytes", Drop: 6},
		{Key: "flushes_per_s", Head: "flush/s", Unit: "count", Drop: 7},
		{Key: "flush_seconds", Head: "f_await", Unit: "seconds", Drop: 8},
		{Key: "discards_per_s", Head: "d/s", Unit: "count", Drop: 9},
		{Key: "max_in_flight", Head: "max", Unit: "count", Drop: 10},
		{Key: "errors", Head: "ERR", Unit: "count", Drop: 4},
		{Key: "lies_on", Head: "LIES ON", Drop: 11, Rare: true},
	}}
	on := liesOn(w)
	var names []string
	w.Each(sample.DiskReads, func(e sample.Entity, _ *sample.Series) {
		if q.Device == "" || e.Device == q.Device {
			names = append(names, e.Device)
		}
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(traffic(w, b), traffic(w, a)), strings.Compare(a, b))
	})
	for _, name := range names {
		if q.Device == "" && traffic(w, name) == 0 {
			continue
		}
		t.Rows = append(t.Rows, append(diskCells(w, name), on(name)))
	}
	return t
}

// traffic orders the devices: busy time first, then bytes.
func traffic(w *sample.Window, device string) float64 {
	e := sample.Entity{Device: device}
	busy, _ := w.Sum(sample.DiskBusy, e)
	read, _ := w.Sum(sample.DiskReadBytes, e)
	written, _ := w.Sum(sample.DiskWriteBytes, e)
	flushes, _ := w.Sum(sample.DiskFlushes, e)
	return busy*1e12 + read + written + flushes
}

func diskCells(w *sample.Window, device string) []table.Cell {
	sum := func(m sample.Metric, class string) (float64, bool) {
		return w.Sum(m, sample.Entity{Device: device, Class: class})
	}
	per := func(a, b sample.Metric) table.Cell {
		x, ok := sum(a, "")
		n, _ := sum(b, "")
		if !ok || n == 0 {
			return table.None()
		}
		return table.Num(x / n)
	}
	rate := func(m sample.Metric, class string) table.Cell {
		v, ok := sum(m, class)
		return table.Maybe(v/w.Seconds(), ok)
	}
	var ops, queue, inside, sequential, errors float64
	for _, class := range []string{sample.ClassRead, sample.ClassWrite} {
		n, _ := sum(sample.BlockOps, class)
		ops += n
		n, _ = sum(sample.BlockQueueTime, class)
		queue += n
		n, _ = sum(sample.BlockDeviceTime, class)
		inside += n
		n, _ = sum(sample.BlockSequential, class)
		sequential += n
	}
	for _, class := range []string{sample.ClassRead, sample.ClassWrite, sample.ClassFlush, sample.ClassDiscard, sample.ClassOther} {
		n, _ := sum(sample.BlockErrors, class)
		errors += n
	}
	discards := sample.ClassDiscard
	if _, ok := sum(sample.BlockOps, discards); !ok {
		discards = sample.ClassOther // which recordings of earlier versions counted them as
	}
	flushes, _ := sum(sample.BlockOps, "flush")
	flushTime, _ := sum(sample.BlockDeviceTime, "flush")
	most, hasMost := w.Value(sample.BlockMaxFlight, sample.Entity{Device: device})
	return []table.Cell{
		table.Str(device), rate(sample.DiskReads, ""), rate(sample.DiskWrites, ""),
		rate(sample.DiskReadBytes, ""), rate(sample.DiskWriteBytes, ""),
		table.Maybe(figure.Reads(w, device).Await()), table.Maybe(figure.Writes(w, device).Await()),
		ratio(queue, ops), ratio(inside, ops),
		rate(sample.DiskWeighted, ""), rate(sample.DiskBusy, ""), ratio(sequential, ops),
		per(sample.DiskReadBytes, sample.DiskReads), per(sample.DiskWriteBytes, sample.DiskWrites),
		rate(sample.DiskFlushes, ""), ratio(flushTime, flushes), rate(sample.BlockOps, discards),
		table.Maybe(most, hasMost), table.Maybe(errors, w.Has(sample.BlockOps)),
	}
}

// diskUser is a process or a cgroup on a device.
type diskUser struct {
	pid          int
	cgroup       string
	device, kind string
}

// diskUsers is who uses the devices, with the probe's times.
func diskUsers(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "by_" + q.By, Title: "By " + q.By}
	if q.By == "cgroup" {
		t.Columns = []table.Column{{Key: "cgroup", Head: "I/O CGROUP", Flex: true}}
	} else {
		t.Columns = []table.Column{{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true}}
	}
	t.Columns = append(t.Columns,
		table.Column{Key: "device", Head: "DEVICE"}, table.Column{Key: "op", Head: "OP"},
		table.Column{Key: "ios_per_s", Head: "IO/s", Unit: "count"},
		table.Column{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"},
		table.Column{Key: "mean_size_bytes", Head: "SIZE", Unit: "bytes"},
		table.Column{Key: "queue_seconds", Head: "queue", Unit: "seconds"},
		table.Column{Key: "device_seconds", Head: "device", Unit: "seconds"},
		table.Column{Key: "device_share", Head: "share", Unit: "ratio"},
		table.Column{Key: "sequential_ratio", Head: "seq", Unit: "ratio", Drop: 1},
		table.Column{Key: "errors", Head: "ERR", Unit: "count", Drop: 2})
	share := map[string]float64{}
	g := newGroup(w, func(e sample.Entity) (diskUser, bool) {
		byCgroup := q.By == "cgroup"
		if e.Device == "" || q.Device != "" && e.Device != q.Device || (e.PID == 0) != byCgroup || (e.Cgroup == "") == byCgroup {
			return diskUser{}, false
		}
		switch {
		case byCgroup && q.Cgroup != "" && !inside(e.Cgroup, q.Cgroup):
			return diskUser{}, false
		case !byCgroup && q.narrow() && !q.process(w, e.PID):
			return diskUser{}, false
		}
		return diskUser{e.PID, e.Cgroup, e.Device, e.Class}, true
	})
	g.add(sample.BlockOps, sample.BlockBytes, sample.BlockQueueTime, sample.BlockDeviceTime, sample.BlockSequential, sample.BlockErrors)
	w.Each(sample.BlockDeviceTime, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 && e.Cgroup == "" {
			share[e.Device] += s.Sum()
		}
	})
	keys := g.keys(func(r map[sample.Metric]float64) float64 { return r[sample.BlockDeviceTime] }, func(a, b diskUser) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.cgroup, b.cgroup), cmp.Compare(a.device, b.device), cmp.Compare(a.kind, b.kind))
	})
	for _, k := range keys {
		r := g.rows[k]
		ops := r[sample.BlockOps]
		cells := []table.Cell{pid(k.pid), comm(w, k.pid)}
		if q.By == "cgroup" {
			cells = []table.Cell{table.Str(k.cgroup)}
		}
		t.Rows = append(t.Rows, append(cells, table.Str(k.device), table.Str(k.kind),
			table.Num(ops/w.Seconds()), table.Num(r[sample.BlockBytes]/w.Seconds()), ratio(r[sample.BlockBytes], ops),
			ratio(r[sample.BlockQueueTime], ops), ratio(r[sample.BlockDeviceTime], ops),
			ratio(r[sample.BlockDeviceTime], share[k.device]), ratio(r[sample.BlockSequential], ops), table.Num(r[sample.BlockErrors])))
	}
	return t
}

// diskFiles is what was asked of the devices for each file, through the cache
// or past it where the file is known.
func diskFiles(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "by_file", Title: "By file", Columns: []table.Column{
		{Key: "file", Head: "FILE", Flex: true}, {Key: "device", Head: "DEVICE"}, {Key: "op", Head: "OP"},
		{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"},
	}, Notes: []string{"paths are those that 'iocause files' shows; direct I/O has none here"}}
	type key struct {
		file         sample.FileID
		device, kind string
	}
	g := newGroup(w, func(e sample.Entity) (key, bool) {
		ok := e.File.Ino != 0 && (q.Device == "" || e.Device == q.Device) && q.file(w, e.File)
		return key{e.File, e.Device, e.Class}, ok
	})
	g.add(sample.BlockFileBytes, sample.BlockLowerBytes)
	moved := func(r map[sample.Metric]float64) float64 { return r[sample.BlockFileBytes] + r[sample.BlockLowerBytes] }
	for _, k := range g.keys(moved, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.file.Ino, b.file.Ino), cmp.Compare(a.kind, b.kind), cmp.Compare(a.device, b.device))
	}) {
		t.Rows = append(t.Rows, []table.Cell{table.Str(name(w, k.file)), table.Str(k.device), table.Str(k.kind),
			table.Num(moved(g.rows[k]) / w.Seconds())})
	}
	return t
}
