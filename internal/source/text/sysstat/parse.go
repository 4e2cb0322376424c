// Package sysstat reads what sar, mpstat and pidstat of sysstat print, tables
// whose rows begin with the time, and what sadf makes of them: rows that are
// separated by semicolons (-d) and JSON (-j).
package sysstat

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines"
)

// Find says where in a line a table begins: at its head, with the time before
// the names of the columns.
func Find(line string) int {
	if text := strings.TrimLeft(line, " \t"); isObject(text) || isSeparated(text) && strings.HasPrefix(text, "#") {
		return len(line) - len(text)
	}
	if len(line) < 12 || line[2] != ':' || line[5] != ':' {
		return -1
	}
	if _, columns := split(line); headOf(columns) != nil {
		return 0
	}
	return -1
}

// split takes the time off a row: seconds of the day, -1 without a time.
func split(line string) (at float64, f []string) {
	f = strings.Fields(line)
	if len(f) < 2 {
		return -1, nil
	}
	at = clock(f[0])
	if at < 0 {
		return -1, nil
	}
	f = f[1:]
	switch f[0] {
	case "PM":
		if at < 12*3600 {
			at += 12 * 3600
		}
		f = f[1:]
	case "AM":
		if at >= 12*3600 {
			at -= 12 * 3600
		}
		f = f[1:]
	}
	return at, f
}

// clock reads HH:MM:SS.
func clock(s string) float64 {
	if len(s) != 8 || s[2] != ':' || s[5] != ':' {
		return -1
	}
	v := [3]float64{}
	for i := range v {
		x, ok := lines.Number(s[3*i : 3*i+2])
		if !ok {
			return -1
		}
		v[i] = x
	}
	return v[0]*3600 + v[1]*60 + v[2]
}

// table puts one row of a kind of table: its figures and texts by column.
type table func(r *reader, v map[string]float64, f map[string]string, into lines.Values)

// skip is the kind of tables that hold nothing to judge.
func skip(*reader, map[string]float64, map[string]string, lines.Values) {}

// headOf is the kind of table that columns are of, told by one that only this
// kind has; nil when they are no head.
func headOf(columns []string) table {
	for _, c := range columns {
		switch c {
		case "%idle":
			return (*reader).processors
		case "kbmemfree":
			return (*reader).memory
		case "pgpgin/s":
			return (*reader).paging
		case "pswpin/s":
			return (*reader).swapping
		case "runq-sz":
			return (*reader).queue
		case "DEV":
			return (*reader).device
		case "kB_rd/s":
			return (*reader).processIO
		case "%CPU":
			if !slices.Contains(columns, "Command") { // pidstat's has that
				return nil
			}
			return (*reader).processTime
		case "kbswpfree":
			return (*reader).swap
		case "%MEM", "rtps", "proc/s", "totsck", "IFACE", "dentunusd", "intr/s", "cswch/s", "kbhugfree", "%scpu-10":
			return skip
		}
	}
	return nil
}

type reader struct {
	cpus    float64
	columns []string
	table   table
	begun   float64 // when the interval of the next row began, -1 not known
	end     float64 // of the newest row, -1 none; both go on over midnight
	days    float64 // seconds to add to the time of day
	every   float64
	split   bool // reads and writes of a device were told apart by their bytes
	object  object
	sheet   sheet
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{cpus: lines.Banner(before).CPUs, end: -1, begun: -1, every: 1}
	if r.cpus == 0 {
		r.cpus = processorsIn(before)
	}
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	r.sheet.Values = into
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "":
		return lines.Skipped, nil
	case r.object.begun || isObject(text):
		return r.jsonLine(text, l.N)
	case isSeparated(text):
		return r.separated(text, l.N)
	case strings.HasPrefix(text, "Average:") || strings.HasPrefix(text, "Summary:"):
		return lines.Skipped, nil
	}
	at, f := split(text)
	if at < 0 || len(f) == 0 {
		return lines.Foreign, nil
	}
	if strings.Contains(text, "LINUX RESTART") {
		return lines.Skipped, nil
	}
	if t := headOf(f); t != nil {
		r.columns, r.table = f, t
		r.head(at)
		return lines.Used, nil
	}
	if r.columns == nil {
		return lines.Foreign, nil
	}
	return r.values(at, f, l.N)
}

const day = 24 * 3600

// head takes the time of day at a table's head, where its first row begins. Of
// a recording, the next table begins where the first one did.
func (r *reader) head(at float64) {
	if r.end < 0 {
		r.begun = at
		return
	}
	from := at + r.days
	if from > r.end+day/2 {
		from -= day
	}
	if from < r.end-r.every {
		r.days, r.begun, r.end = 0, at, at
	}
}

// values reads one row of a table of sar.
func (r *reader) values(at float64, f []string, n int) (lines.Use, error) {
	if len(f) < len(r.columns) {
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", len(f), len(r.columns))
	}
	v, s := rowOf(r.columns, f)
	if len(v) == 0 {
		return lines.Broken, fmt.Errorf("no figure in the row")
	}
	if at += r.days; at < r.end-day/2 || r.end < 0 && at < r.begun {
		r.days += day
		at += day
	}
	if at != r.end {
		from := r.begun
		if r.end >= 0 {
			from = r.end
		}
		if d := at - from; from >= 0 && d > 0 {
			r.every = max(1, d)
		}
		r.end = at
	}
	r.put(r.table, at, v, s, n)
	return lines.Used, nil
}

// rowOf sorts the figures and texts of a row under the names of its columns.
func rowOf(columns, fields []string) (v map[string]float64, s map[string]string) {
	v, s = map[string]float64{}, map[string]string{}
	for i, name := range columns {
		s[name] = fields[i]
		if x, ok := lines.Number(strings.TrimSuffix(fields[i], "%")); ok {
			v[name] = x
		}
	}
	return v, s
}

// put hands a row to its table.
func (r *reader) put(t table, at float64, v map[string]float64, s map[string]string, n int) {
	r.sheet.at, r.sheet.every = at, r.every
	r.sheet.At(n)
	t(r, v, s, &r.sheet)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	r.sheet.Values = into
	r.sheet.close()
	if r.split {
		into.Note("sar -d does not tell reads from writes: requests and their time are shared out by bytes")
	}
}

func (r *reader) processors(v map[string]float64, f map[string]string, into lines.Values) {
	if f["CPU"] != "all" && f["CPU"] != "-1" {
		return
	}
	n := r.cpus
	if n > 0 {
		into.Put(sample.CPUCount, sample.Entity{}, n)
	} else {
		n = 1
	}
	share := func(m sample.Metric, names ...string) {
		t := 0.0
		for _, name := range names {
			t += v[name]
		}
		into.Put(m, sample.Entity{}, t/100*n*r.every)
	}
	share(sample.CPUUser, "%user", "%usr", "%nice", "%guest", "%gnice")
	share(sample.CPUSystem, "%system", "%sys", "%irq", "%soft")
	share(sample.CPUIOWait, "%iowait")
	share(sample.CPUSteal, "%steal")
	share(sample.CPUIdle, "%idle")
}

func (r *reader) memory(v map[string]float64, _ map[string]string, into lines.Values) {
	kb := func(m sample.Metric, names ...string) {
		t, any := 0.0, false
		for _, name := range names {
			x, ok := v[name]
			t, any = t+x, any || ok
		}
		if any {
			into.Put(m, sample.Entity{}, t*1024)
		}
	}
	kb(sample.MemFree, "kbmemfree")
	kb(sample.MemAvailable, "kbavail")
	kb(sample.MemCache, "kbbuffers", "kbcached")
	kb(sample.MemDirty, "kbdirty")
}

func (r *reader) swap(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.SwapFree, sample.Entity{}, v["kbswpfree"]*1024)
	into.Put(sample.SwapTotal, sample.Entity{}, (v["kbswpfree"]+v["kbswpused"])*1024)
}

func (r *reader) paging(v map[string]float64, _ map[string]string, into lines.Values) {
	for _, x := range []struct {
		column string
		metric sample.Metric
		unit   float64
	}{
		{"pgpgin/s", sample.VMPageIn, 1024}, {"pgpgout/s", sample.VMPageOut, 1024}, {"majflt/s", sample.VMMajorFault, 1},
		{"pgscank/s", sample.VMScanKswapd, 1}, {"pgscand/s", sample.VMScanDirect, 1},
	} {
		if y, ok := v[x.column]; ok {
			into.Put(x.metric, sample.Entity{}, y*x.unit*r.every)
		}
	}
}

func (r *reader) swapping(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.VMSwapIn, sample.Entity{}, v["pswpin/s"]*r.every)
	into.Put(sample.VMSwapOut, sample.Entity{}, v["pswpout/s"]*r.every)
}

func (r *reader) queue(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.ProcsRunning, sample.Entity{}, v["runq-sz"])
	if b, ok := v["blocked"]; ok {
		into.Put(sample.ProcsBlocked, sample.Entity{}, b)
	}
}
