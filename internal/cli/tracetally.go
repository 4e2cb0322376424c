package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/table"
)

const (
	tallyBin   = 10 * time.Millisecond
	tallyBins  = 100     // in a second
	mostTally  = 1 << 14 // processes or files; the rest are summed up
	mostBins   = 360_000 // of a disk: an hour; then the older half is forgotten
	otherTally = "(others)"
)

// ioTally sums up a trace.
type ioTally struct {
	n         uint64
	processes map[ioProcess]*ioSums
	files     map[string]*ioSums
	disks     map[string]*ioDisk
	owners    map[ioOwner]uint32
	ownerOf   []ioOwner
}

type ioProcess struct {
	pid  int
	comm string
}

type ioOwner struct {
	ioProcess
	cgroup string
}

// ioSums are the I/Os of somebody.
type ioSums struct {
	reads, writes, others, errors uint64
	read, written                 uint64 // bytes
	queue, device                 time.Duration
	queued                        uint64 // of which the queue time is known
	times                         detect.Times
}

func (s *ioSums) add(x *sample.IO) {
	switch x.Flags.Op() {
	case "read":
		s.reads++
		s.read += x.Bytes
	case "write":
		s.writes++
		s.written += x.Bytes
	default:
		s.others++
	}
	if x.Status != 0 {
		s.errors++
	}
	if x.Queue >= 0 {
		s.queue += x.Queue
		s.device += x.Device
		s.queued++
	}
	s.times.Add(x.Latency())
}

func (s *ioSums) ios() uint64 { return s.reads + s.writes + s.others }

// ioDisk is what a disk completed in every 10 ms, and whose it was.
type ioDisk struct {
	first int64 // number of the first bin that is kept
	bins  []ioBin
}

type ioBin struct {
	ops, bytes uint64
	owners     []ioShare
}

type ioShare struct {
	owner uint32
	ops   uint32
}

func newTally() *ioTally {
	return &ioTally{processes: map[ioProcess]*ioSums{}, files: map[string]*ioSums{}, disks: map[string]*ioDisk{}, owners: map[ioOwner]uint32{}}
}

// sumsOf is the row of a key, and that of the rest when there are too many.
func sumsOf[K comparable](rows map[K]*ioSums, key, others K) *ioSums {
	s := rows[key]
	if s == nil {
		if len(rows) >= mostTally {
			key = others
			if s = rows[key]; s != nil {
				return s
			}
		}
		s = &ioSums{}
		rows[key] = s
	}
	return s
}

// add counts one I/O.
func (t *ioTally) add(x *sample.IO) {
	t.n++
	process := ioProcess{x.PID, x.Comm}
	sumsOf(t.processes, process, ioProcess{0, otherTally}).add(x)
	if x.File != "" {
		sumsOf(t.files, x.File, otherTally).add(x)
	}
	d := t.disks[x.Disk]
	if d == nil {
		d = &ioDisk{}
		t.disks[x.Disk] = d
	}
	if b := d.bin(int64(max(x.End(), 0) / tallyBin)); b != nil {
		b.ops++
		if op := x.Flags.Op(); op == "read" || op == "write" { // discards move nothing
			b.bytes += x.Bytes
		}
		b.share(t.owner(ioOwner{process, x.Cgroup}))
	}
}

func (t *ioTally) owner(o ioOwner) uint32 {
	n, ok := t.owners[o]
	if !ok {
		if len(t.ownerOf) >= mostTally {
			o = ioOwner{ioProcess: ioProcess{0, otherTally}}
			if n, ok = t.owners[o]; ok {
				return n
			}
		}
		n = uint32(len(t.ownerOf))
		t.owners[o] = n
		t.ownerOf = append(t.ownerOf, o)
	}
	return n
}

func (b *ioBin) share(owner uint32) {
	for i := range b.owners {
		if b.owners[i].owner == owner {
			b.owners[i].ops++
			return
		}
	}
	b.owners = append(b.owners, ioShare{owner, 1})
}

// bin is the bin of a number, nil for one that is forgotten.
func (d *ioDisk) bin(n int64) *ioBin {
	if n-d.first >= mostBins*10 || n < d.first {
		return nil // a clock that jumped, or late by half an hour
	}
	for n-d.first >= mostBins {
		drop := min(len(d.bins), mostBins/2)
		if drop == 0 {
			d.first = n
			break
		}
		d.bins = slices.Clone(d.bins[drop:])
		d.first += int64(drop)
	}
	for int64(len(d.bins)) <= n-d.first {
		d.bins = append(d.bins, ioBin{})
	}
	return &d.bins[n-d.first]
}

// tables sums up a trace of that length.
func (t *ioTally) tables(length time.Duration) []table.Table {
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

func (s *ioSums) cells() []table.Cell {
	mean := func(d time.Duration) table.Cell {
		return table.Maybe(d.Seconds()/float64(max(s.queued, 1)), s.queued > 0)
	}
	return []table.Cell{
		table.Num(float64(s.ios())), table.Num(float64(s.read)), table.Num(float64(s.written)),
		mean(s.queue), mean(s.device),
		table.Num(s.times.Quantile(0.99).Seconds()), table.Num(s.times.Max().Seconds()), table.Num(float64(s.errors)),
		table.Num(float64(s.reads)), table.Num(float64(s.writes)), table.Num(float64(s.others)),
	}
}

func (t *ioTally) processTable() table.Table {
	out := table.Table{Key: "processes", Title: "By process (queue and device: mean time of an I/O; p99, max: both together)",
		Columns: append([]table.Column{{Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"}}, sumsColumns()...)}
	for p, s := range t.processes {
		out.Rows = append(out.Rows, append([]table.Cell{table.Str(p.comm), table.Str(fmt.Sprint(p.pid))}, s.cells()...))
	}
	return out
}

// fileColumns leaves the width to the path: up to the 99th percentile.
const fileColumns = 6

func (t *ioTally) fileTable() table.Table {
	out := table.Table{Key: "files", Title: "By file, where it is known",
		Columns: append([]table.Column{{Key: "file", Head: "FILE", Flex: true}}, sumsColumns()[:fileColumns]...)}
	for f, s := range t.files {
		out.Rows = append(out.Rows, append([]table.Cell{table.Str(f)}, s.cells()[:fileColumns]...))
	}
	return out
}

// names of the disks, in order.
func (t *ioTally) names() []string {
	var names []string
	for name := range t.disks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// series is what a disk completed in each bin, idle ones included.
func (d *ioDisk) series(length time.Duration, of func(*ioBin) uint64) []uint64 {
	n := max(int64(len(d.bins)), int64(length/tallyBin)-d.first)
	v := make([]uint64, min(n, mostBins))
	for i := range min(len(d.bins), len(v)) {
		v[i] = of(&d.bins[i])
	}
	return v
}

// diskTable is the view below the averages of a second.
func (t *ioTally) diskTable(length time.Duration) table.Table {
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
			of   func(*ioBin) uint64
		}{{"I/Os", func(b *ioBin) uint64 { return b.ops }}, {"bytes", func(b *ioBin) uint64 { return b.bytes }}} {
			v := d.series(length, m.of)
			if len(v) == 0 {
				continue
			}
			var sum, second, topSecond, top, idle float64
			for i, x := range v {
				if i%tallyBins == 0 {
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
				table.Num(sum * tallyBins / float64(len(v))), table.Maybe(topSecond, len(v) >= tallyBins), table.Num(top * tallyBins),
				table.Num(p.Level * tallyBins), table.Num(p.Share), table.Num(idle / float64(len(v)))})
		}
		if d.first > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: only the last %s are in this table", name, table.Duration(float64(len(d.bins))/tallyBins)))
		}
	}
	return out
}

// ownerTable tells whose the I/Os at the plateau are.
func (t *ioTally) ownerTable() table.Table {
	out := table.Table{Key: "bursts", Title: "Whose the I/Os at the plateau are, and in the other bins",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"},
			{Key: "plateau_ios", Head: "AT PLATEAU", Unit: "count"}, {Key: "plateau_ratio", Head: "SHARE", Unit: "ratio"},
			{Key: "below_ratio", Head: "SHARE BELOW", Unit: "ratio"}, {Key: "cgroup", Head: "CGROUP", Flex: true},
		}}
	for _, name := range t.names() {
		d := t.disks[name]
		p := detect.PlateauOf(d.series(0, func(b *ioBin) uint64 { return b.ops }))
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
