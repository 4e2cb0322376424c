// Package dstat reads what dstat and dool print: processors, bytes of disks,
// swapping, processes and memory, whichever of them were asked for.
package dstat

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

const page = 4096

// maxColumns bounds the head that is looked at.
const maxColumns = 1024

// groups finds the names in the first line of a head, between dashes; a few have
// one themselves.
var groups = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[a-z](?:[\w/]|-(?:cpu|usage|avg|io|space|expensive)\b)*`)
})

// Find says where in a line the report begins: at its first head.
func Find(line string) int {
	line = line[:min(len(line), maxColumns)]
	at := strings.IndexByte(line, '-')
	if at < 0 || strings.ContainsAny(line, "|:=") {
		return -1
	}
	if strings.Contains(line, "-dsk/") || strings.Contains(line, "total-cpu-usage") || strings.Contains(line, "total-usage-") {
		if strings.HasPrefix(line[at:], "--") || strings.HasPrefix(line[at:], "-dsk/") {
			return at
		}
	}
	return -1
}

// column is one figure of a row: its name, and the group that it stands in.
type column struct{ group, name string }

type reader struct {
	groups  []string
	columns []column
	every   float64
	known   bool
	stamp   time.Time
	held    []string // the first row, which is the mean since boot
	heldAt  int
	first   bool
	rows    int
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	command := lines.Command(before, "dstat")
	if command == "" {
		command = lines.Command(before, "dool")
	}
	r := &reader{every: lines.Interval(command), first: true}
	if r.known = r.every > 0; !r.known {
		r.every = 1
	}
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := l.Text
	switch {
	case strings.TrimSpace(text) == "", strings.HasPrefix(text, "You did not select any stats"), strings.HasPrefix(text, "Color support"), strings.HasPrefix(text, "Terminal width too small"):
		return lines.Skipped, nil
	case Find(text) >= 0:
		r.groups = names(text[Find(text):])
		r.columns = nil
		return lines.Skipped, nil
	case r.groups == nil:
		return lines.Foreign, nil
	case r.columns == nil:
		if r.columns = r.head(text); r.columns == nil {
			return lines.Foreign, nil
		}
		return lines.Skipped, nil
	}
	if !strings.Contains(text, "|") && len(r.groups) > 1 {
		return lines.Foreign, nil
	}
	f := figures(text, r.columns)
	if f == nil {
		if strings.IndexFunc(text, func(c rune) bool { return c >= '0' && c <= '9' }) < 0 {
			return lines.Foreign, nil
		}
		return lines.Broken, fmt.Errorf("the figures do not fit below %d columns: the line is cut off", len(r.columns))
	}
	r.time(f, l.At)
	if r.first { // the mean since boot
		r.first, r.held, r.heldAt = false, f, l.N
		return lines.Used, nil
	}
	r.row(f, l.N, into)
	return lines.Used, nil
}

// names are the groups of a head, without the dashes around them.
func names(head string) []string {
	var out []string
	for _, word := range strings.Fields(head[:min(len(head), maxColumns)]) {
		word = parted(word)
		out = append(out, groups().FindAllString(word, -1)...)
	}
	return out
}

// parted takes groups apart that touch each other: dsk/sda-----dsk/sdb.
func parted(s string) string {
	for strings.Contains(s, "---") {
		s = strings.ReplaceAll(s, "---", "--")
	}
	return strings.ReplaceAll(s, "--", " ")
}

// head reads the names of the columns: groups are parted by | and, where there are
// several of a kind, by :.
func (r *reader) head(text string) []column {
	blocks := strings.FieldsFunc(text[:min(len(text), maxColumns)], func(c rune) bool { return c == '|' || c == ':' })
	if len(blocks) > len(r.groups) || len(blocks) == 0 {
		return nil
	}
	var out []column
	for i, b := range blocks {
		for _, name := range strings.Fields(b) {
			out = append(out, column{r.groups[i], name})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// figures are those of a row, one for each column; nil when there are others. A
// date stands in one column and has a blank or colons in it.
func figures(text string, columns []column) []string {
	var out []string
	f := strings.Fields(strings.NewReplacer("|", " ").Replace(text[:min(len(text), 4*maxColumns)]))
	for i := 0; i < len(f) && len(out) <= len(columns); i++ {
		at := len(out)
		switch {
		case at < len(columns) && (columns[at].name == "time" || columns[at].name == "date/time"):
			if i+1 < len(f) && strings.Count(f[i], ":") == 0 && strings.Count(f[i+1], ":") == 2 {
				i++
			}
			out = append(out, f[i])
		default: // several of a kind are parted by colons
			out = append(out, strings.FieldsFunc(f[i], func(c rune) bool { return c == ':' })...)
		}
	}
	if len(out) != len(columns) {
		return nil
	}
	return out
}

// time takes the length of intervals from the times in the rows.
func (r *reader) time(f []string, before time.Time) {
	stamp := before
	for i, c := range r.columns {
		if c.name == "time" || c.name == "date/time" {
			if t, err := time.Parse("15:04:05", f[i]); err == nil {
				stamp = t
			}
		}
	}
	if stamp.IsZero() {
		return
	}
	if d := stamp.Sub(r.stamp); !r.stamp.IsZero() && d > 0 && d < 24*time.Hour {
		r.every, r.known = d.Seconds(), true
	}
	r.stamp = stamp
}

func (r *reader) row(f []string, n int, into lines.Values) {
	into.At(n)
	host := sample.Entity{}
	cache, hasCache := 0.0, false
	for i, c := range r.columns {
		v, ok := lines.Binary(strings.TrimSuffix(f[i], "B"), 1)
		if !ok {
			continue // - where there is none
		}
		device, disk := strings.CutPrefix(c.group, "dsk/")
		switch {
		case disk && device == "total" && c.name == "read":
			into.Put(sample.VMPageIn, host, v*r.every)
		case disk && device == "total" && c.name == "writ":
			into.Put(sample.VMPageOut, host, v*r.every)
		case disk && c.name == "read":
			into.Put(sample.DiskReadBytes, sample.Entity{Device: device}, v*r.every)
		case disk && c.name == "writ":
			into.Put(sample.DiskWriteBytes, sample.Entity{Device: device}, v*r.every)
		case c.group == "paging" && c.name == "in":
			into.Put(sample.VMSwapIn, host, v/page*r.every)
		case c.group == "paging" && c.name == "out":
			into.Put(sample.VMSwapOut, host, v/page*r.every)
		case c.group == "procs" && c.name == "run":
			into.Put(sample.ProcsRunning, host, v)
		case c.group == "procs" && c.name == "blk":
			into.Put(sample.ProcsBlocked, host, v)
		case strings.HasPrefix(c.group, "memory") && c.name == "free":
			into.Put(sample.MemFree, host, v)
		case strings.HasPrefix(c.group, "memory") && (strings.HasPrefix(c.name, "cach") || strings.HasPrefix(c.name, "buf")):
			cache, hasCache = cache+v, true
		}
	}
	if hasCache {
		into.Put(sample.MemCache, host, cache)
	}
	r.processors(f, into)
	into.Tick(r.every)
	r.rows++
}

// processors takes the shares of all processors, or where only single ones are
// shown, none: of how many they are is not told.
func (r *reader) processors(f []string, into lines.Values) {
	long := map[string]string{"user": "usr", "system": "sys", "iowait": "wai", "irq": "hiq", "soft": "siq", "steal": "stl", "idle": "idl"}
	share := map[string]float64{}
	for i, c := range r.columns {
		if strings.HasPrefix(c.group, "total-") {
			if v, ok := lines.Number(f[i]); ok {
				share[c.name] = v
			}
		}
	}
	if _, ok := share["idl"]; !ok {
		return
	}
	lines.Processors(into, 0, r.every, func(name string) float64 { return share[long[name]] })
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	switch {
	case r.rows == 0 && r.held != nil:
		into.Note("the only row of dstat is the mean since boot, not what happens now: dstat 1 5 shows that")
		r.row(r.held, r.heldAt, into)
	case r.rows > 0:
		into.Note("the first row of dstat is the mean since boot and was left out")
		if !r.known {
			into.Note("the interval of dstat is not in the text: 1 s is assumed; rates do not depend on it")
		}
	}
}
