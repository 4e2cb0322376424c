package view

import (
	"math"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// The heat map has a column for each power of two of the latency, in queue and
// device together, from 2^heatFrom nanoseconds (1 us) to 2^heatTo (17 s).
const (
	heatFrom = 10
	heatTo   = 34
)

// heatShades are from none to most.
const heatShades = " .:-=+*#%@"

// heatMap is one line for each device and operation: how many I/Os took how
// long. Line below line, interval after interval, it is a heat map.
func heatMap(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "heat", Title: "Latency, a column for each power of two; " + strings.TrimSpace(heatShades) + " from few to many", Stream: true, Whole: true,
		Columns: []table.Column{
			{Key: "device", Head: "DEVICE  "}, {Key: "op", Head: "OP   "},
			{Key: "count", Head: "  COUNT", Unit: "count"},
			{Key: "heat", Head: heatScale()},
			{Key: "p50_seconds", Head: "    P50", Unit: "seconds"}, {Key: "p99_seconds", Head: "    P99", Unit: "seconds"},
		}}
	for _, e := range withHistogram(w, q, sample.HistDevice) {
		device, queue := w.Histogram(sample.HistDevice, e), w.Histogram(sample.HistQueue, e)
		// the sum of two histograms is not the histogram of the sums: where
		// queueing counts, its own is shown in a line of its own
		t.Rows = append(t.Rows, heatRow(e, "", device))
		if queue != nil && queue.Sum > device.Sum/10 {
			t.Rows = append(t.Rows, heatRow(e, " queue", queue))
		}
	}
	return t
}

func heatRow(e sample.Entity, part string, h *sample.Hist) []table.Cell {
	var b strings.Builder
	most := 0.0
	for _, n := range h.Counts {
		most = max(most, math.Log1p(float64(n)))
	}
	for i := heatFrom; i < heatTo; i++ {
		n := h.Counts[i]
		if i == heatFrom {
			for _, below := range h.Counts[:i] {
				n += below
			}
		}
		shade := 0
		if n > 0 {
			shade = 1 + int(math.Log1p(float64(n))/math.Max(most, math.Log1p(float64(n)))*float64(len(heatShades)-2))
		}
		b.WriteByte(heatShades[shade])
	}
	return []table.Cell{table.Str(e.Device), table.Str(e.Class + part), table.Num(float64(h.N())), table.Str("|" + b.String() + "|"),
		table.Num(h.Quantile(.5) / 1e9), table.Num(h.Quantile(.99) / 1e9)}
}

// heatScale is the head of the map: a mark at 1 us, 1 ms and 1 s.
func heatScale() string {
	scale := []byte("|" + strings.Repeat(" ", heatTo-heatFrom) + "|")
	for at, mark := range map[int]string{10: "1us", 20: "1ms", 30: "1s"} {
		copy(scale[1+at-heatFrom:], mark)
	}
	return string(scale)
}
