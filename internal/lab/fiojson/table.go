package fiojson

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"

	"iocause/internal/table"
)

// Table has a row for each job and direction.
func (o *Output) Table() *table.Table {
	t := &table.Table{
		Key: "jobs", Title: "jobs of " + o.Version, Whole: true,
		Columns: []table.Column{
			{Key: "job", Head: "JOB", Flex: true, Least: 8}, {Key: "direction", Head: "OP"},
			{Key: "requests_per_s", Head: "REQ/S", Unit: "count/s"}, {Key: "bytes_per_s", Head: "BYTES/S", Unit: "bytes/s"},
			{Key: "submit_mean_seconds", Head: "SUBMIT", Unit: "seconds"}, {Key: "submit_max_seconds", Head: "MAX", Unit: "seconds", Drop: 4},
			{Key: "complete_p50_seconds", Head: "COMPLETE P50", Unit: "seconds"}, {Key: "complete_p99_seconds", Head: "P99", Unit: "seconds"},
			{Key: "complete_p999_seconds", Head: "P99.9", Unit: "seconds", Drop: 2}, {Key: "complete_max_seconds", Head: "MAX", Unit: "seconds", Drop: 1},
			{Key: "cpu", Head: "CPU", Unit: "ratio", Drop: 3},
		},
	}
	for i := range o.Jobs {
		j := &o.Jobs[i]
		for k := range j.Sides {
			s := &j.Sides[k]
			quantile := func(q float64) table.Cell { return table.Maybe(s.Complete.At(q)) }
			t.Rows = append(t.Rows, []table.Cell{
				table.Str(j.Name), table.Str(s.Direction), table.Num(s.PerSecond), table.Num(s.BytesPerSec),
				table.Maybe(s.Submit.Mean, s.Submit.N > 0), table.Maybe(s.Submit.Max, s.Submit.N > 0),
				quantile(0.5), quantile(0.99), quantile(0.999), table.Maybe(s.Complete.Max, s.Complete.N > 0), table.Num(j.CPU[0] + j.CPU[1]),
			})
		}
		if j.Error != 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("job %s ended with error %d (%v)", j.Name, j.Error, syscall.Errno(j.Error)))
		}
		if len(j.Sides) == 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("job %s made no requests", j.Name))
		}
	}
	return t
}

// Says is why fio failed: what it wrote to its standard error, or else in front
// of its output b, and the errors of its jobs. Names in it may hold anything.
func (o *Output) Says(notes, b []byte) string {
	words, _, _ := bytes.Cut(append([]byte("\n"), b...), []byte("\n{"))
	if len(bytes.TrimSpace(notes)) > 0 {
		words = notes
	}
	var all []string
	for line := range bytes.Lines(words) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all = append(all, string(line))
		}
	}
	all = all[:min(len(all), fioLines)]
	for i := range o.Jobs {
		if j := &o.Jobs[i]; j.Error != 0 {
			all = append(all, fmt.Sprintf("job %s: %v", j.Name, syscall.Errno(j.Error)))
		}
	}
	if len(all) == 0 {
		return "it does not say why"
	}
	return strings.Join(all, "; ")
}

// fioLines is how many lines of fio's words are repeated.
const fioLines = 6
