package baseline

import (
	"fmt"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// List shows an hour of several signals.
func List(hours []Hour, newest time.Time) table.Table {
	t := table.Table{Columns: []table.Column{
		{Key: "signal", Head: "SIGNAL"}, {Key: "was", Head: "WAS"}, {Key: "normal", Head: "NORMAL"},
		{Key: "z", Head: "Z"}, {Key: "basis", Head: "COMPARED WITH"}, {Key: "month", Head: "MONTH", Drop: 1}, {Key: "year", Head: "YEAR", Drop: 2},
	}}
	if len(hours) > 0 {
		t.Title = "The hour of " + newest.Format("Mon 2006-01-02 15:04 -0700")
	}
	for _, h := range hours {
		t.Rows = append(t.Rows, []table.Cell{table.Str(h.Signal), h.cell(h.Was.P50), h.span(h.Normal.P05, h.Normal.P95),
			zCell(h.Z), table.Str(Basis(h.Basis, h.Days)), h.cell(h.Month.P50), h.cell(h.Year.P50)})
	}
	return t
}

// cell is a figure in the unit of the signal.
func (h *Hour) cell(v *float64) table.Cell {
	if v == nil {
		return table.None()
	}
	return table.Str(h.value(*v))
}

// value leaves out what is counted: the signal's name says it, and there is not
// the room.
func (h *Hour) value(v float64) string {
	return table.Value(v, strings.Replace(h.Unit, string(sample.Pages), string(sample.Count), 1))
}

// span is two figures with their unit once, where it is one.
func (h *Hour) span(low, high *float64) table.Cell {
	if low == nil || high == nil {
		return table.None()
	}
	from, to := h.value(*low), h.value(*high)
	if at := strings.LastIndexByte(to, ' '); at > 0 {
		from = strings.TrimSuffix(from, to[at:])
	}
	return table.Str(from + ".." + to)
}

func zCell(z *float64) table.Cell {
	if z == nil {
		return table.None()
	}
	return table.Str(fmt.Sprintf("%.1f", *z))
}

// Basis says what is compared with, and how much of it is known.
func Basis(b detect.Basis, days int) string {
	switch b {
	case detect.HourOfWeek:
		return fmt.Sprintf("%s, %s", b, sample.Counted(days, "week"))
	case detect.DayKind:
		return "kind of day, " + sample.Counted(days, "day") // weekday or weekend
	case detect.LastDay:
		return fmt.Sprintf("%s, %s", b, sample.Counted(days, "hour"))
	}
	return string(b)
}

// Below says what a drawing of a day cannot: known and normal tell whether it
// shows what was measured, and what is normal.
func Below(hours []Hour, known, normal bool) table.Table {
	var notes []string
	if !known {
		notes = append(notes, "there are no values of that day, or less than an hour")
	}
	if !normal {
		notes = append(notes, "learning: not enough history for a baseline")
	}
	at := hours[len(hours)-1]
	alarmed := 0
	for _, h := range hours {
		alarmed += h.Alarmed
		if h.Was.P50 != nil {
			at = h
		}
	}
	if alarmed > 0 {
		notes = append(notes, fmt.Sprintf("%s of that day were abnormal: incidents, or recurring events", table.Duration(float64(alarmed)*10)))
	}
	t := table.Table{Whole: true, Notes: notes, Columns: []table.Column{{Key: "at", Head: at.Start.Format("At 15:04")}, {Key: "p05", Head: "5 %"},
		{Key: "p50", Head: "MEDIAN"}, {Key: "p95", Head: "95 %"}, {Key: "extreme", Head: "WORST MINUTE"}, {Key: "from", Head: "FROM"}}}
	for _, r := range []struct {
		name string
		band Band
		from string
	}{{"that hour", at.Was, sample.Counted(at.Samples, "sample")}, {"normal", at.Normal, Basis(at.Basis, at.Days)},
		{"this month", at.Month, sample.Counted(at.Month.Hours, "hour")}, {"a year ago", at.Year, sample.Counted(at.Year.Hours, "hour")}} {
		t.Rows = append(t.Rows, []table.Cell{table.Str(r.name), at.cell(r.band.P05), at.cell(r.band.P50), at.cell(r.band.P95), at.cell(r.band.Extreme), table.Str(r.from)})
	}
	return t
}
