// Package slower reads what fileslower, ext4slower, xfsslower, btrfsslower and
// their kin of bcc print: each access to a file that took longer than a limit.
package slower

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the table begins: at the names of its columns.
func Find(line string) int {
	if at := strings.Index(line, "ENDTIME_"); at >= 0 && layoutOf(line[at:]) != (layout{}) {
		return at
	}
	if !strings.Contains(line, "LAT(ms) FILENAME") {
		return -1
	}
	if at := strings.Index(line, "TIME"); at >= 0 && layoutOf(line[at:]) != (layout{}) {
		return at
	}
	return -1
}

// layout is how a row is written.
type layout struct {
	comma  bool
	clock  bool    // times of day, else a count
	second float64 // what one second is in the first column
	offset bool    // a column stands between the size and the latency
	milli  float64 // what one second is in the column of the latency
}

// layoutOf is the layout below a head, the zero layout when it is none.
func layoutOf(head string) layout {
	f := strings.Join(strings.Fields(head), " ")
	switch {
	case f == "TIME(s) COMM PID D BYTES LAT(ms) FILENAME", f == "TIME(s) COMM TID D BYTES LAT(ms) FILENAME":
		return layout{second: 1, milli: 1e3}
	case f == "TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME":
		return layout{clock: true, offset: true, milli: 1e3}
	case f == "ENDTIME_us,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE":
		return layout{comma: true, second: 1e6, offset: true, milli: 1e6}
	case f == "ENDTIME_ns,TASK,PID,TYPE,BYTES,OFFSET_b,LATENCY_us,FILE":
		return layout{comma: true, second: 1e9, offset: true, milli: 1e6}
	}
	return layout{}
}

type reader struct {
	layout layout
	limit  string  // what the tool says of the limit, "" when that is not in the text
	all    bool    // every access is shown
	first  float64 // seconds of the first row
	last   float64
	days   float64 // that the clock went past midnight
	rows   int
	ops    map[string]*sums         // by kind
	procs  map[int]map[string]*sums // by kind
	files  map[sample.Entity]*sums  // by process and file
	names  map[sample.FileID]string // of those
	left   int                      // accesses that there was no room for
}

// sums are accesses of one kind. slow are those of 10 ms and longer.
type sums struct{ n, bytes, seconds, longest, slow float64 }

func (s *sums) add(o sums) {
	s.n, s.bytes, s.seconds, s.slow = s.n+o.n, s.bytes+o.bytes, s.seconds+o.seconds, s.slow+o.slow
	s.longest = max(s.longest, o.longest)
}

const (
	maxEntries = 4096
	slow       = 0.01 // as in sample.CacheSlow
	day        = 24 * 3600
)

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{ops: map[string]*sums{}, procs: map[int]map[string]*sums{}, files: map[sample.Entity]*sums{}, names: map[sample.FileID]string{}}
	before = strings.TrimRight(before, "\n ")
	said := before[strings.LastIndexByte(before, '\n')+1:]
	if at := strings.Index(said, "Tracing "); at >= 0 {
		_, limit, ok := strings.Cut(said[at:], " slower than ")
		if f := strings.Fields(limit); ok && len(f) > 1 {
			r.limit = f[0] + " " + strings.TrimRight(f[1], ".")
		}
		r.all = !ok && strings.Contains(said[at:], " operations") || r.limit == "0 ms"
	}
	return lines.Trim(r)
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case Find(text) == 0:
		if r.rows > 0 {
			return lines.Another, nil
		}
		r.layout = layoutOf(text)
		return lines.Used, nil
	case strings.HasPrefix(text, "lost ") && strings.Contains(text, " events on CPU"):
		into.Doubt("the tool says: " + text + "; the figures are too low")
		return lines.Skipped, nil
	}
	at, text, ok := r.time(text)
	if !ok {
		return lines.Foreign, nil
	}
	a, ok := r.access(text)
	if !ok {
		return lines.Broken, fmt.Errorf("no process, kind, size, latency and file follow the time: the line is cut off")
	}
	if r.rows == 0 {
		r.first = at
	} else if r.layout.clock && at+r.days < r.last-day/2 {
		r.days += day
	}
	r.last = max(r.last, at+r.days)
	r.rows++
	into.At(l.N)
	into.Process(a.pid, sample.Process{Comm: a.comm})
	r.add(a)
	return lines.Used, nil
}

// time takes the time off a row, in seconds.
func (r *reader) time(text string) (at float64, rest string, ok bool) {
	sep := " "
	if r.layout.comma {
		sep = ","
	}
	first, rest, ok := strings.Cut(text, sep)
	if !ok {
		return 0, "", false
	}
	if !r.layout.clock {
		at, ok = lines.Number(first)
		return at / r.layout.second, rest, ok
	}
	parts := strings.Split(first, ":")
	if len(parts) != 3 {
		return 0, "", false
	}
	for _, p := range parts {
		v, ok := lines.Number(p)
		if !ok || v >= 60 || len(p) != 2 {
			return 0, "", false
		}
		at = at*60 + v
	}
	return at, rest, at < day
}

// access is one row.
type access struct {
	comm string
	pid  int
	kind string
	sums
	file string
}

// access finds the figures: the command before them may hold what separates
// columns, and so may the file's name.
func (r *reader) access(text string) (a access, ok bool) {
	for from := 0; from < len(text); {
		word, next := r.word(text, from)
		pid, err := strconv.Atoi(word)
		if err == nil && pid >= 0 && pid <= 1<<22 && from > 0 {
			if a, ok = r.figures(text[next:]); ok {
				a.pid, a.comm = pid, strings.Trim(text[:from], " ,")
				return a, true
			}
		}
		from = next
	}
	return a, false
}

// word is the column that begins at a place, and where the next one does.
func (r *reader) word(text string, from int) (word string, next int) {
	sep := byte(' ')
	if r.layout.comma {
		sep = ','
	}
	end := from
	for end < len(text) && text[end] != sep {
		end++
	}
	for next = end; next < len(text) && text[next] == sep; next++ {
		if r.layout.comma {
			return text[from:end], next + 1
		}
	}
	return text[from:end], next
}

// figures reads what follows the process.
func (r *reader) figures(text string) (a access, ok bool) {
	var f [4]string
	columns := f[:3]
	if r.layout.offset {
		columns = f[:4]
	}
	at := 0
	for i := range columns {
		columns[i], at = r.word(text, at)
	}
	a.kind, ok = kinds()[columns[0]]
	size, sized := lines.Number(strings.TrimPrefix(columns[1], "-"))
	took, timed := lines.Number(columns[len(columns)-1])
	if a.file = text[at:]; !ok || !timed || took > 1e15 || size > 1e15 || a.file == "" || !sized && columns[1] != "LL_MAX" {
		return a, false
	}
	if columns[1][0] == '-' || a.kind != "read" && a.kind != "write" { // an error, or the range of a sync
		size = 0
	}
	took /= r.layout.milli
	a.sums = sums{n: 1, bytes: size, seconds: took, longest: took}
	if took >= slow {
		a.slow = 1
	}
	return a, true
}

// kinds are the letters of the column T or D.
func kinds() map[string]string {
	return map[string]string{"R": "read", "W": "write", "O": "open", "S": "sync", "F": "sync", "G": "getattr"}
}

func (r *reader) add(a access) {
	total(r.ops, a.kind).add(a.sums)
	by := r.procs[a.pid]
	if by == nil && len(r.procs) < maxEntries {
		by = map[string]*sums{}
		r.procs[a.pid] = by
	}
	h := fnv.New64a()
	h.Write([]byte(a.file))
	id := sample.FileID{Dev: 4, Ino: h.Sum64() | 1}
	e := sample.Entity{PID: a.pid, File: id}
	f := r.files[e]
	if f == nil && len(r.files) < maxEntries {
		f = &sums{}
		r.files[e], r.names[id] = f, a.file
	}
	if by == nil || f == nil {
		r.left++
		return
	}
	total(by, a.kind).add(a.sums)
	f.add(a.sums)
}

func total(by map[string]*sums, kind string) *sums {
	s := by[kind]
	if s == nil {
		s = &sums{}
		by[kind] = s
	}
	return s
}
