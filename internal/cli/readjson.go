package cli

import (
	"iocause/internal/diagnose"
	"iocause/internal/parse"
)

// readJSON is what read prints with --format json.
type readJSON struct {
	Version int           `json:"version"`
	Texts   []textJSON    `json:"texts"`
	Cases   []caseJSON    `json:"cases"`
	Faults  []parse.Fault `json:"faults"`
}

type textJSON struct {
	File    string       `json:"file"`
	Lines   int          `json:"lines"`
	Outside int          `json:"lines_outside"`
	Outputs []outputJSON `json:"outputs"`
}

type outputJSON struct {
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

type caseJSON struct {
	Outputs []outputJSON     `json:"outputs"`
	Figures []figureJSON     `json:"figures"`
	Notes   []string         `json:"notes"`
	Report  *diagnose.Report `json:"report"`
}

type figureJSON struct {
	Key    string  `json:"key"`
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
}

func readDocument(texts []*parse.Text, cases []judged) readJSON {
	d := readJSON{Version: 1, Texts: []textJSON{}, Cases: []caseJSON{}, Faults: []parse.Fault{}}
	for _, t := range texts {
		d.Texts = append(d.Texts, textJSON{t.File, t.Lines, t.Outside, outputs(t.Blocks)})
		d.Faults = append(d.Faults, t.Faults...)
	}
	for i := range cases {
		c := caseJSON{Outputs: outputs(cases[i].Blocks), Figures: []figureJSON{}, Notes: notNil(cases[i].Notes), Report: cases[i].Report}
		for _, f := range factsOf(&cases[i]) {
			c.Figures = append(c.Figures, figureJSON{f.key, f.name, f.value, f.unit, f.source})
		}
		d.Cases = append(d.Cases, c)
	}
	return d
}

func outputs(blocks []*parse.Block) []outputJSON {
	out := []outputJSON{}
	for _, b := range blocks {
		out = append(out, outputJSON{b.Tool, b.File, b.First, b.Last, b.Intervals, b.Seconds, b.Used, b.Skipped, b.Broken, b.Repeats, notNil(b.Notes)})
	}
	return out
}
