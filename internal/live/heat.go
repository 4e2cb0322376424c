package live

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/table"
)

// heatShades are from none to most, for who sees no colours.
const heatShades = " .:-=+*#%@"

// heatColors are from few to most: dark blue to yellow, which differ in
// brightness too.
func heatColors() []int { return []int{17, 18, 24, 30, 36, 71, 107, 148, 226} }

// The latencies that a heat map may show: powers of two of nanoseconds from
// 1 us to 17 s. What is faster or slower counts there.
const (
	heatFrom = 10
	heatTo   = 34
)

const heatLabel = 9 // columns before the map

// heatMap is a title, so many rows and the axis: time from left to right,
// latency in the device from the bottom to the top, how many I/Os as colour and
// as shape. It begins at the fastest that there is. What there is nothing to
// draw of takes the same room: tables below shall not move.
func (m *Model) heatMap(device string, rows int) []string {
	lines := m.heatLines(device, rows)
	for len(lines) < rows+2 {
		lines = append(lines, "")
	}
	return lines
}

func (m *Model) heatLines(device string, rows int) []string {
	columns := m.columns(max(m.width-heatLabel, 1))
	sums := make([][48]uint64, len(columns))
	low, high, most, known := heatTo, heatFrom, uint64(0), false
	for i, c := range columns {
		for _, s := range m.strips[c.from:c.to] {
			d := s.disks[device]
			if d.heat == nil {
				continue
			}
			known = true
			for k, n := range d.heat {
				if n > 0 {
					k = min(max(k, heatFrom), heatTo-1)
					low, high = min(low, k), max(high, k)
					sums[i][k] += n
				}
			}
		}
	}
	title := m.line()
	if device == "" {
		return []string{title.put(" no block device did anything", faint).String()}
	}
	title.put(" latency of "+text.Middle(text.Escape(device), 20)+" in the device, by time", titled)
	if !known {
		return []string{title.put(": "+m.noHeat(), faint).String()}
	}
	if low > high {
		return []string{title.put(": no I/O was done", faint).String()}
	}
	group := (high - low + rows) / rows // powers of two of a row
	low = max(min(low, heatTo-rows*group), heatFrom)
	cells := make([][]uint64, rows)
	for r := range cells {
		cells[r] = make([]uint64, len(columns))
	}
	for i := range sums {
		for k, c := range sums[i] {
			if c > 0 {
				r := (k - low) / group
				cells[r][i] += c
				most = max(most, cells[r][i])
			}
		}
	}
	title.right(fmt.Sprintf("%s I/Os in the fullest cell ", table.Value(float64(most), "count")), faint)
	out := []string{title.String()}
	for r := rows - 1; r >= 0; r-- {
		l := m.line()
		label := strings.ReplaceAll(table.Duration(float64(uint64(1)<<(low+r*group))/1e9), " ", "")
		l.put(strings.Repeat(" ", max(0, heatLabel-2-len(label)))+label+" ", faint).put("│", faint)
		l.to(m.width - len(columns))
		m.heatRow(l, cells[r], most)
		out = append(out, l.String())
	}
	return append(out, m.axis(columns))
}

// axis is the time below the map: where it begins and ends, and which interval
// is shown.
func (m *Model) axis(columns []column) string {
	l := m.line()
	from, to := &m.strips[columns[0].from], &m.strips[columns[len(columns)-1].to-1]
	begin, end := from.start.Local().Format("15:04:05"), to.start.Add(to.length).Local().Format("15:04:05")
	at := m.width - len(columns)
	l.to(at)
	mark := -1
	for i, c := range columns {
		if here := m.index(m.at); here >= c.from && here < c.to {
			mark = at + i
		}
	}
	if len(columns) > 8 && mark >= at+len(begin) {
		l.put(begin, faint)
	}
	if l.used <= mark {
		l.to(mark).put("▲", warn)
	}
	if l.room() > len(end) {
		l.right(end, faint)
	}
	return l.String()
}

// heatRow draws cells of the same look at once.
func (m *Model) heatRow(l *line, cells []uint64, most uint64) {
	colors := heatColors()
	for i := 0; i < len(cells); {
		end := i + 1
		level := heatLevel(cells[i], most)
		for end < len(cells) && heatLevel(cells[end], most) == level {
			end++
		}
		k := plain
		s := strings.Repeat(string(heatShades[level]), end-i)
		if m.o.Color && level > 0 {
			k = look("38;5;" + strconv.Itoa(colors[level-1]))
			s = strings.Repeat("█", end-i) // a blank with a background is drawn by erasing, which not all terminals colour
		}
		l.put(s, k)
		i = end
	}
}

// heatLevel is 0 for none, and 1 to 9 on a logarithmic scale.
func heatLevel(n, most uint64) int {
	if n == 0 {
		return 0
	}
	return 1 + int(math.Log1p(float64(n))/math.Log1p(float64(most))*float64(len(heatShades)-2))
}

// noHeat is why there is no heat map.
func (m *Model) noHeat() string {
	switch {
	case m.state.Loading:
		return "the BPF program that measures it is being loaded"
	case m.state.Refused != "":
		return "not known: " + text.Escape(m.state.Refused)
	}
	return "not measured in this time"
}
