// Package blkparse reads the events that blkparse(1) prints in its default
// format: what was queued (Q), issued (D) and completed (C), and by whom.
package blkparse

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines"
)

// Bounds on what is kept of requests under way and of processes.
const (
	maxFlight  = 1 << 16
	maxEntries = 4096
	sector     = 512
)

// event is one line.
type event struct {
	device, action, rwbs, comm string
	pid                        int
	at                         float64
	sector, bytes              float64
}

// Find says where in a line an event begins.
func Find(line string) int {
	if len(line) < 30 || strings.IndexByte(line[:8], ',') < 0 {
		return -1
	}
	if _, ok := parse(line); ok {
		return 0
	}
	return -1
}

// parse reads "8,0 3 1 0.000107041 35 Q WM 223490 + 8 [kworker/3:1]".
func parse(line string) (e event, ok bool) {
	f := strings.Fields(line)
	if len(f) < 7 {
		return e, false
	}
	major, minor, ok := strings.Cut(f[0], ",")
	if len(lines.Numbers([]string{major, minor, f[1], f[2], f[3], f[4]})) != 6 || !ok || !strings.Contains(f[3], ".") {
		return e, false
	}
	if len(f[5]) > 2 || f[5][0] < 'A' || f[5][0] > 'Z' {
		return e, false
	}
	e.device, e.action, e.rwbs = name(major, minor), f[5], f[6]
	e.at, _ = lines.Number(f[3])
	e.pid, _ = strconv.Atoi(f[4])
	if i := strings.IndexByte(line, '['); i >= 0 && strings.HasSuffix(strings.TrimSpace(line), "]") {
		e.comm = strings.TrimSuffix(strings.TrimSpace(line[i+1:]), "]")
	}
	if len(f) >= 10 && f[8] == "+" {
		v := lines.Numbers([]string{f[7], f[9]})
		if len(v) == 2 {
			e.sector, e.bytes = v[0], v[1]*sector
		}
	}
	return e, e.at < 1e9
}

// name is the kernel's name of a disk where its number tells it.
func name(major, minor string) string {
	if n, err := strconv.Atoi(minor); err == nil && major == "8" && n%16 == 0 && n < 16*26 {
		return "sd" + string(rune('a'+n/16))
	}
	return major + ":" + minor
}

// class is what a request does, "" for what is not counted.
func class(rwbs string) string {
	switch {
	case strings.Contains(rwbs, "D"):
		return ""
	case strings.Contains(rwbs, "R"):
		return "read"
	case strings.Contains(rwbs, "W"):
		return "write"
	}
	return ""
}

type place struct {
	device string
	sector float64
}

// request is a request under way.
type request struct {
	queued, issued float64
	pid            int
	depth          int
}

type reader struct {
	flight  map[place]request
	depth   map[string]int // under way, by device
	procs   map[int]bool
	begun   float64
	second  int
	started bool
	last    float64
	done    int
	unknown int // completions whose beginning was not seen
	full    int // requests that there was no room for
}

// New makes a reader.
func New(string) lines.Reader {
	return &reader{flight: map[place]request{}, depth: map[string]int{}, procs: map[int]bool{}}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if text == "" {
		return lines.Skipped, nil
	}
	e, ok := parse(text)
	if !ok {
		if r.done > 0 && summary(text) {
			return lines.Skipped, nil
		}
		return lines.Foreign, nil
	}
	if !r.started {
		r.started, r.begun, r.last = true, e.at, e.at
	}
	for e.at-r.begun >= float64(r.second+1) { // one interval a second
		if e.at-r.begun > float64(r.second+3600) {
			return lines.Broken, fmt.Errorf("the time jumps from %g to %g s", r.last, e.at)
		}
		into.Tick(1)
		r.second++
	}
	into.At(l.N)
	r.last = max(r.last, e.at)
	r.event(&e, into)
	return lines.Used, nil
}

// summary tells the lines that blkparse ends with.
func summary(text string) bool {
	for _, p := range []string{"CPU", "Total (", "Reads Queued", "Read Dispatches", "Reads Requeued", "Reads Completed", "Read Merges", "Read depth", "PC Reads", "IO unplugs", "Throughput (", "Events (", "Skips:"} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func (r *reader) event(e *event, into lines.Values) {
	kind := class(e.rwbs)
	if kind == "" || e.bytes == 0 {
		return
	}
	at := place{e.device, e.sector}
	q, known := r.flight[at]
	switch e.action {
	case "Q":
		if known {
			return // asked for twice: the first one counts
		}
		if len(r.flight) >= maxFlight {
			r.full++
			return
		}
		r.depth[e.device]++
		r.flight[at] = request{queued: e.at, issued: -1, pid: e.pid, depth: r.depth[e.device]}
		if len(r.procs) < maxEntries || r.procs[e.pid] {
			r.procs[e.pid] = true
			into.Process(e.pid, sample.Process{Comm: e.comm})
		}
	case "M", "F": // merged into another request
		if known {
			delete(r.flight, at)
			r.depth[e.device]--
		}
	case "D":
		if known && q.issued < 0 {
			q.issued = e.at
			r.flight[at] = q
		}
	case "C":
		if !known {
			r.unknown++
			return
		}
		delete(r.flight, at)
		r.depth[e.device]--
		r.complete(e, kind, q, into)
	}
}

// complete counts one request, for its device and its process.
func (r *reader) complete(e *event, kind string, q request, into lines.Values) {
	r.done++
	if q.issued < q.queued {
		q.issued = q.queued
	}
	queue, device := max(0, q.issued-q.queued), max(0, e.at-q.issued)
	keys := []sample.Entity{{Device: e.device, Class: kind}}
	if r.procs[q.pid] && q.pid > 0 {
		keys = append(keys, sample.Entity{PID: q.pid, Device: e.device, Class: kind})
	}
	for _, k := range keys {
		into.Put(sample.BlockOps, k, 1)
		into.Put(sample.BlockBytes, k, e.bytes)
		into.Put(sample.BlockQueueTime, k, queue)
		into.Put(sample.BlockDeviceTime, k, device)
	}
	d := sample.Entity{Device: e.device}
	ops, size, took := sample.DiskReads, sample.DiskReadBytes, sample.DiskReadTime
	if kind == "write" {
		ops, size, took = sample.DiskWrites, sample.DiskWriteBytes, sample.DiskWriteTime
	}
	into.Put(ops, d, 1)
	into.Put(size, d, e.bytes)
	into.Put(took, d, queue+device)
	into.Put(sample.DiskWeighted, d, queue+device)
	depth := sample.Entity{Device: e.device, Class: fmt.Sprintf("%s %d %d", kind, power(e.bytes), power(float64(q.depth)))}
	into.Put(sample.BlockDepthOps, depth, 1)
	into.Put(sample.BlockDepthTime, depth, queue+device)
	h := sample.Histogram{Unit: "nanoseconds"}
	h.Add(uint64(device * 1e9))
	into.Histogram(sample.HistDevice, sample.Entity{Device: e.device, Class: kind}, h)
}

// power rounds down to a power of two.
func power(v float64) uint64 { return 1 << sample.Bucket(uint64(max(1, v))) }

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if !r.started {
		return
	}
	into.Tick(max(r.last-r.begun-float64(r.second), 1e-3))
	if r.done == 0 {
		into.Note("blkparse: no request is shown from its beginning to its end")
	}
	if r.unknown > 0 {
		into.Note(fmt.Sprintf("blkparse: the beginning of %d completed requests is not in the text", r.unknown))
	}
	if n := len(r.flight); n > 0 {
		into.Note(fmt.Sprintf("blkparse: the end of %d requests is not in the text", n))
	}
	if r.full > 0 {
		into.Note(fmt.Sprintf("blkparse: %d requests were left out: more than %d at once", r.full, maxFlight))
	}
}
