// Package iostat reads what iostat(1) of sysstat prints, of all versions since
// 10: the short and the extended report (-x), in kB, MB or blocks, with
// timestamps (-t), without idle devices (-z), for people (-h), and -o JSON.
package iostat

import (
	"fmt"
	"maps"
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
	every    float64 // seconds between two reports, as far as is known
	known    bool    // every was said
	cpus     float64 // 0: not known
	boot     bool    // the report under way is the mean since boot
	sums     bool    // reads and writes are not told apart (-s)
	skipped  bool    // a mean since boot was left out
	columns  []string
	cpuNames []string
	stamp    time.Time
	stamps   bool // it prints them itself (-t)

	line    int // where the report under way begins
	cpu     *record
	devices []record
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
	values map[string]float64
}

type report struct {
	cpu     *record
	devices []record
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
		r.cpuNames = nil
		return lines.Skipped, nil
	case strings.HasPrefix(text, "avg-cpu:"):
		r.flush(into)
		r.stampAt(l.At)
		r.line, r.columns = l.N, nil
		r.cpuNames = strings.Fields(strings.TrimPrefix(text, "avg-cpu:"))
		return lines.Used, nil
	case r.cpuNames != nil:
		return r.processors(text, l.N)
	}
	if c := header(text); c != nil {
		if len(r.devices) > 0 && (slices.Equal(c, r.columns) || slices.Contains(c, "tps") || slices.Contains(c, "r/s")) {
			r.flush(into)
			r.stampAt(l.At)
		}
		if r.stamp.IsZero() {
			r.stampAt(l.At)
		}
		r.columns = c
		if r.line == 0 {
			r.line = l.N
		}
		return lines.Used, nil
	}
	if r.goesOn(text) {
		return lines.Used, nil
	}
	if t, ok := stamped(text); ok {
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
		return r.device(text, l.N)
	}
	return lines.Foreign, nil
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
	v := lines.Numbers(strings.Fields(strings.ReplaceAll(text, "%", "")))
	names := r.cpuNames
	if len(v) == 0 {
		return lines.Foreign, nil
	}
	r.cpuNames = nil
	if len(v) < len(names) {
		return lines.Broken, fmt.Errorf("%d figures below the %d columns of avg-cpu", len(v), len(names))
	}
	c := record{line: n, values: map[string]float64{}}
	for i, name := range names {
		c.values[strings.TrimPrefix(name, "%")] = v[i]
	}
	r.cpu = &c
	return lines.Used, nil
}

// device reads one row of the table. What follows the figures, as when a text
// goes on in the same line, is left alone.
func (r *reader) device(text string, n int) (lines.Use, error) {
	f := strings.Fields(text)
	d := record{line: n, values: map[string]float64{}}
	if len(f) < 2 {
		return lines.Foreign, nil
	}
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
			return lines.Broken, fmt.Errorf("%s of %.20q is %.20q, no figure", name, d.device, f[i])
		}
		figures++
		d.values[name] = v
	}
	if d.device == "" || figures < len(r.columns)-1 {
		if d.device != "" && figures >= 2 {
			r.part, r.partAt = &d, figures+1
		}
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", figures, len(r.columns)-1)
	}
	for i := range r.devices { // -h has a table each for reads, writes and the rest
		if r.devices[i].device == d.device {
			maps.Copy(r.devices[i].values, d.values)
			return lines.Used, nil
		}
	}
	r.devices = append(r.devices, d)
	return lines.Used, nil
}

// value reads one figure; -h adds suffixes.
func value(column, s string) (float64, bool) {
	s = strings.TrimSuffix(s, "%")
	if v, ok := lines.Number(s); ok {
		return v, ok
	}
	if unit := rateUnit(column); unit > 0 {
		v, ok := lines.Binary(s, unit)
		return v / unit, ok
	}
	return lines.Scaled(s)
}

// rateUnit is the bytes that a column counts in, 0 for those that do not count
// bytes.
func rateUnit(column string) float64 {
	switch {
	case strings.Contains(column, "kB"):
		return 1 << 10
	case strings.Contains(column, "MB"):
		return 1 << 20
	case strings.Contains(column, "sec/s"), strings.Contains(column, "Blk"):
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
		into.Note("iostat -x -s does not tell reads from writes: of devices only the load is taken; iostat -xz 1 5 has both")
	}
	if !r.known && r.reports > 1 {
		into.Note("the interval of iostat is not in the text: 1 s is assumed; rates and latencies do not depend on it")
	}
}

// flush ends the report under way.
func (r *reader) flush(into lines.Values) {
	if r.cpu == nil && len(r.devices) == 0 {
		return
	}
	now := &report{r.cpu, r.devices}
	r.cpu, r.devices, r.line = nil, nil, 0
	r.part, r.more, r.moreAt = nil, nil, 0
	if r.boot {
		r.boot, r.skipped, r.held = false, true, now
		return
	}
	r.held = nil
	r.emit(now, into)
	r.reports++
}

func (r *reader) emit(p *report, into lines.Values) {
	if p.cpu != nil {
		r.putProcessors(p.cpu, into)
	}
	here := map[string]bool{}
	for i := range p.devices {
		d := &p.devices[i]
		here[d.device] = true
		r.putDevice(d, into)
	}
	for _, name := range r.seen { // -z leaves out what is idle
		if !here[name] {
			r.putDevice(&record{device: name, line: r.last(p), values: idle()}, into)
		}
	}
	for _, d := range p.devices {
		if !slices.Contains(r.seen, d.device) && len(r.seen) < 4096 {
			r.seen = append(r.seen, d.device)
		}
	}
	into.Tick(r.every)
}

func (r *reader) last(p *report) int {
	if n := len(p.devices); n > 0 {
		return p.devices[n-1].line
	}
	return p.cpu.line
}

// idle is the figures of a device that did nothing.
func idle() map[string]float64 {
	return map[string]float64{"r/s": 0, "w/s": 0, "rkB/s": 0, "wkB/s": 0, "r_await": 0, "w_await": 0, "aqu-sz": 0, "%util": 0}
}

func (r *reader) putProcessors(c *record, into lines.Values) {
	into.At(c.line)
	lines.Processors(into, r.cpus, r.every, func(name string) float64 { return c.values[name] })
}
