// Package histogram reads the histograms that biolatency and bitesize print:
// those of bcc ("16 -> 31 : 1620 |***|") and of bpftrace ("[16, 32) 1620 |@@@|").
package histogram

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// units are what the head of a histogram can say that it counts, in
// nanoseconds or bytes.
func units(word string) (scale float64, size, ok bool) {
	switch strings.ToLower(strings.Trim(word, "@:[] ")) {
	case "nsecs", "ns":
		return 1, false, true
	case "usecs", "us":
		return 1e3, false, true
	case "msecs", "ms":
		return 1e6, false, true
	case "kbytes", "kb":
		return 1 << 10, true, true
	case "bytes":
		return 1, true, true
	}
	return 0, false, false
}

// Find says where in a line a histogram begins: at its head.
func Find(line string) int {
	if strings.Contains(line, ": count") && strings.Contains(line, "distribution") {
		at := strings.Index(line, ": count")
		f := strings.Fields(line[:at])
		if len(f) > 0 {
			if _, _, ok := units(f[len(f)-1]); ok {
				return strings.LastIndex(line[:at], f[len(f)-1])
			}
		}
	}
	if at := strings.Index(line, ">=("); at >= 0 && strings.Contains(line[at:], ": I/O") { // iolatency of perf-tools
		if unit, _, ok := strings.Cut(line[at+3:], ")"); ok {
			if _, _, ok := units(unit); ok {
				return at
			}
		}
	}
	if at := strings.Index(line, sizes); at >= 0 {
		return at
	}
	if text := strings.TrimLeft(line, " "); strings.HasPrefix(text, "@") && strings.HasSuffix(strings.TrimSpace(text), ":") {
		name, _, _ := strings.Cut(text, "[")
		if _, _, ok := units(strings.TrimSpace(name)); ok {
			return len(line) - len(text)
		}
	}
	return -1
}

// sizes is how bitesize of bpftrace begins; "@[NAME]:" is above each histogram.
const sizes = "I/O size (bytes) histograms by process name:"

type reader struct {
	scale  float64
	size   bool
	entity sample.Entity
	named  bool   // "@[NAME]:" says whose the next histogram is
	below  bool   // rows hold what is below their upper bound
	queue  bool   // -Q: time in the queue is included
	other  string // what it counts where that is no I/O of a device
	rows   int
	first  int
	name   string             // of the process that the next histogram is of
	moved  map[string]float64 // bytes by process
	hist   sample.Histogram
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{moved: map[string]float64{}}
	_, r.queue = lines.Option(lines.Command(before, "biolatency"), 'Q')
	tail := before[max(0, len(before)-400):]
	for _, line := range strings.Split(tail, "\n") {
		switch what := title(line); {
		case what == device:
			r.other = ""
		case what != "":
			r.other = what
		default:
			r.section(line)
		}
	}
	return r
}

const device = "device"

// title reads the line that tools of bcc begin with, and what their histograms
// then count; "" for other lines.
func title(line string) string {
	_, what, ok := strings.Cut(line, "Tracing ")
	if !ok {
		return ""
	}
	if strings.HasPrefix(what, "block ") {
		return device
	}
	for _, known := range []string{"run queue latency", "on-CPU time", "off-CPU time", "operation latency", "functions for", "TCP RTT", "tcp rtt",
		"workqueue", "work queue", "soft irq", "hard irq", "virtual file system", "VFS"} {
		if strings.Contains(what, known) {
			return known
		}
	}
	return ""
}

// section reads the line that says what the next histogram is of.
func (r *reader) section(line string) bool {
	if r.named {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "@[")
		name, end := strings.CutSuffix(name, "]:")
		if ok && end {
			r.entity, r.name = sample.Entity{}, name
		}
		return ok && end
	}
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		return false
	}
	value = strings.Trim(strings.TrimPrefix(strings.TrimSpace(value), "b'"), "'\"")
	switch strings.TrimSpace(name) {
	case "disk":
		r.entity = sample.Entity{Device: value}
	case "flags":
		switch value = strings.ToLower(value); {
		case strings.Contains(value, "read"):
			r.entity.Class = sample.ClassRead
		case strings.Contains(value, "write"):
			r.entity.Class = sample.ClassWrite
		default:
			r.entity.Class = sample.ClassOther
		}
	case "Process Name":
		r.entity, r.name = sample.Entity{}, value
	case "operation": // of ext4dist and its kin: a call, which the cache may serve
		r.other = "the operation " + value
	case "softirq", "hardirq", "func", "Function", "wq", "tid", "pidns":
		r.other = strings.TrimSpace(name) + " " + value
	default:
		return false
	}
	return true
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if at := Find(text); at >= 0 {
		r.flush(into)
		if strings.Contains(text, sizes) {
			r.scale, r.size, r.named = 1, true, true
			return lines.Used, nil
		}
		word := strings.Fields(text[at:])[0]
		word, _, _ = strings.Cut(word, "[")
		r.below = strings.HasPrefix(word, ">=(")
		if r.below {
			word, _, _ = strings.Cut(word[3:], ")")
		}
		r.scale, r.size, _ = units(word)
		r.first = l.N
		return lines.Used, nil
	}
	if text == "" || r.scale == 0 {
		return lines.Skipped, nil
	}
	if _, ok := lines.Number(strings.ReplaceAll(text, ":", "")); ok && strings.Count(text, ":") == 2 {
		return lines.Skipped, nil // the time of an interval
	}
	if r.next(text) {
		r.flush(into)
		r.section(text)
		return lines.Used, nil
	}
	lo, hi, rest, ok := bounds(text)
	if !ok {
		return lines.Foreign, nil
	}
	if r.below && strings.Contains(text, "->") && hi > lo+1 {
		hi--
	}
	f := strings.Fields(strings.TrimLeft(rest, " :"))
	if len(f) == 0 {
		return lines.Broken, fmt.Errorf("no count: the line is cut off")
	}
	n, ok := lines.Number(f[0])
	if !ok || n > 1e15 {
		return lines.Broken, fmt.Errorf("the count is %.20q, not a number", f[0])
	}
	into.At(l.N)
	r.rows++
	lines.Spread(&r.hist, lo*r.scale, hi*r.scale, uint64(n))
	return lines.Used, nil
}

func (r *reader) next(text string) bool {
	probe := *r
	return probe.section(text)
}

// bounds reads what a row counts, from lo to below hi.
func bounds(text string) (lo, hi float64, rest string, ok bool) {
	if one, after, found := strings.Cut(strings.TrimPrefix(text, "["), "]"); found && text[0] == '[' && !strings.ContainsAny(one, ",)") { // [0], [1]
		lo, ok = lines.Binary(one, 1)
		return lo, lo + 1, after, ok
	}
	if inner, after, found := strings.Cut(strings.TrimPrefix(text, "["), ")"); found && text[0] == '[' {
		a, b, _ := strings.Cut(inner, ",")
		lo, ok1 := lines.Binary(strings.TrimSpace(a), 1)
		hi, ok2 := lines.Binary(strings.TrimSpace(b), 1)
		return lo, hi, after, ok1 && ok2 && lo < hi
	}
	a, after, found := strings.Cut(text, "->")
	if !found {
		return 0, 0, "", false
	}
	b, rest, found := strings.Cut(after, ":")
	lo, ok1 := lines.Number(strings.TrimSpace(a))
	hi, ok2 := lines.Number(strings.TrimSpace(b))
	return lo, hi + 1, rest, found && ok1 && ok2 && lo <= hi
}

// flush hands the histogram over and begins the next.
func (r *reader) flush(into lines.Values) {
	if r.rows == 0 {
		return
	}
	if r.other != "" {
		n := uint64(0)
		for _, c := range r.hist.Counts {
			n += c
		}
		into.Note(fmt.Sprintf("histogram of %s: %s, on average about %.3g ms; not of a device, so not judged", r.other, sample.Counted(n, "value"), r.hist.Sum/float64(max(n, 1))/1e6))
		r.hist, r.rows = sample.Histogram{}, 0
		return
	}
	metric := sample.HistDevice
	r.hist.Unit = "nanoseconds"
	if r.size {
		metric, r.hist.Unit = sample.HistSize, "bytes"
		if r.name != "" && (len(r.moved) < 1024 || r.moved[r.name] > 0) {
			r.moved[r.name] += r.hist.Sum
		}
	} else if r.queue {
		into.Note("biolatency -Q counts the time in the queue as well")
	}
	into.Histogram(metric, r.entity, r.hist)
	r.hist, r.rows = sample.Histogram{}, 0
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	r.flush(into)
	total, most, who := 0.0, 0.0, ""
	for name, n := range r.moved {
		total += n
		if n > most {
			most, who = n, name
		}
	}
	if who != "" && most >= 0.8*total { // it does the I/O that the others show
		into.Process(0, sample.Process{Comm: who})
	}
}
