package picture

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
)

// Victim is who waits, as its own waiting is drawn.
type Victim struct {
	PID  int
	Comm string
	Many bool // it stands for all processes of its name
}

// mostDevices is how many devices are drawn: those that were busiest.
const mostDevices = 4

// mostParts is how many programs a stack has, beside all others together.
const mostParts = 6

// Set is what was taken, drawn. An empty victim has no course of its own.
func (c *Course) Set(title string, victim Victim) *Set {
	s := empty(title, c.start)
	if c.windows == 0 {
		return s
	}
	columns := c.columns
	if c.alone != nil { // within a single window the kernel's own figures have a course
		columns = within(c.alone)
	}
	d := &drawing{course: c, columns: columns, set: s}
	for _, x := range columns {
		s.Begin = append(s.Begin, round(x.begin.Seconds()))
		s.End = append(s.End, round(x.end.Seconds()))
	}
	devices := d.devices()
	d.waiting(victim)
	for _, name := range devices {
		d.device(name)
	}
	d.cache()
	d.memory()
	d.pressure()
	d.processors()
	d.heats(devices, c.columns)
	return s
}

// empty is a set without anything in it.
func empty(title string, start time.Time) *Set {
	s := &Set{Title: title, Start: start, Begin: Figures{}, End: Figures{}, Marks: []Mark{}, Charts: []Chart{}, Heats: []Heat{}, Uses: map[string]*Use{}, Names: []string{}}
	_, s.Offset = start.Zone()
	return s
}

// round is to the millisecond, as times of columns are written.
func round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// drawing is a set that is being made.
type drawing struct {
	course  *Course
	columns []*column
	set     *Set
}

// add adds a chart where any of its lines has a value.
func (d *drawing) add(c Chart) {
	c.Lines = slices.DeleteFunc(c.Lines, func(l Line) bool { return !slices.ContainsFunc(l.Values, known) })
	if len(c.Lines) > 0 {
		d.set.Charts = append(d.set.Charts, c)
	}
}

func known(v float64) bool { return !math.IsNaN(v) }

// line is a figure of each column.
func (d *drawing) line(name string, of func(*column) (float64, bool)) Line {
	l := Line{Name: name}
	for _, c := range d.columns {
		v, ok := of(c)
		if !ok || c.seconds <= 0 && v != 0 {
			v = math.NaN()
		}
		l.Values = append(l.Values, v)
	}
	return l
}

// rate is the increase of a counter a second, times a factor.
func rate(k figureKey, times float64) func(*column) (float64, bool) {
	return func(c *column) (float64, bool) {
		v, ok := c.sums[k]
		return v * times / c.seconds, ok && c.seconds > 0
	}
}

func gauge(m sample.Metric) func(*column) (float64, bool) {
	return func(c *column) (float64, bool) {
		v, ok := c.gauges[figureKey{metric: m}]
		return v, ok
	}
}

// part is a's share of b in each column; nothing where b is nothing.
func part(a, b func(*column) (float64, bool)) func(*column) (float64, bool) {
	return func(c *column) (float64, bool) {
		x, ok := a(c)
		y, ok2 := b(c)
		return x / y, ok && ok2 && y > 0
	}
}

// sources are where figures come from, each once.
func (d *drawing) sources(all ...sample.Metric) string {
	var out []string
	for _, m := range all {
		if s := d.course.sources[m]; s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// devices are those that are drawn, the busiest first: by the time of their
// requests where that is known, else by what the kernel counts.
func (d *drawing) devices() []string {
	weight := map[string]float64{}
	for _, c := range d.columns {
		for k, v := range c.sums {
			if k.metric == sample.DiskWeighted || k.metric == sample.DiskBusy {
				weight[k.of] += v
			}
		}
		for k, u := range c.uses {
			weight[k.device] += u.seconds
		}
	}
	names := heaviest(weight)
	return names[:min(len(names), mostDevices)]
}

// heaviest are the names that have any weight, most first.
func heaviest(weight map[string]float64) []string {
	var names []string
	for name, v := range weight {
		if v > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), strings.Compare(a, b)) })
	return names
}

// stack are parts of a whole over time, the largest first, and what is left.
func (d *drawing) stack(of func(*column, func(name string, v float64))) []Line {
	total := map[string]float64{}
	perColumn := make([]map[string]float64, len(d.columns))
	for i, c := range d.columns {
		perColumn[i] = map[string]float64{}
		of(c, func(name string, v float64) {
			perColumn[i][name] += v
			total[name] += v
		})
	}
	names := heaviest(total)
	shown := names[:min(len(names), mostParts)]
	var lines []Line
	for _, name := range shown {
		l := Line{Name: name}
		for i, c := range d.columns {
			l.Values = append(l.Values, over(perColumn[i][name], c.seconds))
		}
		lines = append(lines, l)
	}
	if len(names) > len(shown) {
		rest := Line{Name: "all others"}
		for i, c := range d.columns {
			sum := 0.0
			for _, name := range names[len(shown):] {
				sum += perColumn[i][name]
			}
			rest.Values = append(rest.Values, over(sum, c.seconds))
		}
		lines = append(lines, rest)
	}
	return lines
}

// over is v a second, NaN of no time.
func over(v, seconds float64) float64 {
	if seconds <= 0 {
		return math.NaN()
	}
	return v / seconds
}
