package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/table"
)

// gauge is a figure with its course.
type gauge struct {
	name   string
	now    float64
	course func(*strip) float64
	high   float64 // from there on it stands out; 0 never does
}

// resources are utilisation and saturation of processors, memory, I/O and the
// page cache, and the busiest devices, each with its course.
func (m *Model) resources() []string {
	if len(m.strips) == 0 {
		return nil
	}
	now := &m.strips[m.index(m.at)]
	of := func(name string, high float64, v func(*strip) float64) gauge {
		return gauge{name: name, high: high, now: v(now), course: v}
	}
	all := []gauge{
		of("cpu", 0.9, func(s *strip) float64 { return s.cpu }),
		of("io stall", 0.1, func(s *strip) float64 { return s.io }),
		of("memory", 0.95, func(s *strip) float64 { return s.memory }),
		of("cache hit", 0, func(s *strip) float64 { return s.hits }),
	}
	var lines []string
	across := 2
	if m.width >= 160 {
		across = 4
	}
	for i := 0; i < len(all); i += across {
		l := m.line()
		for k, g := range all[i : i+across] {
			m.gauge(l.to(k*m.width/across), &g, (k+1)*m.width/across)
		}
		lines = append(lines, l.String())
	}
	for _, name := range m.devices() {
		g := of(name, 0, func(s *strip) float64 { return s.disks[name].busy })
		d := now.disks[name]
		rw := fmt.Sprintf(" r %s  w %s", table.Value(d.read, "bytes/s"), table.Value(d.written, "bytes/s"))
		if d.await > 0 {
			rw += fmt.Sprintf("  %s  depth %s", table.Duration(d.await), table.Digits(d.depth))
		}
		l := m.line()
		m.gauge(l, &g, min(m.width/2, max(m.width-52, 20)))
		lines = append(lines, l.put(rw, plain).String())
	}
	return lines
}

// gauge draws a figure and its course up to a column.
func (m *Model) gauge(l *line, g *gauge, until int) {
	value, k := "-", plain
	if !math.IsNaN(g.now) {
		value = table.Value(g.now, "ratio")
		if g.high > 0 && g.now >= g.high {
			k = bad
		}
	}
	l.put(" ", plain).put(text.Pad(text.Middle(text.Escape(g.name), 9), 10), strong)
	l.put(strings.Repeat(" ", max(0, 7-text.Width(value)))+value+" ", k)
	if n := until - l.used - 1; n > 0 {
		l.put(spark(m.course(g.course, n), n, 1), cmp.Or(k, look("38;5;75")))
	}
}

// devices are the busiest of late, as many as there is room for.
func (m *Model) devices() []string {
	seen := m.strips[:m.index(m.at)+1]
	most := 1
	switch {
	case m.height >= 40:
		most = 4
	case m.height >= 28:
		most = 2
	}
	by := map[string]float64{}
	for _, s := range seen[max(0, len(seen)-60):] {
		for name, d := range s.disks {
			by[name] += d.busy + 1e-15*(d.read+d.written)
		}
	}
	var names []string
	for name := range by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(boolCompare(b == m.device, a == m.device), cmp.Compare(by[b], by[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), most)]
}

// boolCompare has true above false.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
