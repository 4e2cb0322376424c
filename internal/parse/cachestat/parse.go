// Package cachestat reads what the cachestat tools of perf-tools (Ftrace) and
// bcc print.
package cachestat

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the output begins: at the names of its columns.
func Find(line string) int {
	if !strings.Contains(line, "HITS") || !strings.Contains(line, "MISSES") {
		return -1
	}
	at := strings.Index(line, "HITS")
	for _, first := range []string{"TOTAL", "TIME"} {
		if i := strings.Index(line, first); i >= 0 && i < at {
			at = i
		}
	}
	if f := strings.Fields(line[at:]); len(f) < 4 || !strings.Contains(line[at:], "DIRTIES") || strings.Contains(line, "PID") {
		return -1
	}
	return at
}

type reader struct {
	every    float64
	said     bool
	columns  []string
	rows     int
	negative int // rows that show the known error of the tool
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: lines.Interval(lines.Command(before, "cachestat"))}
	if _, after, ok := strings.Cut(before, "Output every "); ok && r.every == 0 {
		if f := strings.Fields(after); len(f) > 0 {
			r.every, _ = lines.Number(f[0])
		}
	}
	if r.said = r.every > 0; !r.said {
		r.every = 1
	}
	return lines.Trim(r)
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, into lines.Values) (lines.Use, error) {
	if at := Find(text); at == 0 {
		if r.rows > 0 {
			return lines.Another, nil
		}
		r.columns = strings.Fields(text)
		return lines.Used, nil
	}
	f := strings.Fields(text)
	if len(f) < 3 || r.columns == nil {
		return lines.Foreign, nil
	}
	if _, ok := figure(f[first(r.columns)]); !ok {
		return lines.Foreign, nil
	}
	if len(f) < len(r.columns) {
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", len(f), len(r.columns))
	}
	v := map[string]float64{}
	for i, name := range r.columns {
		if name == "TIME" {
			continue
		}
		x, ok := figure(f[i])
		if !ok {
			return lines.Broken, fmt.Errorf("%s is %.20q, not a number", name, f[i])
		}
		v[name] = x
	}
	r.row(v, into)
	return lines.Used, nil
}

// first is the first column that holds a figure.
func first(columns []string) int {
	if len(columns) > 0 && columns[0] == "TIME" {
		return 1
	}
	return 0
}

// figure reads a figure; the tools print negative ones when their assumptions
// do not hold.
func figure(s string) (float64, bool) {
	minus := strings.HasPrefix(s, "-")
	v, ok := lines.Number(strings.TrimSuffix(strings.TrimPrefix(s, "-"), "%"))
	if minus {
		v = -v
	}
	return v, ok
}

func (r *reader) row(v map[string]float64, into lines.Values) {
	if v["HITS"] < 0 || v["MISSES"] < 0 {
		r.negative++
	}
	hits, misses := max(0, v["HITS"]), max(0, v["MISSES"])
	host := sample.Entity{}
	into.Put(sample.CacheAccesses, host, hits+misses)
	into.Put(sample.CacheMisses, host, misses)
	cache, ok1 := v["CACHE_MB"]
	if !ok1 {
		cache, ok1 = v["CACHED_MB"]
	}
	if buffers, ok := v["BUFFERS_MB"]; ok && ok1 && cache >= 0 && buffers >= 0 {
		into.Put(sample.MemCache, host, (cache+buffers)*(1<<20))
	}
	into.Tick(r.every)
	r.rows++
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows == 0 {
		return
	}
	into.Note("cachestat estimates: it counts calls of kernel functions, so writes, read-ahead and folios of several pages shift its hits and misses; its ratio is only approximate")
	if r.negative > 0 {
		into.Note(fmt.Sprintf("%s of cachestat with negative figures, a known bug of the tool: taken as 0", sample.Counted(r.negative, "row")))
	}
	if !r.said && r.rows > 1 {
		into.Note("the interval of cachestat is not in the text: 1 s is assumed")
	}
}
