// Package prometheus reads how long programs took to sync out of the text that
// they give to Prometheus: histograms like etcd_disk_wal_fsync_duration_seconds.
package prometheus

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Bounds on what is kept of one output.
const (
	maxHistograms = 256
	maxBuckets    = 256
)

// Find says where in a line a histogram of syncs begins: at its help, its type,
// or a value of it.
func Find(line string) int {
	at := strings.Index(line, "fsync_")
	if at < 0 {
		return -1
	}
	from := strings.LastIndexFunc(line[:at], func(r rune) bool { return !inName(r) }) + 1
	if head := strings.TrimRight(line[:from], " "); strings.HasSuffix(head, "# HELP") || strings.HasSuffix(head, "# TYPE") {
		if name, _, _ := strings.Cut(line[from:], " "); of(name) {
			return len(head) - len("# HELP")
		}
		return -1
	}
	if _, ok := parse(line[from:]); ok {
		return from
	}
	return -1
}

func inName(r rune) bool {
	return r == '_' || r == ':' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// of tells the names of histograms of the time of syncs, which are in seconds.
func of(name string) bool {
	return strings.Contains(name, "fsync") && strings.HasSuffix(name, "_seconds")
}

// value is one line: NAME_bucket{LABELS} V, NAME_sum{LABELS} V, NAME_count{LABELS} V.
type value struct {
	name, part string // part is bucket, sum or count
	labels     string // other than le
	le         float64
	v          float64
}

func parse(line string) (value, bool) {
	end := strings.IndexFunc(line, func(r rune) bool { return !inName(r) })
	if end <= 0 {
		return value{}, false
	}
	at := strings.LastIndexByte(line[:end], '_')
	if at < 0 {
		return value{}, false
	}
	x := value{name: line[:at], part: line[at+1 : end], le: math.NaN()}
	if !of(x.name) {
		return value{}, false
	}
	rest := line[end:]
	if strings.HasPrefix(rest, "{") {
		inner, after, ok := strings.Cut(rest[1:], "}")
		if !ok {
			return value{}, false
		}
		rest = after
		var others []string
		for _, label := range strings.Split(inner, ",") {
			name, text, _ := strings.Cut(strings.TrimSpace(label), "=")
			text = strings.Trim(text, `"'`)
			switch {
			case name != "le":
				others = append(others, strings.TrimSpace(label))
			case text == "+Inf":
				x.le = math.Inf(1)
			default:
				le, ok := figure(text)
				if !ok || le <= 0 {
					return value{}, false
				}
				x.le = le
			}
		}
		x.labels = strings.Join(others, ",")
	}
	rest, _, _ = strings.Cut(rest, " # ") // an exemplar: one of the values
	f := strings.Fields(rest)
	if len(f) == 0 || len(f) > 2 { // the second is a time
		return value{}, false
	}
	var ok bool
	x.v, ok = figure(f[0])
	switch x.part {
	case "bucket":
		return x, ok && !math.IsNaN(x.le)
	case "sum", "count":
		return x, ok && math.IsNaN(x.le)
	}
	return value{}, false
}

// figure reads a value that is not negative: 12, 0.5, 1.3400495e+07.
func figure(s string) (float64, bool) {
	if s == "" || len(s) > 40 || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v < 1e15
}

// bucket is how many syncs took at most le seconds, since the program started.
type bucket struct{ le, n float64 }

type histogram struct {
	name, labels string
	line         int
	buckets      []bucket
	sum          float64
	hasSum       bool
}

type reader struct {
	all  []*histogram
	left int // histograms and buckets that there was no room for
}

// New makes a reader.
func New(string) lines.Reader { return &reader{} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	x, ok := parse(text)
	switch {
	case !ok && (text == "" || strings.HasPrefix(text, "# ") || other(text)):
		return lines.Skipped, nil
	case !ok && Find(text) >= 0:
		return lines.Another, nil // behind something else in its line
	case !ok:
		return lines.Foreign, nil
	}
	h := r.of(&x)
	switch {
	case h == nil || len(h.buckets) >= maxBuckets:
		r.left++
	case x.part == "bucket":
		if n := len(h.buckets); n > 0 && x.le <= h.buckets[n-1].le {
			return lines.Another, nil // the same again, at another time
		}
		h.buckets = append(h.buckets, bucket{x.le, x.v})
		h.line = l.N
	case x.part == "sum":
		h.sum, h.hasSum = x.v, true
	}
	return lines.Used, nil
}

// other tells lines of other values: NAME 1, NAME{LABELS} 1.
func other(text string) bool {
	end := strings.IndexFunc(text, func(r rune) bool { return !inName(r) })
	if end <= 0 || !strings.Contains(text[:end], "_") {
		return false
	}
	text, _, _ = strings.Cut(text, " # ")
	f := strings.Fields(text[max(end, strings.LastIndexByte(text, '}')+1):])
	if len(f) != 1 && len(f) != 2 {
		return false
	}
	_, err := strconv.ParseFloat(f[0], 64)
	return err == nil
}

// of is the histogram that a value belongs to, nil when there is no room.
func (r *reader) of(x *value) *histogram {
	at := slices.IndexFunc(r.all, func(h *histogram) bool { return h.name == x.name && h.labels == x.labels })
	if at >= 0 {
		return r.all[at]
	}
	if len(r.all) >= maxHistograms {
		return nil
	}
	r.all = append(r.all, &histogram{name: x.name, labels: x.labels})
	return r.all[len(r.all)-1]
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.left > 0 {
		into.Note(sample.Counted(r.left, "value") + " of more than 256 histograms or buckets left out")
	}
	for _, h := range r.all {
		if len(h.buckets) > 0 {
			h.put(into)
		}
	}
}

// put hands a histogram over. Of the last bucket, which has no upper bound, it is
// taken that its values are less than twice its lower one.
func (h *histogram) put(into lines.Values) {
	into.At(h.line)
	out := sample.Histogram{Unit: "nanoseconds"}
	var before bucket
	for _, b := range h.buckets {
		if b.n < before.n {
			into.Doubt(fmt.Sprintf("%s: fewer values are at most %g s than at most %g s: a digit is missing", h.name, b.le, before.le))
			return
		}
		hi := b.le
		if math.IsInf(hi, 1) {
			hi = 2 * before.le
		}
		lines.Spread(&out, before.le*1e9, hi*1e9, uint64(b.n-before.n))
		before = bucket{hi, b.n}
	}
	if h.hasSum {
		out.Sum = h.sum * 1e9
	}
	if last := h.buckets[len(h.buckets)-1]; !math.IsInf(last.le, 1) {
		into.Note(fmt.Sprintf("%s: the number above %g s is not in the text", h.name, last.le))
	}
	program, _, _ := strings.Cut(h.name, "_")
	into.Process(0, sample.Process{Comm: program})
	into.Histogram(sample.HistSync, sample.Entity{Class: strings.Trim(h.name+" "+h.labels, " ")}, out)
}
