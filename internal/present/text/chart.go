package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"iocause/internal/table"
)

// Bar is one place on the horizontal axis of a Chart. What is not known is NaN.
type Bar struct {
	Label   string  // below it, "" for none
	Lo, Hi  float64 // the band of what is normal
	Value   float64 // what was
	Outside bool    // the value stands out from the band
}

// Chart is a line over a band: dots of braille over shaded cells.
type Chart struct {
	Title string
	Unit  string // as Value takes it
	Bars  []Bar
}

// chartHeight is how many lines the drawing has.
const chartHeight = 12

// WriteChart draws a chart no wider than the style says.
func WriteChart(w io.Writer, c *Chart, s Style) error {
	p := &page{width: max(s.Width, 40), ascii: s.ASCII, color: s.Color}
	if s.Width == 0 {
		p.width = 80
	}
	if c.Title != "" {
		p.raw(span{Escape(c.Title), bold})
	}
	top, any := c.top()
	if !any {
		p.raw(span{"(nothing is known)", dim})
	} else {
		c.draw(p, top)
	}
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// top is the upper end of the vertical axis, which begins at zero.
func (c *Chart) top() (top float64, any bool) {
	for _, b := range c.Bars {
		for _, v := range []float64{b.Hi, b.Value} {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				top, any = max(top, v), true
			}
		}
	}
	if top <= 0 {
		top = 1
	}
	return top, any
}

func (c *Chart) draw(p *page, top float64) {
	axis := 0
	labels := make([]string, chartHeight)
	for row := range labels {
		if row%3 == 0 || row == chartHeight-1 {
			labels[row] = table.Value(top*float64(chartHeight-row)/chartHeight, c.Unit)
			if row == chartHeight-1 {
				labels[row] = table.Value(0, c.Unit)
			}
		}
		axis = max(axis, Width(labels[row]))
	}
	per := max(1, min(4, (p.width-axis-2)/max(len(c.Bars), 1)))
	dots := c.dots(per, top)
	for row := range chartHeight {
		line := []span{{strings.Repeat(" ", axis-Width(labels[row])) + labels[row] + " ", dim}}
		lo, hi := top*float64(chartHeight-1-row)/chartHeight, top*float64(chartHeight-row)/chartHeight
		for i := range c.Bars {
			line = append(line, c.Bars[i].cells(dots[row][i*per:(i+1)*per], lo, hi)...)
		}
		p.raw(line...)
	}
	p.raw(span{strings.Repeat(" ", axis+1) + c.labels(per), dim})
}

// cells are the columns of one bar between two heights: its dots, or the band.
func (b *Bar) cells(dots []rune, lo, hi float64) []span {
	var out []span
	for _, d := range dots {
		switch mid := (lo + hi) / 2; {
		case d != 0 && b.Outside:
			out = append(out, span{string(0x2800 + d), red})
		case d != 0:
			out = append(out, span{string(0x2800 + d), bold})
		case b.Lo <= hi && b.Hi >= lo && (mid >= b.Lo && mid <= b.Hi || b.Hi-b.Lo < hi-lo): // a thin band is seen too
			out = append(out, span{"░", dim})
		default:
			out = append(out, span{" ", plain})
		}
	}
	return out
}

// dots are the line of values as bits of braille, row by row: each cell is two
// dots wide and four high.
func (c *Chart) dots(per int, top float64) [][]rune {
	rows := make([][]rune, chartHeight)
	for i := range rows {
		rows[i] = make([]rune, per*len(c.Bars))
	}
	// the bit of a dot by its column and its row, from the top
	bits := [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}
	set := func(x, y int) {
		y = chartHeight*4 - 1 - y
		rows[y/4][x/2] |= bits[x%2][y%4]
	}
	height := func(v float64) int {
		return int(min(max(v/top, 0), 1) * (chartHeight*4 - 1))
	}
	before := -1
	for i := range c.Bars {
		if v := c.Bars[i].Value; math.IsNaN(v) || math.IsInf(v, 0) {
			before = -1
			continue
		}
		y := height(c.Bars[i].Value)
		for x := i * per * 2; x < (i+1)*per*2; x++ {
			set(x, y)
		}
		for at := min(before, y); before >= 0 && at <= max(before, y); at++ {
			set(i*per*2, at)
		}
		before = y
	}
	return rows
}

func (c *Chart) labels(per int) string {
	line := ""
	for i, b := range c.Bars {
		if b.Label != "" && (line == "" || Width(line) < i*per) {
			line = Pad(line, i*per) + Escape(b.Label)
		}
	}
	return line
}
