// Package meminfo reads /proc/meminfo out of a text, whole or a few lines of it,
// once or again and again.
package meminfo

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// known tells the names that the file may begin with; Line takes any.
func known(name string) bool {
	switch name {
	case "SwapCached", "Active", "Inactive", "Mapped", "KReclaimable", "Unevictable", "Mlocked", "WritebackTmp":
		return true
	}
	return procfile.MeminfoMetric(name) != ""
}

// Find says where in a line the file begins.
func Find(line string) int {
	at := strings.IndexByte(line, ':')
	if at < 5 || !strings.HasSuffix(strings.TrimRight(line, " "), "kB") {
		return -1
	}
	start := strings.LastIndexByte(line[:at], ' ') + 1
	if !known(line[start:at]) {
		return -1
	}
	if f := strings.Fields(line[at+1:]); len(f) == 2 {
		if _, ok := lines.Number(f[0]); ok {
			return start
		}
	}
	return -1
}

type reader struct {
	seen  map[string]bool
	ticks int
	cache [2]float64 // Buffers, Cached; they count together
}

// New makes a reader.
func New(string) lines.Reader { return lines.Trim(&reader{seen: map[string]bool{}}) }

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	name, rest, ok := strings.Cut(text, ":")
	f := strings.Fields(rest)
	if !ok || strings.ContainsRune(name, ' ') || len(f) == 0 || len(f) > 2 || len(f) == 2 && f[1] != "kB" {
		return lines.Foreign, nil
	}
	v, ok := lines.Number(f[0])
	m := procfile.MeminfoMetric(name)
	switch {
	case !ok && known(name):
		return lines.Broken, fmt.Errorf("%s is %.20q, not an amount", name, f[0])
	case !ok:
		return lines.Foreign, nil
	case m == "":
		return lines.Skipped, nil
	}
	if r.seen[name] { // it is read again
		r.flush(into)
		into.Tick(1)
		r.ticks++
		clear(r.seen)
	}
	r.seen[name] = true
	into.At(l.N)
	switch name {
	case "Buffers":
		r.cache[0] = v * 1024
	case "Cached":
		r.cache[1] = v * 1024
		into.Put(sample.MemCache, sample.Entity{}, r.cache[0]+r.cache[1])
	default:
		into.Put(m, sample.Entity{}, v*1024)
	}
	into.State()
	return lines.Used, nil
}

func (r *reader) flush(lines.Values) { r.cache = [2]float64{} }

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.ticks > 0 {
		into.Tick(1)
	}
}
