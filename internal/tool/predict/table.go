package predict

import (
	"math"
	"slices"
	"strings"

	"iocause/internal/predict"
	"iocause/internal/table"
)

// Table is the curve.
func (p *Prediction) Table() table.Table {
	t := table.Table{Key: "points", Title: "What other sizes of memory would do", Whole: true, Columns: []table.Column{
		{Key: "memory_bytes", Head: "MEMORY", Unit: "bytes"},
		{Key: "now", Head: ""},
		{Key: "cache_bytes", Head: "CACHE", Unit: "bytes"},
		{Key: "hit_ratio", Head: "HITS", Unit: "ratio"},
		{Key: "hit_ratio_low", Head: "FROM", Unit: "ratio"},
		{Key: "hit_ratio_high", Head: "TO", Unit: "ratio"},
		{Key: "disk_reads_per_s", Head: "PAGES/s", Unit: "count"},
		{Key: "disk_bytes_per_s", Head: "DISK/s", Unit: "bytes/s", Drop: 2},
		{Key: "disk_reads_saved", Head: "SAVED", Unit: "ratio"},
		{Key: "faster_low", Unit: "count", Data: true},
		{Key: "faster_high", Unit: "count", Data: true},
		{Key: "faster", Head: "AS FAST", Drop: 1},
		{Key: "read_p50_seconds", Head: "P50", Unit: "seconds"},
		{Key: "read_p50_low_seconds", Unit: "seconds", Data: true},
		{Key: "read_p50_high_seconds", Unit: "seconds", Data: true},
		{Key: "read_p99_seconds", Head: "P99", Unit: "seconds"},
		{Key: "read_p99_low_seconds", Unit: "seconds", Data: true},
		{Key: "read_p99_high_seconds", Unit: "seconds", Data: true},
		{Key: "hit_ratio_lru", Head: "LRU", Unit: "ratio", Data: true},
	}}
	if p.Curve == nil {
		return t
	}
	for i := range p.Curve.Points {
		x := &p.Curve.Points[i]
		now := ""
		switch {
		case x.Memory == p.Place.Memory:
			now = "now"
		case x.Open:
			now = "open"
		}
		s, ok := p.Faster(x)
		faster := table.None()
		if ok {
			faster = table.Str(strings.TrimSuffix(times(s.Low, s.High), " as fast"))
		}
		cells := []table.Cell{table.Num(float64(x.Memory)), table.Str(now), table.Num(float64(x.Cache)),
			table.Num(tenths(x.Hit)), table.Num(tenths(x.Low)), table.Num(tenths(x.High)), table.Num(x.Disk), table.Num(x.Disk * predict.PageSize),
			table.Num(tenths(x.Saved.Value)), table.Maybe(s.Low, ok), table.Maybe(s.High, ok), faster}
		for _, s := range []*predict.Share{x.Median, x.P99} {
			if s == nil {
				s = &predict.Share{}
			}
			cells = append(cells, table.Maybe(s.Value, s.Value > 0), table.Maybe(s.Low, s.Value > 0), table.Maybe(s.High, s.Value > 0))
		}
		t.Rows = append(t.Rows, append(cells, table.Num(x.LRU)))
	}
	t.Notes = p.Notes
	return t
}

// Timed tells whether it is known of any size how long read calls take.
func (p *Prediction) Timed() bool {
	return slices.ContainsFunc(p.Curve.Points, func(x predict.Point) bool { return x.P99 != nil })
}

// tenths rounds a share to tenths of a percent.
func tenths(share float64) float64 { return math.Round(share*1000) / 1000 }
