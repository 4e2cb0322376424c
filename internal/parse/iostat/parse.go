// Package iostat reads what iostat(1) of sysstat prints, of all versions since
// 10: the short and the extended report (-x), in kB, MB or blocks, with
// timestamps (-t), without idle devices (-z), for people (-h), and -o JSON.
package iostat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/parse/lines"
)

// Find says where in a line iostat's report begins, -1 when it does not.
func Find(line string) int {
	if at := strings.Index(line, "avg-cpu:"); at >= 0 && strings.Contains(line[at:], "%idle") {
		return at
	}
	if at := strings.Index(line, "Device"); at >= 0 && header(line[at:]) != nil {
		return at
	}
	if strings.Contains(line, "Device") && header(line) != nil { // -h: the names come last
		return 0
	}
	if at := strings.Index(line, `"avg-cpu"`); at >= 0 {
		return at
	}
	return -1
}

// header is the columns of a table of devices, nil when it is none.
func header(line string) []string {
	if !strings.Contains(line, "Device") {
		return nil
	}
	f := strings.Fields(line)
	named, rates := false, false
	for i, c := range f {
		c = strings.TrimSuffix(c, ":")
		f[i] = c
		named = named || c == "Device"
		switch c {
		case "r/s", "w/s", "d/s", "f/s", "tps":
			rates = true
		}
	}
	if !named || !rates {
		return nil
	}
	return f
}

type reader struct {
	every   float64  // seconds between two reports, as far as is known
	known   bool     // every was said
	cpus    float64  // 0: not known
	boot    bool     // the report under way is the mean since boot
	sums    bool     // reads and writes are not told apart (-s)
	skipped bool     // a mean since boot was left out
	head    heading  // the newest that names the columns of devices
	columns []string // of the table under way; nil before it
	takes   []column // what each of these is
	cpuHead heading
	onCPU   bool     // the next line has the processors' figures
	fields  []string // of the line under way
	stamp   time.Time
	stamps  bool   // it prints them itself (-t)
	layout  string // of the newest

	line    int     // where the report under way begins
	report          // the report under way
	part    *record // a row whose end may be in the next line
	partAt  int     // the column that it goes on with
	more    []string
	moreAt  int      // the device whose figures of these columns come next
	seen    []string // devices of the reports before
	held    *report  // the mean since boot, until there is better
	reports int
}

type record struct {
	device string
	line   int
	figures
}

type report struct {
	cpu     record
	hasCPU  bool
	devices []record
}

// heading is a line that names columns. Thousands of reports have the same.
type heading struct {
	text    string
	columns []string
	takes   []column
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	command := lines.Command(before, "iostat")
	r := &reader{every: lines.Interval(command)}
	r.known = r.every > 0
	if r.every == 0 {
		r.every = 1
	}
	banner := lines.Banner(before)
	r.cpus = banner.CPUs
	r.boot = banner.Found
	if at := strings.LastIndex(before, `"number-of-cpus":`); at >= 0 { // -o JSON
		n, _, _ := strings.Cut(strings.TrimSpace(before[at+len(`"number-of-cpus":`):]), ",")
		r.cpus, _ = lines.Number(n)
		r.boot = true
	}
	if _, y := lines.Option(command, 'y'); y {
		r.boot = false
	}
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "":
		r.onCPU = false
		return lines.Skipped, nil
	case r.whole(text, l.N):
		return lines.Used, nil
	case strings.HasPrefix(text, "avg-cpu:"):
		r.flush(into)
		r.stampAt(l.At)
		r.line, r.columns = l.N, nil
		if text != r.cpuHead.text {
			names := strings.Fields(strings.TrimPrefix(text, "avg-cpu:"))
			for i, name := range names {
				names[i] = strings.TrimPrefix(name, "%")
			}
			r.cpuHead = heading{text, names, columnsOf(names)}
		}
		r.onCPU = true
		return lines.Used, nil
	case r.onCPU:
		return r.processors(text, l.N)
	}
	if r.isHeader(text) {
		c := r.head.columns
		if len(r.devices) > 0 && (slices.Equal(c, r.columns) || slices.Contains(c, "tps") || slices.Contains(c, "r/s")) {
			r.flush(into)
			r.stampAt(l.At)
		}
		if r.stamp.IsZero() {
			r.stampAt(l.At)
		}
		r.columns, r.takes = c, r.head.takes
		if r.line == 0 {
			r.line = l.N
		}
		return lines.Used, nil
	}
	r.fields = lines.Fields(text, r.fields[:0])
	if r.goesOn(r.fields) {
		return lines.Used, nil
	}
	if t, ok := r.stamped(text); ok {
		r.flush(into)
		r.stamps = false
		r.stampAt(t)
		r.stamps = true
		return lines.Used, nil
	}
	if use, err := r.json(text, l.N, into); use != lines.Foreign {
		return use, err
	}
	if r.columns != nil {
		return r.device(r.fields, l.N)
	}
	return lines.Foreign, nil
}

// isHeader tells whether a line names the columns of devices, which r.head then has.
func (r *reader) isHeader(text string) bool {
	if text == r.head.text {
		return true
	}
	c := header(text)
	if c == nil {
		return false
	}
	r.head = heading{text, slices.Clip(c), slices.Clip(columnsOf(c))} // goesOn appends to them
	return true
}

// stampAt takes the time of a report.
func (r *reader) stampAt(t time.Time) {
	if t.IsZero() || r.stamps { // its own are better than those of a log
		return
	}
	if !r.stamp.IsZero() && t.After(r.stamp) && t.Sub(r.stamp) < 24*time.Hour {
		r.every, r.known = t.Sub(r.stamp).Seconds(), true
	}
	r.stamp = t
}

func (r *reader) processors(text string, n int) (lines.Use, error) {
	c := record{line: n}
	var row [16]float64
	if takes := r.cpuHead.takes; len(takes) > 0 && len(takes) <= len(row) && lines.Plain(text, row[:len(takes)]) {
		for i, take := range takes {
			c.set(take, row[i])
		}
		r.onCPU, r.cpu, r.hasCPU = false, c, true
		return lines.Used, nil
	}
	r.fields = lines.Fields(strings.ReplaceAll(text, "%", ""), r.fields[:0])
	figures := 0
	for i, s := range r.fields {
		v, ok := lines.Number(s)
		if !ok {
			break
		}
		if figures++; i < len(r.cpuHead.takes) {
			c.set(r.cpuHead.takes[i], v)
		}
	}
	if figures == 0 {
		return lines.Foreign, nil
	}
	r.onCPU = false
	if named := len(r.cpuHead.columns); figures < named {
		return lines.Broken, fmt.Errorf("%d figures below the %d columns of avg-cpu", figures, named)
	}
	r.cpu, r.hasCPU = c, true
	return lines.Used, nil
}

// device reads one row of the table. What follows the figures, as when a text
// goes on in the same line, is left alone.
func (r *reader) device(f []string, n int) (lines.Use, error) {
	if len(f) < 2 {
		return lines.Foreign, nil
	}
	d := record{line: n}
	figures := 0
	for i, name := range r.columns {
		if i >= len(f) {
			break
		}
		if name == "Device" {
			d.device = f[i]
			continue
		}
		v, ok := value(name, f[i])
		if !ok {
			if figures < 3 {
				return lines.Foreign, nil
			}
			return lines.Broken, fmt.Errorf("%s of %.20q is %.20q, not a number", name, d.device, f[i])
		}
		figures++
		d.set(r.takes[i], v)
	}
	if d.device == "" || figures < len(r.columns)-1 {
		if d.device != "" && figures >= 2 {
			part := d
			r.part, r.partAt = &part, figures+1
		}
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", figures, len(r.columns)-1)
	}
	r.take(&d)
	return lines.Used, nil
}

// whole reads what most rows are: a name, and a plain figure for each of the other
// columns. False, without a change, for all else.
func (r *reader) whole(text string, n int) bool {
	if len(r.columns) < 2 || r.columns[0] != "Device" || r.onCPU || r.part != nil || r.more != nil || text[0] < 'A' {
		return false
	}
	var row [24]float64
	if len(r.columns) > len(row) {
		return false
	}
	name, ok := lines.Row(text, row[:len(r.columns)-1])
	if !ok || strings.IndexByte(name, '"') >= 0 {
		return false
	}
	d := record{device: name, line: n}
	for i, v := range row[:len(r.columns)-1] {
		d.set(r.takes[i+1], v)
	}
	r.take(&d)
	return true
}

// take adds a row to the report under way.
func (r *reader) take(d *record) {
	for i := range r.devices { // -h has a table each for reads, writes and the rest
		if r.devices[i].device == d.device {
			r.devices[i].add(&d.figures)
			return
		}
	}
	r.devices = append(r.devices, *d)
}

// value reads one figure; -h adds suffixes.
func value(name, s string) (float64, bool) {
	s = strings.TrimSuffix(s, "%")
	if v, ok := lines.Number(s); ok {
		return v, ok
	}
	if unit := rateUnit(name); unit > 0 {
		v, ok := lines.Binary(s, unit)
		return v / unit, ok
	}
	return lines.Scaled(s)
}

// rateUnit is the bytes that a column counts in, 0 for those that do not count
// bytes.
func rateUnit(name string) float64 {
	switch {
	case strings.Contains(name, "kB"):
		return 1 << 10
	case strings.Contains(name, "MB"):
		return 1 << 20
	case strings.Contains(name, "sec/s"), strings.Contains(name, "Blk"):
		return 512
	}
	return 0
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	r.flush(into)
	if r.held != nil && r.reports == 0 {
		into.Note("the only report of iostat is the mean since boot, not what happens now: iostat -xz 1 5 shows that")
		r.emit(r.held, into)
	} else if r.skipped {
		into.Note("the first report of iostat is the mean since boot and was left out")
	}
	if r.sums {
		into.Note("iostat -x -s does not separate reads from writes: only the load of devices is used; iostat -xz 1 5 has both")
	}
	if !r.known && r.reports > 1 {
		into.Note("the interval of iostat is not in the text: 1 s is assumed; rates and latencies do not depend on it")
	}
}

// flush ends the report under way.
func (r *reader) flush(into lines.Values) {
	if !r.hasCPU && len(r.devices) == 0 {
		return
	}
	now := r.report
	r.report, r.line = report{}, 0
	r.part, r.more, r.moreAt = nil, nil, 0
	if r.boot {
		since := now
		r.boot, r.skipped, r.held = false, true, &since
		return
	}
	r.held = nil
	r.emit(&now, into)
	r.reports++
	r.devices = now.devices[:0]
}

func (r *reader) emit(p *report, into lines.Values) {
	if p.hasCPU {
		into.At(p.cpu.line)
		lines.Processors(into, r.cpus, r.every, p.cpu.percent)
	}
	for i := range p.devices {
		r.putDevice(&p.devices[i], into)
	}
	if !p.has(r.seen) {
		r.putIdle(p, into)
	}
	into.Tick(r.every)
}

// has tells whether a report has these devices and no others, in this order.
func (p *report) has(devices []string) bool {
	if len(p.devices) != len(devices) {
		return false
	}
	for i, name := range devices {
		if p.devices[i].device != name {
			return false
		}
	}
	return true
}

// putIdle puts the devices that a report lacks, and remembers those that it has.
func (r *reader) putIdle(p *report, into lines.Values) {
	here := map[string]bool{}
	for i := range p.devices {
		here[p.devices[i].device] = true
	}
	for _, name := range r.seen { // -z leaves out what is idle
		if !here[name] {
			r.putDevice(&record{device: name, line: p.last(), figures: idleDevice()}, into)
		}
	}
	for i := range p.devices {
		if name := p.devices[i].device; !slices.Contains(r.seen, name) && len(r.seen) < 4096 {
			r.seen = append(r.seen, strings.Clone(name)) // and not its whole line
		}
	}
}

// last is the report's last line.
func (p *report) last() int {
	if n := len(p.devices); n > 0 {
		return p.devices[n-1].line
	}
	return p.cpu.line
}
