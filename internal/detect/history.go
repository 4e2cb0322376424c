package detect

import (
	"cmp"
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// Keep is how long hours are remembered: thirteen months.
const Keep = 396 * 24 * time.Hour

// mostRows of a signal are kept. They are counted, not told by their time: an
// hour with a clock that was wrong must not push out the others.
const mostRows = int(Keep / time.Hour)

// History is what is known of the past: the hours of every signal. It is used
// by one goroutine.
type History struct {
	loc  *time.Location
	rows map[string][]hourRow // oldest first
}

// hourRow is a sample.Hour in little memory: a year of eleven signals is 3 MB.
type hourRow struct {
	start      int64 // Unix seconds
	n, alarmed uint16
	week       uint8 // hour of the week in local time, from Sunday 0:00
	q          [5]float32
	extreme    float32
}

// hoursOfWeek is how many hours a week has that none is missing of.
const hoursOfWeek = 7 * 24

// NewHistory makes an empty history of a host in a time zone.
func NewHistory(loc *time.Location) *History {
	return &History{loc: loc, rows: map[string][]hourRow{}}
}

// hourOfWeek is the hour that the clock shows, from Sunday 0:00.
func hourOfWeek(local time.Time) int { return int(local.Weekday())*24 + local.Hour() }

// Put adds one hour. Of two for the same hour, as a restart makes them, the
// one with more samples counts. Figures that are no numbers are left out.
func (h *History) Put(x sample.Hour) {
	if x.N < 0 || x.N == 0 && x.Alarmed <= 0 || math.IsNaN(x.Extreme) || math.IsInf(x.Extreme, 0) {
		return
	}
	r := hourRow{start: x.Start.Unix(), n: uint16(min(x.N, math.MaxUint16)), alarmed: uint16(min(max(x.Alarmed, 0), math.MaxUint16)),
		week: uint8(hourOfWeek(x.Start.In(h.loc))), extreme: float32(x.Extreme)}
	for i, q := range x.Q {
		if math.IsNaN(q) || math.IsInf(q, 0) || i > 0 && q < x.Q[i-1] {
			return
		}
		r.q[i] = float32(q)
	}
	rows := h.rows[x.Signal]
	at, found := slices.BinarySearchFunc(rows, r.start, func(r hourRow, start int64) int { return cmp.Compare(r.start, start) })
	switch {
	case !found:
		rows = slices.Insert(rows, at, r)
	case r.n >= rows[at].n:
		rows[at] = r
	}
	if len(rows) > mostRows {
		rows = slices.Delete(rows, 0, len(rows)-mostRows)
	}
	h.rows[x.Signal] = rows
}

// between are the rows that begin from one instant on and before another.
func (h *History) between(signal string, from, to time.Time) []hourRow {
	rows := h.rows[signal]
	search := func(t time.Time) int {
		at, _ := slices.BinarySearchFunc(rows, t.Unix(), func(r hourRow, start int64) int { return cmp.Compare(r.start, start) })
		return at
	}
	return rows[search(from):max(search(to), search(from))]
}

// recurs tells whether an hour belongs to what happens every day or week: a
// good part of the same hour a day or a week before was an incident too. If
// such hours were left out of learning, a backup would be an incident each
// time.
func (h *History) recurs(signal string, hour time.Time) bool { return len(h.before(signal, hour)) > 0 }

// before are the same hours a day and a week before, if they were off.
func (h *History) before(signal string, hour time.Time) mixture {
	return slices.DeleteFunc(h.dayAndWeekBefore(signal, hour), func(r hourRow) bool { return r.alarmed < leastSamples })
}

// wasOff is behind the name of a signal whose hours are of what was off in them
// alone, learned or not.
const wasOff = ":off"

// dayAndWeekBefore are the same hours then, of the clock on the wall.
func (h *History) dayAndWeekBefore(signal string, hour time.Time) (rows mixture) {
	local := hour.In(h.loc)
	for _, days := range [...]int{-1, -7} {
		at := hourStart(local.AddDate(0, 0, days), h.loc)
		rows = append(rows, h.between(signal, at, at.Add(time.Second))...)
	}
	return rows
}

// Hours are the hours of a signal that begin from one instant on and before
// another, oldest first.
func (h *History) Hours(signal string, from, to time.Time) []sample.Hour {
	var out []sample.Hour
	for _, r := range h.between(signal, from, to) {
		x := sample.Hour{Signal: signal, Start: time.Unix(r.start, 0).In(h.loc), N: int(r.n), Alarmed: int(r.alarmed), Extreme: float64(r.extreme)}
		for i, q := range r.q {
			x.Q[i] = float64(q)
		}
		out = append(out, x)
	}
	return out
}
