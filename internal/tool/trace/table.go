package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/table"
)

// tables sums up a trace of that length.
func (t *tally) tables(length time.Duration) []table.Table {
	processes, files := t.processTable(), t.fileTable()
	// of those that are alike, in an order that does not change; the columns are there
	_, _ = processes.Sort("pid"), files.Sort("file")
	return []table.Table{processes, files, t.diskTable(length), t.ownerTable()}
}

func sumsColumns() []table.Column {
	return []table.Column{
		{Key: "ios", Head: "I/Os", Unit: "count"},
		{Key: "read_bytes", Head: "READ", Unit: "bytes"}, {Key: "written_bytes", Head: "WRITTEN", Unit: "bytes"},
		{Key: "queue_seconds", Head: "QUEUE", Unit: "seconds"}, {Key: "device_seconds", Head: "DEVICE", Unit: "seconds"},
		{Key: "p99_seconds", Head: "P99", Unit: "seconds"}, {Key: "max_seconds", Head: "MAX", Unit: "seconds", Drop: 1},
		{Key: "errors", Head: "ERR", Unit: "count"},
		{Key: "reads", Head: "READS", Unit: "count", Drop: 2}, {Key: "writes", Head: "WRITES", Unit: "count", Drop: 3},
		{Key: "others", Head: "OTHERS", Unit: "count", Drop: 4},
	}
}

func (s *sums) cells() []table.Cell {
	mean := func(d time.Duration) table.Cell {
		return table.Maybe(d.Seconds()/float64(max(s.queued, 1)), s.queued > 0)
	}
	return []table.Cell{
		table.Num(float64(s.ios())), table.Num(float64(s.read)), table.Num(float64(s.written)),
		mean(s.queue), mean(s.device),
		table.Num(s.times.Quantile(0.99).Seconds()), table.Num(s.times.Most().Seconds()), table.Num(float64(s.errors)),
		table.Num(float64(s.reads)), table.Num(float64(s.writes)), table.Num(float64(s.others)),
	}
}

func (t *tally) processTable() table.Table {
	out := table.Table{Key: "processes", Title: "By process (queue and device: mean time of an I/O; p99, max: both together)",
		Columns: append([]table.Column{{Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"}}, sumsColumns()...)}
	for p, s := range t.processes {
		out.Rows = append(out.Rows, append([]table.Cell{table.Str(p.comm), table.Str(fmt.Sprint(p.pid))}, s.cells()...))
	}
	return out
}

// fileColumns leaves the width to the path: up to the 99th percentile.
const fileColumns = 6

func (t *tally) fileTable() table.Table {
	out := table.Table{Key: "files", Title: "By file, where it is known",
		Columns: append([]table.Column{{Key: "file", Head: "FILE", Flex: true}}, sumsColumns()[:fileColumns]...)}
	for f, s := range t.files {
		out.Rows = append(out.Rows, append([]table.Cell{table.Str(f)}, s.cells()[:fileColumns]...))
	}
	return out
}

// diskTable is the view below the averages of a second.
func (t *tally) diskTable(length time.Duration) table.Table {
	out := table.Table{Key: "disks", Title: "Microbursts: what was completed, in seconds and in bins of 10 ms",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "measure", Head: "OF"},
			{Key: "mean_per_s", Head: "MEAN/s", Unit: "count"}, {Key: "peak_1s_per_s", Head: "TOP 1 s", Unit: "count"},
			{Key: "peak_10ms_per_s", Head: "TOP 10 ms", Unit: "count"}, {Key: "plateau_per_s", Head: "PLATEAU/s", Unit: "count"},
			{Key: "plateau_time_ratio", Head: "TIME AT IT", Unit: "ratio"}, {Key: "idle_ratio", Head: "IDLE", Unit: "ratio"},
		}}
	for _, name := range t.names() {
		d := t.disks[name]
		for _, m := range []struct {
			name string
			of   func(*bin) uint64
		}{{"I/Os", func(b *bin) uint64 { return b.ops }}, {"bytes", func(b *bin) uint64 { return b.bytes }}} {
			v := d.series(length, m.of)
			if len(v) == 0 {
				continue
			}
			var sum, second, topSecond, top, idle float64
			for i, x := range v {
				if i%binsOfSecond == 0 {
					second = 0
				}
				sum += float64(x)
				second += float64(x)
				topSecond, top = max(topSecond, second), max(top, float64(x))
				if x == 0 {
					idle++
				}
			}
			p := detect.PlateauOf(v)
			out.Rows = append(out.Rows, []table.Cell{table.Str(name), table.Str(m.name),
				table.Num(sum * binsOfSecond / float64(len(v))), table.Maybe(topSecond, len(v) >= binsOfSecond), table.Num(top * binsOfSecond),
				table.Num(p.Level * binsOfSecond), table.Num(p.Share), table.Num(idle / float64(len(v)))})
		}
		if d.first > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: only the last %s are in this table", name, table.Duration(float64(len(d.bins))/binsOfSecond)))
		}
	}
	return out
}

// ownerTable tells whose the I/Os at the plateau are.
func (t *tally) ownerTable() table.Table {
	out := table.Table{Key: "bursts", Title: "Who did the I/Os at the plateau, and in the other bins",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"},
			{Key: "plateau_ios", Head: "AT PLATEAU", Unit: "count"}, {Key: "plateau_ratio", Head: "SHARE", Unit: "ratio"},
			{Key: "below_ratio", Head: "SHARE BELOW", Unit: "ratio"}, {Key: "cgroup", Head: "CGROUP", Flex: true},
		}}
	for _, name := range t.names() {
		d := t.disks[name]
		p := detect.PlateauOf(d.series(0, func(b *bin) uint64 { return b.ops }))
		at, under := map[uint32]uint64{}, map[uint32]uint64{}
		var allAt, allUnder uint64
		for i := range d.bins {
			in, all := under, &allUnder
			if p.At(d.bins[i].ops) {
				in, all = at, &allAt
			}
			for _, s := range d.bins[i].owners {
				in[s.owner] += uint64(s.ops)
				*all += uint64(s.ops)
			}
		}
		var rows [][]table.Cell
		for owner, n := range at {
			o := t.ownerOf[owner]
			cgroup := table.Str(o.cgroup)
			if o.cgroup == "" {
				cgroup = table.None()
			}
			rows = append(rows, []table.Cell{table.Str(name), table.Str(o.comm), table.Str(fmt.Sprint(o.pid)), table.Num(float64(n)),
				table.Num(float64(n) / float64(allAt)), table.Maybe(float64(under[owner])/float64(max(allUnder, 1)), allUnder > 0), cgroup})
		}
		slices.SortFunc(rows, func(a, b []table.Cell) int {
			return cmp.Or(cmp.Compare(b[3].Number, a[3].Number), strings.Compare(a[2].Text, b[2].Text), strings.Compare(a[6].Text, b[6].Text))
		})
		out.Rows = append(out.Rows, rows...)
	}
	return out
}
