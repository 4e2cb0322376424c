// Package read says what outputs of other tools show: which there are, the
// figures that people look at first, and the cases beside each other.
package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/judge"
	"iocause/internal/parse"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// Case is a situation that a text shows, with its verdict.
type Case struct {
	*parse.Case
	Report *diagnose.Report
}

// Judge finds the cause of every case.
func Judge(h *host.Host, cases []*parse.Case) []Case {
	var out []Case
	for _, c := range cases {
		r := diagnose.Judge(c.Window, diagnose.Target{})
		if cost, err := source.ReadCost(h, c.Window); err == nil {
			r.Cost = diagnose.Cost{CPUSeconds: cost.CPUSeconds, RSSBytes: cost.RSSBytes}
		}
		r.Gaps = slices.DeleteFunc(r.Gaps, func(g string) bool { // said already
			return slices.ContainsFunc(r.CannotTell, func(m diagnose.Missing) bool { return m.Missing == g })
		})
		judge.Tidy(r)
		out = append(out, Case{c, r})
	}
	return out
}

// HasOutput tells a text with the output of a tool in it by how it begins. An
// archive that ends there was cut off here.
func HasOutput(beginning []byte) bool {
	t, _ := (&parse.Reader{Tools: parse.List()}).Read(context.Background(), "", bytes.NewReader(beginning))
	return t != nil && len(t.Blocks) > 0
}

// Tools are those whose output is looked for: all, or the one of that name.
func Tools(name string) ([]parse.Tool, error) {
	all := parse.List()
	if name == "" {
		return all, nil
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return []parse.Tool{t}, nil
		}
		names = append(names, t.Name)
	}
	return nil, &ask.Error{Err: fmt.Errorf("reading --as: there is no tool %q", name), Next: "use one of " + strings.Join(names, ", ")}
}

// Document is all that is read of texts, and what it says.
type Document struct {
	Version int           `json:"version"`
	Texts   []Text        `json:"texts"`
	Cases   []Judged      `json:"cases"`
	Faults  []parse.Fault `json:"faults"`
}

// Text is what was recognised in a text.
type Text struct {
	File    string   `json:"file"`
	Lines   int      `json:"lines"`
	Outside int      `json:"lines_outside"`
	Outputs []Output `json:"outputs"`
}

// Output is one output of a tool.
type Output struct {
	Tool      string   `json:"tool"`
	File      string   `json:"file"`
	First     int      `json:"first_line"`
	Last      int      `json:"last_line"`
	Intervals int      `json:"intervals"`
	Seconds   float64  `json:"seconds"`
	Used      int      `json:"lines_used"`
	Skipped   int      `json:"lines_skipped"`
	Broken    int      `json:"lines_not_understood"`
	Repeats   int      `json:"repeats_line,omitempty"`
	Notes     []string `json:"notes"`
}

// Judged is a case with its verdict.
type Judged struct {
	Outputs []Output         `json:"outputs"`
	Figures []Figure         `json:"figures"`
	Notes   []string         `json:"notes"`
	Report  *diagnose.Report `json:"report"`
}

// Figure is one figure that a text is about.
type Figure struct {
	Key    string  `json:"key"`
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
}

// NewDocument puts texts and cases together.
func NewDocument(texts []*parse.Text, cases []Case) Document {
	d := Document{Version: 1, Texts: []Text{}, Cases: []Judged{}, Faults: []parse.Fault{}}
	for _, t := range texts {
		d.Texts = append(d.Texts, Text{t.File, t.Lines, t.Outside, outputs(t.Blocks)})
		d.Faults = append(d.Faults, t.Faults...)
	}
	for i := range cases {
		c := &cases[i]
		d.Cases = append(d.Cases, Judged{outputs(c.Blocks), c.Figures(), notNil(c.Notes), c.Report})
	}
	return d
}

func outputs(blocks []*parse.Block) []Output {
	out := []Output{}
	for _, b := range blocks {
		out = append(out, Output{b.Tool, b.File, b.First, b.Last, b.Intervals, b.Seconds, b.Used, b.Skipped, b.Broken, b.Repeats, notNil(b.Notes)})
	}
	return out
}

// notNil is a list that JSON has as [].
func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// PasteNext says what more would make the finding surer: what the gaps of the
// window ask for.
func (c *Case) PasteNext() string {
	var paste []string
	watch := false
	for _, g := range c.Window.Gaps {
		if _, what, ok := strings.Cut(g.Why, ": paste "); ok && !slices.Contains(paste, what) {
			paste = append(paste, what)
		}
		watch = watch || strings.Contains(g.Why, ": run iocause diagnose")
	}
	var out []string
	if len(paste) > 0 {
		out = append(out, "paste as well "+strings.Join(paste, "; "))
	}
	if watch {
		out = append(out, "or run iocause diagnose while it happens")
	}
	return strings.Join(out, ", ")
}

// Nothing is the error of texts without any output of a known tool.
func Nothing(texts []*parse.Text) error {
	lines, images := 0, 0
	for _, t := range texts {
		lines, images = lines+t.Lines, images+t.Images
	}
	why := "recognising tools' output: none in " + sample.Counted(lines, "line")
	if images > 0 {
		why += ", but " + sample.Counted(images, "image") + ", not readable: paste what is shown there as text"
	}
	for _, t := range texts {
		if t.Stacks {
			return fmt.Errorf("%s, but stacks of functions: draw them with 'iocause flame'", why)
		}
	}
	if lines+images == 0 {
		return errors.New("recognising tools' output: the text is empty; name a file, or send output to it: iostat -xz 1 5 | iocause read")
	}
	return fmt.Errorf("%s; the %d kinds that it reads, iostat, vmstat and fio among them, are in 'iocause read --help'", why, len(parse.List()))
}
