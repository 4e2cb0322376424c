package threads

import (
	"math"
	"slices"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/table"
)

// waitsByState are the lengths of waits that ended.
type waitsByState [probe.States]sample.Histogram

func (w *waitsByState) add(o *probe.Waits) { w[o.State].Merge(&o.Lengths) }

// Slots of the drawing: 1 us to 16 s, in powers of two; what is shorter or
// longer counts as the first or the last.
const (
	firstSlot = 10
	lastSlot  = 33
)

func (w *waitsByState) table() table.Table {
	t := table.Table{Key: "waits", Title: "Waits that ended, by their length", Columns: []table.Column{
		{Key: "state", Head: "STATE"}, {Key: "waits", Head: "WAITS", Unit: "count"}, {Key: "time_s", Head: "TIME", Unit: "seconds"},
		{Key: "p50_s", Head: "P50", Unit: "seconds"}, {Key: "p90_s", Head: "P90", Unit: "seconds", Drop: 2},
		{Key: "p99_s", Head: "P99", Unit: "seconds"}, {Key: "longest_below_s", Head: "MAX <", Unit: "seconds"},
		{Key: "lengths", Head: "1us.......1ms.......1s..", Drop: 1},
	}}
	for state := probe.Runnable; state < probe.States; state++ {
		h := &w[state]
		n := h.N()
		if n == 0 {
			continue
		}
		top := 0
		for i, c := range h.Counts {
			if c > 0 {
				top = i
			}
		}
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(state.Key()), table.Num(float64(n)), table.Num(h.Sum / 1e9), table.Num(h.Quantile(0.5) / 1e9),
			table.Num(h.Quantile(0.9) / 1e9), table.Num(h.Quantile(0.99) / 1e9), table.Num(math.Ldexp(1, top+1) / 1e9), table.Str(drawn(h)),
		})
	}
	return t
}

// drawn is a histogram in one line: the darker, the more waits.
func drawn(h *sample.Histogram) string {
	const shades = " .:-=+*#%@"
	var counts [lastSlot - firstSlot + 1]uint64
	for i, c := range h.Counts {
		counts[min(max(i, firstSlot), lastSlot)-firstSlot] += c
	}
	most := slices.Max(counts[:])
	line := make([]byte, len(counts))
	for i, c := range counts {
		shade := 0
		if c > 0 { // whatever is there is seen
			shade = 1 + int(float64(c)/float64(most)*float64(len(shades)-2))
		}
		line[i] = shades[shade]
	}
	return string(line)
}
