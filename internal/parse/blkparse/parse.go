// Package blkparse reads the events that blkparse(1) prints in its default
// format, or in one that its command tells: what was queued (Q), issued (D) and completed (C), and by whom.
package blkparse

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Bounds on what is kept of requests under way and of processes.
const (
	maxFlight  = 1 << 16
	maxEntries = 4096
	sector     = 512
)

// event is one line.
type event struct {
	major, minor, action, rwbs, comm string
	device                           string // set by the reader
	pid                              int
	at                               float64
	sector, bytes                    float64
}

// Find says where in a line an event begins, or a command that says how events
// look.
func Find(line string) int {
	if at := commandAt(line); at >= 0 {
		return at
	}
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
	var f [10]string
	n := lines.Split(line, f[:])
	if n < 7 || len(f[5]) > 2 || f[5][0] < 'A' || f[5][0] > 'Z' {
		return e, false
	}
	major, minor, ok := strings.Cut(f[0], ",")
	dot := strings.IndexByte(f[3], '.')
	if !ok || !digits(major) || !digits(minor) || !digits(f[1]) || !digits(f[2]) || dot < 1 || !digits(f[3][:dot]) || !digits(f[3][dot+1:]) {
		return e, false
	}
	var err error
	if e.at, err = strconv.ParseFloat(f[3], 64); err != nil || e.at >= 1e9 {
		return e, false
	}
	if e.pid, err = strconv.Atoi(f[4]); err != nil || e.pid < 0 {
		return e, false
	}
	e.major, e.minor, e.action, e.rwbs = major, minor, f[5], f[6]
	if n == 10 && f[8] == "+" && digits(f[7]) && digits(f[9]) {
		e.sector, _ = strconv.ParseFloat(f[7], 64)
		e.bytes, _ = strconv.ParseFloat(f[9], 64)
		e.bytes *= sector
	}
	if i := strings.IndexByte(line, '['); i >= 0 {
		if rest := strings.TrimRight(line[i+1:], " "); strings.HasSuffix(rest, "]") {
			e.comm = rest[:len(rest)-1]
		}
	}
	return e, e.bytes < 1<<40
}

func digits(s string) bool {
	if s == "" || len(s) > 18 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
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
	format  *format // nil is the default one
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
	names   map[[2]string]string
	sums    map[sample.Entity]*sums
	depths  map[depthClass]*sums
	hists   map[sample.Entity]*sample.Histogram
}

// sums is what was counted in the interval under way.
type sums struct {
	ops, bytes, queue, device float64
	first, last               int // lines
}

type depthClass struct {
	device, kind string
	size, depth  uint64
}

// New makes a reader.
func New(string) lines.Reader {
	return lines.Trim(&reader{
		flight: map[place]request{}, depth: map[string]int{}, procs: map[int]bool{}, names: map[[2]string]string{},
		sums: map[sample.Entity]*sums{}, depths: map[depthClass]*sums{}, hists: map[sample.Entity]*sample.Histogram{},
	})
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	if at := commandAt(text); at >= 0 {
		if r.started || r.format != nil {
			return lines.Another, nil
		}
		r.format = formatOf(text[at:])
		return lines.Skipped, nil
	}
	e, ok := r.parse(text)
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
		r.flush(into)
		into.Tick(1)
		r.second++
	}
	r.last = max(r.last, e.at)
	number := [2]string{e.major, e.minor}
	if e.device = r.names[number]; e.device == "" {
		if len(r.names) >= 256 {
			r.full++
			return lines.Skipped, nil
		}
		e.device = name(strings.Clone(e.major), strings.Clone(e.minor))
		r.names[[2]string{strings.Clone(e.major), strings.Clone(e.minor)}] = e.device
	}
	r.event(&e, l.N, into)
	return lines.Used, nil
}

// parse reads an event in the format of the output.
func (r *reader) parse(text string) (event, bool) {
	if r.format != nil {
		return r.format.parse(text)
	}
	return parse(text)
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

func (r *reader) event(e *event, n int, into lines.Values) {
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
		if !r.procs[e.pid] && len(r.procs) < maxEntries {
			r.procs[e.pid] = true
			into.Process(e.pid, sample.Process{Comm: strings.Clone(e.comm)})
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
		r.complete(e, kind, q, n)
	}
}

// complete counts one request, for its device and its process.
func (r *reader) complete(e *event, kind string, q request, n int) {
	r.done++
	if q.issued < q.queued {
		q.issued = q.queued
	}
	queue, device := max(0, q.issued-q.queued), max(0, e.at-q.issued)
	r.add(sample.Entity{Device: e.device, Class: kind}, e.bytes, queue, device, n)
	if r.procs[q.pid] && q.pid > 0 {
		r.add(sample.Entity{PID: q.pid, Device: e.device, Class: kind}, e.bytes, queue, device, n)
	}
	k := depthClass{e.device, kind, power(e.bytes), power(float64(q.depth))}
	d := r.depths[k]
	if d == nil {
		if len(r.depths) >= maxEntries {
			return
		}
		d = &sums{first: n}
		r.depths[k] = d
	}
	d.ops, d.device, d.last = d.ops+1, d.device+queue+device, n
	h := r.hists[sample.Entity{Device: e.device, Class: kind}]
	if h == nil {
		h = &sample.Histogram{Unit: "nanoseconds"}
		r.hists[sample.Entity{Device: e.device, Class: kind}] = h
	}
	h.Add(uint64(device * 1e9))
}

func (r *reader) add(e sample.Entity, bytes, queue, device float64, n int) {
	s := r.sums[e]
	if s == nil {
		s = &sums{}
		r.sums[e] = s
	}
	if s.ops == 0 {
		s.first = n
	}
	s.ops, s.bytes, s.queue, s.device, s.last = s.ops+1, s.bytes+bytes, s.queue+queue, s.device+device, n
}

// flush hands over what was counted in the interval.
func (r *reader) flush(into lines.Values) {
	for e, s := range r.sums {
		if s.ops == 0 {
			continue
		}
		put := func(m sample.Metric, e sample.Entity, v float64) {
			into.At(s.first)
			into.Put(m, e, v)
			into.At(s.last)
			into.Put(m, e, 0)
		}
		put(sample.BlockOps, e, s.ops)
		put(sample.BlockBytes, e, s.bytes)
		put(sample.BlockQueueTime, e, s.queue)
		put(sample.BlockDeviceTime, e, s.device)
		if e.PID == 0 {
			d := sample.Entity{Device: e.Device}
			ops, size, took := sample.DiskReads, sample.DiskReadBytes, sample.DiskReadTime
			if e.Class == sample.ClassWrite {
				ops, size, took = sample.DiskWrites, sample.DiskWriteBytes, sample.DiskWriteTime
			}
			put(ops, d, s.ops)
			put(size, d, s.bytes)
			put(took, d, s.queue+s.device)
			put(sample.DiskWeighted, d, s.queue+s.device)
		}
		*s = sums{}
	}
}

// power rounds down to a power of two.
func power(v float64) uint64 { return 1 << sample.Bucket(uint64(max(1, v))) }

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if !r.started {
		return
	}
	r.flush(into)
	for k, d := range r.depths {
		e := sample.Entity{Device: k.device, Class: sample.IOClass{Op: k.kind, Size: k.size, Depth: k.depth}.String()}
		into.At(d.first)
		into.Put(sample.BlockDepthOps, e, d.ops)
		into.Put(sample.BlockDepthTime, e, d.device)
		into.At(d.last)
		into.Put(sample.BlockDepthOps, e, 0)
		into.Put(sample.BlockDepthTime, e, 0)
	}
	for e, h := range r.hists {
		into.Histogram(sample.HistDevice, e, *h)
	}
	into.Tick(max(r.last-r.begun-float64(r.second), 1e-3))
	if r.done == 0 {
		into.Note("blkparse: no request is shown from start to end")
	}
	if r.unknown > 0 {
		into.Note(fmt.Sprintf("blkparse: the start of %d completed requests is not in the text", r.unknown))
	}
	if n := len(r.flight); n > 0 {
		into.Note(fmt.Sprintf("blkparse: the end of %s is not in the text", sample.Counted(n, "request")))
	}
	if r.full > 0 {
		into.Note(fmt.Sprintf("blkparse: %s left out: more than %d at once", sample.Counted(r.full, "request"), maxFlight))
	}
}
