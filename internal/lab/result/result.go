// Package result keeps what experiments of the lab came to, compares two of them,
// and draws them.
package result

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/present/html"
	"iocause/internal/present/jsondoc"
	"iocause/internal/table"
)

// Result is what an experiment came to: results.json.
type Result struct {
	Experiment string            `json:"experiment"`
	Title      string            `json:"title"`
	Scale      float64           `json:"scale"`
	Started    time.Time         `json:"started"`
	Host       host.Fingerprint  `json:"host"`
	Phases     []lab.PhaseResult `json:"phases"`
	Changes    []Change          `json:"changes"`
	Checks     []lab.Checked     `json:"checks"`
	Ended      string            `json:"ended,omitempty"` // why there is no more
}

// Measured takes in the phases that were run; ended is why there are no more.
func (r *Result) Measured(x *lab.Experiment, phases []lab.PhaseResult, ended error) {
	r.Phases, r.Checks = phases, x.Verify(phases)
	if ended != nil {
		r.Ended = ended.Error()
	}
	for i := range phases {
		r.Changes = append(r.Changes, changesIn(&phases[i])...)
	}
}

// Save writes the files of a result directory.
func (r *Result) Save(dir string, x *lab.Experiment) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.json", func(w io.Writer) error { return jsondoc.Write(w, r) }},
		{"series.csv", func(w io.Writer) error { return writeSeries(w, r.Phases) }},
		{"report.html", func(w io.Writer) error { return html.WriteReport(w, r.page(x)) }},
	} {
		const private = 0o600 // names of processes and files of this machine are in it
		file, err := os.OpenFile(filepath.Join(dir, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, private)
		if err != nil {
			return err
		}
		if err := errors.Join(f.write(file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Summary is a row for each measured load of each phase: medians over the
// repeats, and the range of the rate.
func (r *Result) Summary(x *lab.Experiment) *table.Table {
	t := &table.Table{
		Key: "phases", Title: fmt.Sprintf("%s (scale %g)", x.Title, r.Scale), Whole: true,
		Columns: []table.Column{
			{Key: "phase", Head: "PHASE", Flex: true, Least: 12}, {Key: "load", Head: "LOAD", Drop: 3},
			{Key: "calls_per_s", Head: "CALLS/S", Unit: "count/s"}, {Key: "least", Head: "LEAST", Unit: "count/s", Drop: 1}, {Key: "most", Head: "MOST", Unit: "count/s", Drop: 2},
			{Key: "p50_seconds", Head: "P50", Unit: "seconds"}, {Key: "p99_seconds", Head: "P99", Unit: "seconds"},
			{Key: "reference", Head: "REFERENCE", Unit: "count/s", Rare: true}, {Key: "finding", Head: "FINDING"}, {Key: "over_time", Head: "OVER TIME", Drop: 4},
		},
	}
	if x.Repeat <= 1 { // there is no range: the time it took says more
		t.Columns[3].Drop, t.Columns[4].Drop = 5, 6
	}
	by := ""
	for i := range x.Phases {
		p := &x.Phases[i]
		for _, l := range p.Loads {
			var rates, p50, p99 []float64
			var found []string
			for k := range r.Phases {
				if one := &r.Phases[k]; one.Phase == p.Name {
					rates, p50, p99 = append(rates, one.Loads[l.Name].Rate()), append(p50, one.Loads[l.Name].P50), append(p99, one.Loads[l.Name].P99)
					if verdict := one.Primary; verdict == "" {
						found = append(found, map[bool]string{true: "(not watched)", false: "(too short)"}[p.Unwatched])
					} else if !slices.Contains(found, verdict) {
						found = append(found, verdict)
					}
				}
			}
			if len(rates) == 0 {
				continue
			}
			row := []table.Cell{table.Str(p.Name), table.Str(l.Name), table.Num(median(rates)), table.Num(slices.Min(rates)), table.Num(slices.Max(rates)),
				table.Num(median(p50)), table.Num(median(p99)), table.None(), table.Str(strings.Join(slices.Compact(found), ", ")), table.Str(overTime(r, p.Name, l.Name))}
			if p.Before != nil {
				row[7], by = table.Num(p.Before.Rate), p.Before.By
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if by != "" {
		t.Notes = append(t.Notes, "REFERENCE: "+by+", at scale 1; another device, so compare the shape, not the figures")
	}
	return t
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}
