package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/table"
)

// leastChange of a rate is worth a search for its cause, however sure it is.
const leastChange = 0.05

// ComparedFigure is one figure of one load of one phase, the mean of each side.
type ComparedFigure struct {
	Phase string   `json:"phase"`
	Load  string   `json:"load"`
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	A     float64  `json:"a"`
	B     float64  `json:"b"`
	Low   *float64 `json:"ratio_low,omitempty"` // of the 95 % interval of B/A; absent: too few repeats
	High  *float64 `json:"ratio_high,omitempty"`
}

// Comparison is of two results, A and B.
type Comparison struct {
	Method      string             `json:"method"`
	Differences []host.Difference  `json:"differences"`
	Figures     []ComparedFigure   `json:"figures"`
	Findings    []diagnose.Finding `json:"findings"`
	CannotTell  []diagnose.Missing `json:"cannot_tell"`
}

// Read reads a result directory.
func Read(dir string) (*Result, error) {
	b, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	r := &Result{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("reading the result in %s: %w", dir, err)
	}
	return r, nil
}

// Compare sets two results side by side.
func Compare(one, other *Result) (*Comparison, error) {
	if one.Title != other.Title || one.Scale != other.Scale {
		return nil, errors.New("comparing the results: they are of different experiments or scales")
	}
	r := &Comparison{Method: "Welch's t of logarithms, 95 % each", Findings: []diagnose.Finding{}, CannotTell: []diagnose.Missing{}}
	differences, err := host.Differences(&one.Host, &other.Host)
	if err != nil {
		return nil, err
	}
	r.Differences = append([]host.Difference{}, differences...) // in JSON a list, be it empty
	r.Figures = compareFigures(one, other)
	r.judge()
	return r, nil
}

func compareFigures(one, other *Result) []ComparedFigure {
	out := []ComparedFigure{}
	seen := map[[2]string]bool{}
	for _, p := range one.Phases {
		for name := range p.Loads {
			key := [2]string{p.Phase, name}
			if seen[key] {
				continue
			}
			seen[key] = true
			a, b := figuresOf(one, p.Phase, name), figuresOf(other, p.Phase, name)
			for i, what := range [][2]string{{"rate", "count/s"}, {"p50", "seconds"}, {"p99", "seconds"}} {
				if len(a[i]) == 0 || len(b[i]) == 0 {
					continue
				}
				f := ComparedFigure{Phase: p.Phase, Load: name, Name: what[0], Unit: what[1], A: mean(a[i]), B: mean(b[i])}
				if low, high, ok := lab.Ratio(a[i], b[i]); ok {
					f.Low, f.High = &low, &high
				}
				out = append(out, f)
			}
		}
	}
	return out
}

// figuresOf are rate, p50 and p99 of a load, one each for every repeat.
func figuresOf(r *Result, phase, name string) (out [3][]float64) {
	for _, p := range r.Phases {
		if l := p.Loads[name]; p.Phase == phase && l != nil {
			for i, v := range []float64{l.Rate(), l.P50, l.P99} {
				out[i] = append(out[i], v)
			}
		}
	}
	return out
}

// mean is the arithmetic one.
func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// judge names the differences that go with a slower rate.
func (r *Comparison) judge() {
	var evidence []diagnose.Evidence
	known, faster, worst := false, false, 0.0
	for _, f := range r.Figures {
		if f.Name != "rate" || f.Low == nil {
			continue
		}
		known = true
		loss := 1 - f.B/f.A // below 0 where B is faster
		faster = faster || *f.Low > 1 && -loss >= leastChange
		if *f.High >= 1 || loss < leastChange || math.IsNaN(loss) {
			continue
		}
		worst = max(worst, loss)
		for _, side := range []struct {
			name string
			v    float64
		}{{"A", f.A}, {"B", f.B}} {
			evidence = append(evidence, diagnose.Evidence{ID: "rate", Name: f.Phase + ", " + f.Load + ": rate of " + side.name, Value: side.v, Unit: f.Unit, Source: "iocause lab load"})
		}
	}
	missing := ""
	switch {
	case !known:
		missing = fmt.Sprintf("%d repeats of each side (lab run --repeat)", lab.LeastRepeats)
	case len(evidence) == 0 && faster:
		missing = "a rate that is at least 5 % lower in B, with an interval of B/A below 1: B is faster; compare the other way round, B with A"
	case len(evidence) == 0:
		missing = "a rate that is at least 5 % lower in B, with an interval of B/A below 1"
	case len(r.Differences) == 0:
		missing = "a difference between the hosts' fingerprints"
	}
	if missing != "" {
		r.CannotTell = append(r.CannotTell, diagnose.Missing{Cause: diagnose.HostDifference, Missing: missing})
		return
	}
	f := diagnose.Finding{
		Cause: diagnose.HostDifference, Title: "the hosts' settings differ, and B is slower", Answer: diagnose.Yes, Weight: worst,
		// Two hosts cannot tell which of several differences it is.
		Confidence: 0.9 / float64(len(r.Differences)), Evidence: evidence, Excluded: []diagnose.Excluded{},
		Disprove: "the rates still differ after this setting was made equal",
	}
	for _, d := range r.Differences {
		a, b := d.Words()
		f.Advice = append(f.Advice, diagnose.Advice{
			Do:     fmt.Sprintf("make %s equal (A: %s, B: %s) and run both again", d.Setting, a, b),
			Expect: "equal rates, if this difference matters",
		})
	}
	r.Findings = append(r.Findings, f)
}

// Tables are the hosts' differences and the loads' figures.
func (r *Comparison) Tables() (hosts, figures *table.Table) {
	hosts = &table.Table{Key: "differences", Title: "Host differences", Whole: true,
		Columns: []table.Column{{Key: "setting", Head: "SETTING", Flex: true, Least: 30}, {Key: "a", Head: "A", Flex: true, Least: 10}, {Key: "b", Head: "B", Flex: true, Least: 10}}}
	for _, d := range r.Differences {
		one, other := d.Words()
		hosts.Rows = append(hosts.Rows, []table.Cell{table.Str(d.Setting), table.Str(one), table.Str(other)})
	}
	figures = &table.Table{Key: "figures", Title: "Figures, and the interval of B/A: " + r.Method, Whole: true,
		Columns: []table.Column{{Key: "phase", Head: "PHASE", Flex: true, Least: 8}, {Key: "load", Head: "LOAD"}, {Key: "name", Head: "FIGURE"}, {Key: "a", Head: "A"}, {Key: "b", Head: "B"}, {Key: "low", Head: "FROM"}, {Key: "high", Head: "TO"}}}
	for _, f := range r.Figures {
		low, high := "cannot tell", ""
		if f.Low != nil {
			low, high = fmt.Sprintf("%.4g", *f.Low), fmt.Sprintf("%.4g", *f.High)
		}
		figures.Rows = append(figures.Rows, []table.Cell{table.Str(f.Phase), table.Str(f.Load), table.Str(f.Name),
			table.Str(table.Value(f.A, f.Unit)), table.Str(table.Value(f.B, f.Unit)), table.Str(low), table.Str(high)})
	}
	return hosts, figures
}
