package view

import (
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// diskForecast is what devices would do with other limits, requests and depths.
func diskForecast(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "forecast", Title: "What devices would do after a change", Whole: true, Columns: []table.Column{
		{Key: "device", Head: "DEVICE"},
		{Key: "limit", Head: "AT ITS LIMIT OF"},
		{Key: "change", Head: "WITH"},
		{Key: "ios_per_s", Head: "IO/s", Unit: "count"},
		{Key: "ios_low_per_s", Head: "FROM", Unit: "count"},
		{Key: "ios_high_per_s", Head: "TO", Unit: "count"},
		{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"},
		{Key: "request_bytes", Head: "SIZE", Unit: "bytes", Drop: 1},
		{Key: "latency_seconds", Head: "LATENCY", Unit: "seconds", Drop: 2},
	}}
	var names []string
	w.Each(sample.BlockOps, func(e sample.Entity, _ *sample.Series) {
		if e.Device != "" && (q.Device == "" || e.Device == q.Device) && !slices.Contains(names, e.Device) {
			names = append(names, e.Device)
		}
	})
	slices.SortFunc(names, func(a, b string) int {
		if x, y := traffic(w, a), traffic(w, b); x != y {
			return int(max(-1, min(1, y-x)))
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		f := figure.ForecastOf(w, name)
		if f == nil {
			continue
		}
		for i, c := range f.Changes {
			limit := table.None()
			if f.Limit != "" && i == 0 {
				limit = table.Str(f.Limit)
			}
			t.Rows = append(t.Rows, []table.Cell{table.Str(name), limit, table.Str(c.Name), table.Num(c.Ops.Value), table.Num(c.Ops.Low), table.Num(c.Ops.High),
				table.Num(c.Ops.Value * c.Size), table.Num(c.Size), table.Maybe(c.Latency, c.Latency > 0)})
		}
	}
	t.Notes = append(missing(w, sample.BlockOps, sample.BlockBinOps),
		"a limit shows as a rate that stays the same while the number in flight varies at least twofold; a program that reads or writes one block after the other has one in flight for each thread",
		"the programs are assumed to do between two requests what they do now; a limit that was not reached is not known")
	return t
}
