package space

import (
	"fmt"
	"strings"

	"iocause/internal/table"
)

// Table has the effect of every remedy that was tried.
func (p *Proof) Table() *table.Table {
	t := &table.Table{Key: "remedies", Whole: true, Columns: []table.Column{
		{Key: "remedy", Head: "REMEDY"}, {Key: "before", Head: "WORK/s"}, {Key: "with", Head: "WITH IT/s"},
		{Key: "factor", Head: "TIMES"}, {Key: "causes", Head: "STANDS FOR", Flex: true},
	}}
	for _, e := range p.Effects {
		factor, what := fmt.Sprintf("%.2f", e.Factor), strings.Join(e.Causes, ", ")
		if e.Failed != "" {
			factor, what = "-", e.Failed
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(e.Remedy), table.Str(fmt.Sprintf("%.4g", middle(e.Before))), table.Str(fmt.Sprintf("%.4g", middle(e.With))), table.Str(factor), table.Str(what)})
	}
	return t
}

// Words say what the remedies prove, and what the diagnosis said.
func (p *Proof) Words() (truth, said string) {
	truth = "no remedy helps by a tenth: "
	if p.Truth.Open {
		truth = "no remedy is seen to help by a tenth, but the work goes up and down too much by itself to be sure: "
	}
	if p.Untried {
		truth = "no cause was named, so no remedy was tried: "
	}
	if !p.Truth.Healthy() {
		truth = fmt.Sprintf("%q helps most, %.3g times: ", p.Truth.Best, p.Truth.Factor)
	}
	v := &p.Verdict
	said = fmt.Sprintf("%s, %.0f %% sure: %s", v.Primary, 100*v.Confidence, map[bool]string{true: "right", false: "WRONG"}[v.Right])
	if v.Culprit != "" {
		said += "; its culprit: " + v.Culprit
	}
	if v.Effect != "" {
		said += fmt.Sprintf("; promised %.3g to %.3g times, measured %.3g: %s", v.Low, v.High, v.Gained, v.Effect)
	}
	return truth + strings.Join(p.Truth.Causes, " or "), said
}

// middle is the arithmetic mean, 0 of nothing.
func middle(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(1, len(v)))
}
