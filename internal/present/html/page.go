package html

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

//go:embed flame.html
var page string

//go:embed flame.css
var style string

//go:embed flame.js
var script string

// mostNodes bounds the page: about 60 bytes each, and what a browser lays out
// without a pause.
const mostNodes = 30000

// document is what the page's script reads.
type document struct {
	Counts string   `json:"counts"`
	Unit   string   `json:"unit"` // the event that "ns" counts; "" for time
	Diff   bool     `json:"diff"`
	States []string `json:"states"`
	Colors []string `json:"colors"`
	Names  []string `json:"names"`
	// Nodes are [parent or -1, name, kind, [state, ns, count, ...], ns before],
	// parents first; figures are those that end in the node.
	Nodes [][]any `json:"nodes"`
}

// Write writes a page with the flame graph of a profile.
func Write(w io.Writer, p *sample.Profile) error { return write(w, p, nil) }

// WriteDiff writes a page that compares a profile with an earlier one.
func WriteDiff(w io.Writer, p, before *sample.Profile) error { return write(w, p, before) }

func write(w io.Writer, p, before *sample.Profile) error {
	root := treeOf(p, before)
	notes := p.Notes
	if n := root.thin(mostNodes); n > 0 {
		notes = append(slices.Clone(notes), fmt.Sprintf("%d small functions are drawn together as [N smaller]; the other forms have them all", n))
	}
	d := document{Counts: p.Counts, Unit: plain(p.Unit), Diff: before != nil, States: statesOf(p), Colors: []string{}}
	for i, s := range d.States {
		d.Colors = append(d.Colors, color(s))
		d.States[i] = plain(s)
	}
	d.add(root)
	data, err := json.Marshal(d) // which writes <, > and & as \u escapes
	if err != nil {
		return fmt.Errorf("making the page: %w", err)
	}
	var list strings.Builder
	for _, n := range notes {
		list.WriteString("<li>" + html.EscapeString(plain(n)) + "</li>\n")
	}
	title := p.Title
	if title == "" {
		title = "Flame graph"
	}
	when := ""
	if !p.Begin.IsZero() {
		when = p.Begin.Format("2006-01-02 15:04:05 -0700") + ", watched for " + table.Duration(p.Length.Seconds())
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(plain(title)),
		"{{when}}", html.EscapeString(when),
		"{{notes}}", list.String(),
		"{{style}}", style,
		"{{script}}", script,
		"{{data}}", string(data),
	).WriteString(w, page)
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (d *document) add(root *node) {
	names := map[string]int{}
	root.each(func(n *node) {
		at, ok := names[n.name]
		if !ok {
			at = len(d.Names)
			names[n.name] = at
			d.Names = append(d.Names, n.name)
		}
		parent := -1
		if n.parent != nil {
			parent = n.parent.index
		}
		n.index = len(d.Nodes)
		self := []int64{}
		for _, v := range n.self {
			self = append(self, int64(v.state), v.ns, v.count)
		}
		d.Nodes = append(d.Nodes, []any{parent, at, n.kind, self, n.before})
	})
}
