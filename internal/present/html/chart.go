package html

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Measures of a chart, in its own units.
const (
	chartWidth, chartHeight = 560.0, 170.0
	chartLeft, chartRight   = 72.0, 10.0
	chartTop, chartBottom   = 8.0, 22.0
	chartPoints             = 400 // places of a line; of more values the lowest and highest of each are drawn
	chartColors             = 6
)

// Chart is figures over time, from zero up.
type Chart struct {
	Title  string
	Source string
	Lines  []Line
	Marks  []Mark
	Value  func(float64) string // a figure in its unit, for people
	Time   func(float64) string // X likewise
}

// Line is one run of a figure. NaN is a gap.
type Line struct {
	Name string
	X, Y []float64
}

// Mark is a moment to be seen.
type Mark struct {
	At   float64
	Name string
}

// write draws the chart. What it shows is said in words below it, for those
// who cannot see it.
func (c *Chart) write(w io.Writer, id int) {
	first, last, high := math.Inf(1), math.Inf(-1), 0.0
	for _, l := range c.Lines {
		for i, x := range l.X {
			first, last = min(first, x), max(last, x)
			if !math.IsNaN(l.Y[i]) {
				high = max(high, l.Y[i])
			}
		}
	}
	if first > last {
		first, last = 0, 1
	}
	if last == first {
		last = first + 1
	}
	if high == 0 {
		high = 1
	}
	x := func(v float64) float64 {
		return chartLeft + (v-first)/(last-first)*(chartWidth-chartLeft-chartRight)
	}
	y := func(v float64) float64 {
		return chartHeight - chartBottom - v/high*(chartHeight-chartTop-chartBottom)
	}
	fmt.Fprintf(w, `<figure aria-labelledby="c%d"><h3 id="c%d">%s</h3>`+"\n", id, id, escape(c.Title))
	fmt.Fprintf(w, `<svg viewBox="0 0 %g %g" role="img" aria-labelledby="c%d d%d">`+"\n", chartWidth, chartHeight, id, id)
	for _, share := range []float64{0, 0.5, 1} {
		at := y(high * share)
		fmt.Fprintf(w, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n",
			chartLeft, chartWidth-chartRight, at, at, chartLeft-6, at+4, escape(c.Value(high*share)))
	}
	for i, anchor := range []string{"start", "middle", "end"} {
		v := first + (last-first)*float64(i)/2
		fmt.Fprintf(w, `<text x="%.1f" y="%g" text-anchor="%s">%s</text>`+"\n", x(v), chartHeight-6, anchor, escape(c.Time(v)))
	}
	for _, m := range c.Marks {
		fmt.Fprintf(w, `<line class="mark" x1="%.1f" x2="%.1f" y1="%g" y2="%g"><title>%s</title></line>`+"\n",
			x(m.At), x(m.At), chartTop, chartHeight-chartBottom, escape(m.Name))
	}
	for i, l := range c.Lines {
		fmt.Fprintf(w, `<path class="p l%d" d="%s"><title>%s</title></path>`+"\n", i%chartColors, l.path(x, y), escape(l.Name))
	}
	fmt.Fprintf(w, `</svg><figcaption id="d%d">`, id)
	for i, l := range c.Lines {
		if len(c.Lines) > 1 {
			fmt.Fprintf(w, `<svg class="key" viewBox="0 0 18 8" aria-hidden="true"><path class="p l%d" d="M0 4H18"/></svg> `, i%chartColors)
		}
		fmt.Fprintf(w, "%s<br>\n", escape(c.words(&l)))
	}
	for _, m := range c.Marks {
		fmt.Fprintf(w, "%s<br>\n", escape("at "+c.Time(m.At)+": "+m.Name))
	}
	fmt.Fprintf(w, "source: %s</figcaption></figure>\n", escape(c.Source))
}

// words are what a line shows.
func (c *Chart) words(l *Line) string {
	values := slices.DeleteFunc(slices.Clone(l.Y), math.IsNaN)
	if len(values) == 0 {
		return l.Name + ": not known"
	}
	slices.Sort(values)
	return fmt.Sprintf("%s: least %s, median %s, most %s", l.Name, c.Value(values[0]), c.Value(values[len(values)/2]), c.Value(values[len(values)-1]))
}

// path goes through the values, with gaps where they are not known.
func (l *Line) path(x, y func(float64) float64) string {
	var b strings.Builder
	begin := true
	point := func(i int) {
		letter := "L"
		if begin {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", letter, x(l.X[i]), y(l.Y[i]))
		begin = false
	}
	places := min(len(l.Y), chartPoints)
	for p := range places {
		low, high := -1, -1
		for i := p * len(l.Y) / places; i < (p+1)*len(l.Y)/places; i++ {
			if math.IsNaN(l.Y[i]) {
				continue
			}
			if low < 0 || l.Y[i] < l.Y[low] {
				low = i
			}
			if high < 0 || l.Y[i] > l.Y[high] {
				high = i
			}
		}
		switch {
		case low < 0:
			begin = true
			continue
		case low == high:
			point(low)
		default:
			point(min(low, high))
			point(max(low, high))
		}
	}
	if strings.Count(b.String(), "L") == 0 && b.Len() > 0 {
		b.WriteString("h1") // a lone value is a dot
	}
	return b.String()
}

// Ranges are ratios with their intervals, on a logarithmic scale with 1 marked.
type Ranges struct {
	Title, Source string
	Rows          []Range
}

// Range is one of them; all above zero.
type Range struct {
	Name      string
	Low, High float64
}

func (r *Ranges) write(w io.Writer, id int) {
	const row, left, wide = 20.0, 330.0, 960.0
	low, high := 0.5, 2.0
	for _, x := range r.Rows {
		low, high = min(low, x.Low), max(high, x.High)
	}
	at := func(v float64) float64 {
		return left + (math.Log(v)-math.Log(low))/(math.Log(high)-math.Log(low))*(wide-left-20)
	}
	height := row*float64(len(r.Rows)) + 34
	fmt.Fprintf(w, `<figure aria-labelledby="c%d"><h3 id="c%d">%s</h3><svg viewBox="0 0 %g %g" role="img" aria-labelledby="c%d d%d">`+"\n", id, id, escape(r.Title), wide, height, id, id)
	for _, v := range []float64{low, 1, high} {
		class := "grid"
		if v == 1 {
			class = "mark"
		}
		fmt.Fprintf(w, `<line class="%s" x1="%.1f" x2="%.1f" y1="4" y2="%g"/><text x="%.1f" y="%g" text-anchor="middle">%.3g</text>`+"\n", class, at(v), at(v), height-24, at(v), height-8, v)
	}
	for i, x := range r.Rows {
		y := row*float64(i) + 16
		fmt.Fprintf(w, `<text x="%g" y="%g" text-anchor="end">%s</text><path class="p l0" d="M%.1f %gH%.1f"/><circle class="dot" cx="%.1f" cy="%g" r="3"/>`+"\n",
			left-10, y+4, escape(short(plain(x.Name), 48)), at(x.Low), y, max(at(x.High), at(x.Low)+1), at(math.Sqrt(x.Low*x.High)), y)
	}
	fmt.Fprintf(w, `</svg><figcaption id="d%d">source: %s</figcaption></figure>`+"\n", id, escape(r.Source))
}
