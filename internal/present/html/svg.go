package html

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"unicode/utf8"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// SVGMark begins every picture that WriteSVG wrote.
const SVGMark = `<svg class="flames" xmlns="http://www.w3.org/2000/svg"`

// Measures of the picture, in its own units.
const (
	svgWidth  = 1200
	svgRow    = 17
	svgHead   = 64
	svgLetter = 6.7 // of the monospaced font at 11 units
	// What is narrower is not drawn: in a page, and in a picture of its own, where one
	// can look closer.
	svgLeast      = 0.5
	svgLeastAlone = 0.1
)

// svgScript zooms and searches where a picture is opened as a document of its own.
//
//go:embed flamesvg.js
var svgScript string

// WriteSVG writes the flame graph as a picture that any browser or document shows.
// Names too narrow to read are in the tooltips. Opened in a browser it zooms and
// searches; as an image of a page, or where scripts are refused, it is still.
func WriteSVG(w io.Writer, p *sample.Profile) error {
	out := bufio.NewWriter(w)
	drawFlames(out, p, "t", svgLeastAlone, `<style>
svg { background: #fff; font: 11px ui-monospace, monospace; }
.label { fill: #1b1f24; }
.act, svg > g { cursor: pointer; }
.act { text-decoration: underline; }
g text { fill: #14171a; pointer-events: none; }
rect { stroke: #fff; stroke-width: .6; }
.hit rect { fill: #e5a3e0; }
.now rect { stroke: #0b57d0; stroke-width: 1.6; }
input { width: 100%; box-sizing: border-box; font: inherit; }
@media (prefers-color-scheme: dark) { svg { background: #15181c; color-scheme: dark; } .label { fill: #e6e9ed; } rect { stroke: #15181c; } .now rect { stroke: #8ab4ff; } }
</style>
`, "<script><![CDATA[\n"+svgScript+"]]></script>\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

// drawFlames draws a flame graph whose title has that id, without what is narrower
// than least. style and script are what it brings where it stands alone.
func drawFlames(out io.Writer, p *sample.Profile, id string, least float64, style, script string) {
	root := treeOf(p, nil)
	states := statesOf(p)
	scale := float64(svgWidth)
	if root.sum > 0 {
		scale /= float64(root.sum)
	}
	deepest, hidden := 0, 0
	root.measure(0, scale, least, &deepest, &hidden)
	height := svgHead + (deepest+1)*svgRow + 24
	if script != "" {
		height += 14 // for a line on what is pointed at
	}
	fmt.Fprintf(out, SVGMark+` viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="%s">
<title id="%s">%s</title>
%s<text class="label" x="4" y="18" font-size="15">%s</text>
`, svgWidth, height, svgWidth, height, id, id, escape(p.Title), style, escape(p.Title))
	root.legend(out, states)
	root.draw(out, states, 0, 0, scale, least, root.sum, p.Unit)
	if hidden > 0 {
		fmt.Fprintf(out, `<text class="label narrow" x="4" y="%d">%d functions are too narrow to be drawn</text>`+"\n", height-8, hidden)
	}
	fmt.Fprintln(out, script+"</svg>")
}

func escape(s string) string { return html.EscapeString(plain(s)) }

// measure finds how deep the picture is, and what is too narrow for it.
func (n *node) measure(depth int, scale, least float64, deepest, hidden *int) {
	*deepest = max(*deepest, depth)
	for _, k := range n.kids {
		if float64(k.sum)*scale < least {
			k.each(func(*node) { *hidden++ })
			continue
		}
		k.measure(depth+1, scale, least, deepest, hidden)
	}
}

// legend names the states that there are.
func (n *node) legend(w io.Writer, states []string) {
	sums := n.byState(len(states))
	x := 4.0
	y := 30
	for i, s := range states {
		if sums[i] == 0 || s == "" {
			continue
		}
		label := fmt.Sprintf("%s %s", s, percent(sums[i], n.sum))
		wide := 18 + float64(len(label))*svgLetter + 10
		if x+wide > svgWidth {
			x, y = 4, y+16
		}
		fmt.Fprintf(w, `<rect x="%.1f" y="%d" width="11" height="11" fill="%s"/><text class="label" x="%.1f" y="%d">%s</text>`+"\n",
			x, y, color(s), x+15, y+10, escape(label))
		x += wide
	}
}

// byState are the node's nanoseconds by state, with all below it.
func (n *node) byState(states int) []int64 {
	sums := make([]int64, states)
	n.each(func(x *node) {
		for _, v := range x.self {
			sums[v.state] += v.ns
		}
	})
	return sums
}

func percent(part, whole int64) string {
	if whole <= 0 {
		return "0 %"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// draw draws a function in the colour of the state that it has most of.
func (n *node) draw(w io.Writer, states []string, x float64, depth int, scale, least float64, whole int64, unit string) {
	wide := float64(n.sum) * scale
	y := svgHead + depth*svgRow
	fill := "#dfe3e8"
	if n.kind != remark {
		fill = color("")
		var most int64
		for s, sum := range n.byState(len(states)) {
			if sum > most {
				most, fill = sum, color(states[s])
			}
		}
	}
	fmt.Fprintf(w, `<g><title>%s: %s, %s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`,
		escape(n.name), escape(amount(n.sum, unit)), percent(n.sum, whole), x, y, wide, svgRow, fill)
	if letters := int(wide/svgLetter) - 1; letters >= 3 {
		fmt.Fprintf(w, `<text x="%.2f" y="%d">%s</text>`, x+3, y+12, escape(short(n.name, letters)))
	}
	fmt.Fprintln(w, "</g>")
	for _, k := range n.kids {
		if float64(k.sum)*scale >= least {
			k.draw(w, states, x, depth+1, scale, least, whole, unit)
		}
		x += float64(k.sum) * scale
	}
}

// amount is a time in nanoseconds, or a number of events.
func amount(n int64, unit string) string {
	if unit != "" {
		return strconv.FormatInt(n, 10) + " " + unit
	}
	return table.Duration(float64(n) / 1e9)
}

func short(s string, letters int) string {
	if utf8.RuneCountInString(s) <= letters {
		return s
	}
	return string([]rune(s)[:letters-1]) + "…"
}
