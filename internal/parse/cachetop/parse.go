// Package cachetop reads what cachetop of bcc prints: hits and misses of the
// page cache by process.
package cachetop

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the table begins: at the names of its columns.
func Find(line string) int {
	if !strings.Contains(line, "MISSES") {
		return -1
	}
	f := strings.Fields(line)
	if len(f) >= 6 && f[0] == "PID" && f[2] == "CMD" && f[3] == "HITS" && f[4] == "MISSES" {
		return strings.Index(line, "PID")
	}
	return -1
}

type reader struct {
	columns      []string
	every        float64
	rows         int
	hits, misses float64
	cache        float64 // bytes
	hasCache     bool
	begun        bool
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: lines.Interval(lines.Command(before, "cachetop"))}
	if r.every == 0 {
		r.every = 5
	}
	before = strings.TrimRight(before, "\n ")
	r.size(before[strings.LastIndexByte(before, '\n')+1:])
	return lines.Trim(r)
}

// size reads the line above the table.
func (r *reader) size(s string) bool {
	_, a, ok1 := strings.Cut(s, "Buffers MB: ")
	_, b, ok2 := strings.Cut(s, "Cached MB: ")
	if !ok1 || !ok2 {
		return false
	}
	a, _, _ = strings.Cut(a, " ")
	b, _, _ = strings.Cut(b, " ")
	v := lines.Numbers([]string{a, b})
	if len(v) != 2 {
		return false
	}
	r.cache, r.hasCache = (v[0]+v[1])*(1<<20), true
	return true
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case Find(text) == 0:
		r.flush(into)
		r.columns, r.begun = strings.Fields(text), true
		return lines.Used, nil
	case strings.Contains(text, "Buffers MB: "):
		r.flush(into)
		r.size(text)
		return lines.Skipped, nil
	}
	row, ok := lines.Named(r.columns, text, "CMD")
	pid, err := strconv.Atoi(row["PID"])
	if !ok || err != nil || pid < 1 || pid > 1<<22 {
		return lines.Foreign, nil
	}
	hits, ok1 := lines.Number(strings.TrimPrefix(row["HITS"], "-"))
	misses, ok2 := lines.Number(strings.TrimPrefix(row["MISSES"], "-"))
	if !ok1 || !ok2 {
		return lines.Broken, fmt.Errorf("%.20q hits and %.20q misses: not numbers", row["HITS"], row["MISSES"])
	}
	if row["HITS"][0] == '-' { // a known error of the tool
		hits = 0
	}
	if row["MISSES"][0] == '-' {
		misses = 0
	}
	into.At(l.N)
	into.Process(pid, sample.Process{Comm: row["CMD"]})
	into.Put(sample.CacheAccesses, sample.Entity{PID: pid}, hits+misses)
	into.Put(sample.CacheMisses, sample.Entity{PID: pid}, misses)
	r.hits, r.misses = r.hits+hits, r.misses+misses
	r.rows++
	return lines.Used, nil
}

// flush ends an interval.
func (r *reader) flush(into lines.Values) {
	if r.rows == 0 {
		return
	}
	into.Put(sample.CacheAccesses, sample.Entity{}, r.hits+r.misses)
	into.Put(sample.CacheMisses, sample.Entity{}, r.misses)
	if r.hasCache {
		into.Put(sample.MemCache, sample.Entity{}, r.cache)
	}
	into.Tick(r.every)
	r.rows, r.hits, r.misses = 0, 0, 0
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	any := r.rows > 0
	r.flush(into)
	if any {
		into.Note("cachetop estimates as cachestat does: its ratios are only approximate")
	}
}
