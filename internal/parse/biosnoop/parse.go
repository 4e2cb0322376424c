// Package biosnoop reads what tools print of every request to a device, or of
// the requests of every process: biosnoop and biotop of bcc, biosnoop.bt of
// bpftrace, iosnoop of perf-tools.
package biosnoop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the table begins: at the names of its columns.
func Find(line string) int {
	if !strings.Contains(line, "COMM") || !strings.Contains(line, "PID") {
		return -1
	}
	if f := columnsOf(line); layoutOf(f) != (layout{}) {
		return strings.Index(line, f[0])
	}
	return -1
}

// columnsOf are the names of columns in a line. Newer versions of bpftrace's tool
// show a device as two numbers.
func columnsOf(line string) []string {
	return strings.Fields(strings.Replace(line, "DISK ID", "MAJOR MINOR", 1))
}

// layout names the columns that hold what is read; "" for those that the tool
// does not have.
type layout struct{ time, disk, kind, bytes, count, queue, latency string }

// layoutOf is the layout of a table, the zero layout when it is of none.
func layoutOf(columns []string) layout {
	has := func(c string) bool { return slices.Contains(columns, c) }
	l := layout{}
	switch {
	case has("DISK") && has("T") && has("BYTES") && has("LAT(ms)"):
		l = layout{time: "TIME(s)", disk: "DISK", kind: "T", bytes: "BYTES", latency: "LAT(ms)"}
		if has("QUE(ms)") {
			l.queue = "QUE(ms)"
		}
	case has("DEV") && has("TYPE") && has("BYTES") && has("LATms"):
		l = layout{disk: "DEV", kind: "TYPE", bytes: "BYTES", latency: "LATms"}
		if has("ENDs") {
			l.time = "ENDs"
		}
	case has("DISK") && has("I/O") && has("Kbytes") && has("AVGms"):
		l = layout{disk: "DISK", kind: "D", bytes: "Kbytes", count: "I/O", latency: "AVGms"}
	case has("TIME(ms)") && has("LAT(ms)") && !has("BYTES"): // of bpftrace: neither bytes nor which operation
		l = layout{time: "TIME(ms)", latency: "LAT(ms)"}
		if has("DISK") {
			l.disk = "DISK"
		}
	}
	return l
}

type reader struct {
	columns []string
	layout  layout
	every   float64 // of biotop
	begun   float64
	started bool
	second  int
	last    float64
	rows    int
	open    bool // rows since the last interval
	sums    map[sample.Entity]*sums
	hists   map[sample.Entity]*sample.Histogram
	procs   map[int]bool
}

type sums struct{ ops, bytes, queue, device float64 }

const maxEntries = 4096

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{
		every: lines.Interval(lines.Command(before, "biotop")), sums: map[sample.Entity]*sums{},
		hists: map[sample.Entity]*sample.Histogram{}, procs: map[int]bool{},
	}
	if r.every == 0 {
		r.every = 1
	}
	return lines.Trim(r)
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case Find(text) == 0:
		columns := columnsOf(text)
		if r.rows > 0 && !slices.Equal(columns, r.columns) {
			return lines.Another, nil
		}
		if r.layoutCounts() && r.open {
			r.flush(r.every, into)
		}
		r.columns, r.layout = columns, layoutOf(columns)
		return lines.Used, nil
	case strings.Contains(text, "loadavg:"), text == "MAJOR MINOR":
		return lines.Skipped, nil
	}
	row, ok := lines.Named(r.columns, text, "COMM")
	pid, err := strconv.Atoi(row["PID"])
	if !ok || err != nil || pid < 0 || pid > 1<<22 {
		if f := strings.Fields(text); len(f) >= 5 && len(lines.Numbers(f[:1])) == 1 && len(lines.Numbers(f[len(f)-1:])) == 1 {
			return lines.Broken, fmt.Errorf("not the %d columns of the table: the line is cut off", len(r.columns))
		}
		return lines.Foreign, nil
	}
	return r.row(row, pid, l.N, into)
}

func (r *reader) layoutCounts() bool { return r.layout.count != "" }

// row reads one request, or those of a process in an interval.
func (r *reader) row(row map[string]string, pid, n int, into lines.Values) (lines.Use, error) {
	y := r.layout
	size, ok1 := lines.Number(row[y.bytes])
	latency, ok2 := lines.Number(row[y.latency])
	ok1 = ok1 || y.bytes == ""
	if !ok1 || !ok2 {
		return lines.Broken, fmt.Errorf("%.20q bytes in %.20q ms: not numbers", row[y.bytes], row[y.latency])
	}
	count, queue := 1.0, 0.0
	if y.count != "" {
		count, _ = lines.Number(row[y.count])
		size *= 1024
		latency *= count
	}
	if y.queue != "" {
		queue, _ = lines.Number(row[y.queue])
	}
	if at, ok := lines.Number(row[y.time]); ok && y.time != "" {
		if y.bytes == "" {
			at /= 1e3 // of bpftrace, in ms
		}
		if !r.started {
			r.begun, r.started = at, true
		}
		if at-r.begun > float64(r.second+3600) {
			return lines.Broken, fmt.Errorf("the time jumps from %g to %g s", r.last, at)
		}
		for at-r.begun >= float64(r.second+1) {
			r.flush(1, into)
			r.second++
		}
		r.last = max(r.last, at)
	}
	into.At(n)
	kind := "other"
	switch t := row[y.kind]; {
	case strings.Contains(t, "R"):
		kind = "read"
	case strings.Contains(t, "W"):
		kind = "write"
	}
	name := strings.ReplaceAll(row[y.disk], ",", ":")
	if row["MAJOR"] != "" {
		name = row["MAJOR"] + ":" + row["MINOR"]
	}
	if y.kind == "" {
		kind = ""
	}
	device := sample.Entity{Device: name, Class: kind}
	r.add(device, count, size, queue/1e3, latency/1e3)
	if pid > 0 && (r.procs[pid] || len(r.procs) < maxEntries) {
		r.procs[pid] = true
		into.Process(pid, sample.Process{Comm: row["COMM"]})
		r.add(sample.Entity{PID: pid, Device: device.Device, Class: kind}, count, size, queue/1e3, latency/1e3)
	}
	if y.count == "" {
		h := r.hists[device]
		if h == nil {
			if len(r.hists) >= maxEntries {
				return lines.Used, nil
			}
			h = &sample.Histogram{Unit: "nanoseconds"}
			r.hists[device] = h
		}
		h.Add(uint64(min(latency*1e6, 1e18)))
	}
	r.rows++
	r.open = true
	return lines.Used, nil
}

func (r *reader) add(e sample.Entity, ops, bytes, queue, device float64) {
	s := r.sums[e]
	if s == nil {
		if len(r.sums) >= 4*maxEntries {
			return
		}
		s = &sums{}
		r.sums[e] = s
	}
	s.ops, s.bytes, s.queue, s.device = s.ops+ops, s.bytes+bytes, s.queue+queue, s.device+device
}

// flush ends an interval.
func (r *reader) flush(seconds float64, into lines.Values) {
	for e, s := range r.sums {
		if s.ops == 0 {
			continue
		}
		if r.layout.bytes == "" { // which operations they are is not told, and so they are of none
			if e.PID == 0 && e.Device != "" {
				into.Put(sample.DiskWeighted, e, s.device)
			}
			*s = sums{}
			continue
		}
		into.Put(sample.BlockOps, e, s.ops)
		into.Put(sample.BlockBytes, e, s.bytes)
		into.Put(sample.BlockQueueTime, e, s.queue)
		into.Put(sample.BlockDeviceTime, e, s.device)
		if e.PID == 0 && e.Class != sample.ClassOther {
			d := sample.Entity{Device: e.Device}
			ops, size, took := sample.DiskReads, sample.DiskReadBytes, sample.DiskReadTime
			if e.Class == sample.ClassWrite {
				ops, size, took = sample.DiskWrites, sample.DiskWriteBytes, sample.DiskWriteTime
			}
			into.Put(ops, d, s.ops)
			into.Put(size, d, s.bytes)
			into.Put(took, d, s.queue+s.device)
			into.Put(sample.DiskWeighted, d, s.queue+s.device)
		}
		*s = sums{}
	}
	into.Tick(seconds)
	r.open = false
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows == 0 {
		return
	}
	for e, h := range r.hists {
		into.Histogram(sample.HistDevice, e, *h)
	}
	switch {
	case r.layoutCounts():
		r.flush(r.every, into)
	case r.started:
		r.flush(max(r.last-r.begun-float64(r.second), 1e-3), into)
	default:
		into.Note("iosnoop shows no times (use -t): without its duration, rates and the number in flight are unknown")
	}
	if r.layout.bytes == "" {
		into.Note("biosnoop.bt of bpftrace shows neither bytes nor whether a request reads or writes, and latencies in whole milliseconds: biosnoop of bcc shows these")
	}
	into.Note("a request shows the process that was on the processor when it was issued, which may be a kernel thread")
}
