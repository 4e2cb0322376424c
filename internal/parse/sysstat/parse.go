// Package sysstat reads what sar, mpstat and pidstat of sysstat print, tables
// whose rows begin with the time, and what sadf makes of them: rows that are
// separated by semicolons (-d), JSON (-j) and XML (-x).
package sysstat

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
)

// Find says where in a line a table begins: at its head, with the time before
// the names of the columns.
func Find(line string) int {
	text := strings.TrimLeft(line, " \t")
	at := len(line) - len(text)
	if isObject(text) || isMarkup(text) || isLoad(text) || isSeparated(text) && strings.HasPrefix(text, "#") {
		return at
	}
	if len(text) < 12 || text[0] != '#' && (text[0] < '0' || text[0] > '9') {
		return -1
	}
	if _, columns := split(text); headOf(columns) != nil {
		return at
	}
	return -1
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
		case "kB_rd/s", "%CPU":
			if !slices.Contains(columns, "Command") { // pidstat's has that
				return nil
			}
			return (*reader).processes
		case "kbswpfree":
			return (*reader).swap
		case "%MEM", "rtps", "proc/s", "totsck", "IFACE", "dentunusd", "intr/s", "cswch/s", "kbhugfree":
			return skip
		case "%scpu", "%sio", "%smem":
			return (*reader).pressure
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
	boot    bool // all rows so far are the mean since boot
	alone   bool // the command has no interval
	split   bool // reads and writes of a device were told apart by their bytes
	several bool // a row of sadf holds several tables
	object  object
	markup  markup
	load    load
	sheet   sheet
}

// isHead tells the head of a table, of whatever kind, from its rows: it has no
// figures.
func isHead(columns []string) bool {
	for _, c := range columns {
		if _, ok := figure(c); ok {
			return false
		}
	}
	return len(columns) > 1
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{cpus: lines.Banner(before).CPUs, end: -1, begun: -1, every: 1}
	command := lines.Command(before, "pidstat")
	if s := lines.Interval(operands(command)); s > 0 {
		r.every = s // -h does not tell when the first interval began
	} else {
		r.alone = command != ""
	}
	if r.cpus == 0 {
		r.cpus = max(processorsIn(before), processorsOf(before))
	}
	return lines.Trim(r)
}

// operands takes the options off that have a value, such as the number of a process.
func operands(command string) string {
	var out []string
	f := strings.Fields(command)
	for i := 0; i < len(f); i++ {
		if f[i][0] == '-' && strings.ContainsRune("pCGe", rune(f[i][len(f[i])-1])) {
			i++
			continue
		}
		out = append(out, f[i])
	}
	return strings.Join(out, " ")
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	r.sheet.Values = into
	switch {
	case r.object.begun || isObject(text):
		return r.jsonLine(text, l.N)
	case r.markup.begun || isMarkup(text):
		return r.xmlLine(text, l.N)
	case r.load.begun || isLoad(text):
		return r.loadLine(text, l.N)
	case isSeparated(text):
		return r.separated(text, l.N)
	case r.columns != nil && isMean(text):
		return lines.Skipped, nil
	}
	at, f := split(text)
	if at < 0 && at != untimed || len(f) == 0 {
		return lines.Foreign, nil
	}
	if strings.Contains(text, "LINUX RESTART") {
		return lines.Skipped, nil
	}
	if t := headOf(f); t != nil || r.columns != nil && isHead(f) {
		if r.columns, r.table = f, t; t == nil {
			r.table = skip
		}
		r.head(at)
		return lines.Used, nil
	}
	if r.columns == nil || at == untimed {
		return lines.Foreign, nil
	}
	return r.values(at, f, l.N)
}

const day = 24 * 3600

// isMean tells a row of means at the end of a table, in any language:
// "Average:", "Moyenne :".
func isMean(text string) bool {
	f := strings.Fields(text)
	if len(f) < 3 || f[0][0] >= '0' && f[0][0] <= '9' {
		return false
	}
	return strings.HasSuffix(f[0], ":") || strings.HasSuffix(f[0], "\uff1a") || f[1] == ":"
}

// head takes the time of day at a table's head, where its first row begins. Of
// a recording, the next table begins where the first one did. pidstat -h does
// not have it.
func (r *reader) head(at float64) {
	if at == untimed {
		return
	}
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
		return lines.Broken, fmt.Errorf("the row has no number")
	}
	if at += r.days; at < r.end-day/2 || r.end < 0 && at < r.begun {
		r.days += day
		at += day
	}
	if at != r.end {
		r.since(at)
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

// since tells the rows of pidstat and mpstat without an interval, which are the
// mean since boot: they have the time of their head. Where others follow, these count.
func (r *reader) since(at float64) {
	switch {
	case r.end < 0:
		r.boot = at == r.begun || r.begun < 0 && r.alone
	case r.boot:
		r.boot = false
		r.sheet.rows = r.sheet.rows[:0]
	}
}

// rowOf sorts the figures and texts of a row under the names of its columns.
func rowOf(columns, fields []string) (v map[string]float64, s map[string]string) {
	v, s = map[string]float64{}, map[string]string{}
	for i, name := range columns {
		s[name] = fields[i]
		if x, ok := figure(fields[i]); ok {
			v[name] = x
		}
	}
	return v, s
}

// figure reads one figure of a table. With --human those in kB have the letter
// of another unit.
func figure(s string) (float64, bool) {
	if v, ok := lines.Number(strings.TrimSuffix(s, "%")); ok {
		return v, true
	}
	if len(s) < 2 || strings.IndexByte("BkMGTP", s[len(s)-1]) < 0 {
		return 0, false
	}
	v, ok := lines.Binary(s, 1)
	return v / 1024, ok
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
	if r.boot {
		into.Note("the only report of pidstat or mpstat is the mean since boot, not what happens now: pidstat -d 1 5 shows that")
	}
	r.sheet.close()
	if r.split {
		into.Note("sar -d does not separate reads from writes: requests and their time are divided by bytes")
	}
}
