package view

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// part is one histogram of an I/O.
type part struct {
	key, title string
	metric     sample.Metric
}

// histograms are percentiles of all parts, and a histogram of each, for every
// device and operation; sizes by process too, with a histogram of those that
// were asked for. unit is "seconds" (the histograms have nanoseconds) or
// "bytes".
func histograms(w *sample.Window, q *Query, key, title, unit string, parts []part) []table.Table {
	scale := 1.0
	if unit == "seconds" {
		scale = 1e-9
	}
	sums := table.Table{Key: key, Title: title + ", percentiles to a power of two", Columns: []table.Column{
		{Key: "pid", Head: "PID", Drop: 2}, {Key: "comm", Head: "COMM", Flex: true, Drop: 2},
		{Key: "device", Head: "DEVICE"}, {Key: "op", Head: "OP"}, {Key: "part", Head: "PART", Drop: 3},
		{Key: "count", Head: "COUNT", Unit: "count"}, {Key: "mean_" + unit, Head: "MEAN", Unit: unit},
		{Key: "p50_" + unit, Head: "P50", Unit: unit}, {Key: "p90_" + unit, Head: "P90", Unit: unit},
		{Key: "p99_" + unit, Head: "P99", Unit: unit}, {Key: "p999_" + unit, Head: "P99.9", Unit: unit, Drop: 1},
	}}
	tables := []table.Table{sums}
	for _, p := range parts {
		t := table.Table{Key: p.key + "_histogram", Title: p.title, Columns: []table.Column{
			{Key: "device", Head: "DEVICE"}, {Key: "op", Head: "OP"},
			{Key: "from_" + unit, Head: "FROM", Unit: unit}, {Key: "below_" + unit, Head: "BELOW", Unit: unit},
			{Key: "count", Head: "COUNT", Unit: "count"}, {Key: "bar", Head: "", Drop: 1},
		}, Whole: true}
		for _, e := range withHistogram(w, q, p.metric) {
			h := w.Histogram(p.metric, e)
			quantile := func(x float64) table.Cell { return table.Num(h.Quantile(x) * scale) }
			tables[0].Rows = append(tables[0].Rows, []table.Cell{
				pid(e.PID), comm(w, e.PID), table.Str(e.Device), table.Str(e.Class), table.Str(p.key), table.Num(float64(h.N())),
				ratio(h.Sum*scale, float64(h.N())), quantile(.5), quantile(.9), quantile(.99), quantile(.999)})
			if (e.PID != 0) == q.narrow() {
				t.Rows = append(t.Rows, buckets(e, h, scale)...)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// withHistogram are the devices and operations that have a histogram.
func withHistogram(w *sample.Window, q *Query, m sample.Metric) []sample.Entity {
	var all []sample.Entity
	w.EachHistogram(m, func(e sample.Entity, _ *sample.Hist) {
		if (q.Device == "" || e.Device == q.Device) && (e.PID == 0 || q.process(w, e.PID)) {
			all = append(all, e)
		}
	})
	slices.SortFunc(all, func(a, b sample.Entity) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Class, b.Class))
	})
	return all
}

// buckets are the rows of one histogram, from its first bucket that is not
// empty to its last.
func buckets(e sample.Entity, h *sample.Hist, scale float64) [][]table.Cell {
	first := slices.IndexFunc(h.Counts[:], func(n uint64) bool { return n > 0 })
	most := slices.Max(h.Counts[:])
	var rows [][]table.Cell
	for i, left := max(first, 0), h.N(); left > 0; i++ {
		from := float64(uint64(1)<<i) * scale
		if i == 0 {
			from = 0
		}
		n := h.Counts[i]
		left -= n
		rows = append(rows, []table.Cell{table.Str(e.Device), table.Str(e.Class), table.Num(from),
			table.Num(float64(uint64(2)<<i) * scale), table.Num(float64(n)), table.Str(bar(n, most))})
	}
	return rows
}

const barWidth = 36

// bar is a bar for n of most; what is not nothing is at least one character.
func bar(n, most uint64) string {
	if n == 0 || most == 0 {
		return ""
	}
	hi, lo := bits.Mul64(n, barWidth)
	length, _ := bits.Div64(hi, lo, most)
	return strings.Repeat("#", int(max(length, 1)))
}
