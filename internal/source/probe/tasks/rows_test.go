package tasks

import (
	"slices"
	"testing"
)

func TestSum(t *testing.T) {
	before := []tasksRow{
		{Tid: 5, Tgid: 5, Start: 10, RunDelay: 100, BlkioDelay: 7},
		{Tid: 6, Tgid: 5, Start: 20, RunDelay: 50},
		{Tid: 8, Tgid: 5, Start: 20, RunDelay: 1000}, // ends, and another one gets its number
	}
	rows := []tasksRow{
		{Tid: 2, Tgid: 5, Start: 150, ReadBytes: 1, RunDelay: 3, Flags: blocked | forIO}, // the numbers began anew
		{Tid: 5, Tgid: 5, Start: 10, ReadBytes: 100, User: 1, Runtime: 2, RunDelay: 101, BlkioDelay: 9},
		{Tid: 6, Tgid: 5, Start: 20, ReadBytes: 20, User: 10, Runtime: 20, RunDelay: 70},
		{Tid: 7, Tgid: 5, Start: 90, ReadBytes: 300, RunDelay: 9999, Flags: blocked}, // was missed before
		{Tid: 8, Tgid: 5, Start: 170, WriteBytes: 4, RunDelay: 5, Flags: blocked | forIO},
		{Tid: 9, Tgid: 40, Start: 180, ReadBytes: 4}, // its first thread is not in the table
	}
	rises := sum(rows, before, 100, nil)
	if got := rises[1]; got != (rise{run: 3 + 1 + 20 + 5, blkio: 2, io: 2, other: 1}) {
		t.Errorf("%+v", got)
	}
	if r := rows[1]; r.ReadBytes != 421 || r.WriteBytes != 4 || r.User != 11 || r.Runtime != 22 {
		t.Errorf("%+v", r)
	}
}

// Exact run time is shared out as ticks fell, and no part ever falls.
func TestShare(t *testing.T) {
	was := &tasksRow{}
	for _, c := range []struct{ user, system, runtime, wantUser, wantSystem uint64 }{
		{0, 0, 0, 0, 0},
		{0, 0, 900, 900, 0},
		{0, 10, 1000, 900, 100},      // all ticks were in the kernel, but user time never falls
		{1000, 1000, 1200, 900, 300}, // half of it would be 600
		{3000, 1000, 4000, 3000, 1000},
		{3000, 1000, 3999, 3000, 1000}, // what ran to the end of a pass can seem less in the next
		{1 << 62, 1 << 62, 1 << 62, 1 << 61, 1 << 61},
	} {
		r := &tasksRow{User: c.user, System: c.system, Runtime: c.runtime}
		r.share(was)
		if r.User != c.wantUser || r.System != c.wantSystem {
			t.Errorf("%+v after %d and %d: %d and %d", c, was.User, was.System, r.User, r.System)
		}
		was = r
	}
}

func TestRowsInRefuses(t *testing.T) {
	if _, err := rowsIn(nil); err == nil {
		t.Error("nothing is rows")
	}
}

// A process has rested when it is the same, and none of its threads has run, is
// running, began or ended.
func TestRested(t *testing.T) {
	const tick = 10_000_000 // ns
	before := []tasksRow{
		{Tid: 5, Tgid: 5, Start: 7*tick + 3, Runtime: 100}, {Tid: 6, Tgid: 5, Start: 8 * tick, Runtime: 50},
		{Tid: 7, Tgid: 7, Start: 9 * tick, Runtime: 1},
	}
	first := func(change func([]tasksRow) []tasksRow) bool {
		p := &Ended{ran: [2]map[uint32]ran{{}, {}}}
		ranBy(p.ran[0], before)
		ranBy(p.ran[1], change(slices.Clone(before)))
		return p.Rested(5, 7)
	}
	for name, c := range map[string]struct {
		want   bool
		change func([]tasksRow) []tasksRow
	}{
		"nothing":                {true, func(r []tasksRow) []tasksRow { return r }},
		"another process ran":    {true, func(r []tasksRow) []tasksRow { r[2].Runtime++; return r }},
		"a thread ran":           {false, func(r []tasksRow) []tasksRow { r[1].Runtime++; return r }},
		"a thread is running":    {false, func(r []tasksRow) []tasksRow { r[1].Flags |= running; return r }},
		"a thread ended":         {false, func(r []tasksRow) []tasksRow { return append(r[:1], r[2]) }},
		"a thread began":         {false, func(r []tasksRow) []tasksRow { return append(r, tasksRow{Tid: 8, Tgid: 5, Start: 90}) }},
		"one ended, one began":   {false, func(r []tasksRow) []tasksRow { r[1].Tid, r[1].Start = 9, 9*tick; return r }},
		"it ended":               {false, func(r []tasksRow) []tasksRow { return r[2:] }},
		"another has its number": {false, func(r []tasksRow) []tasksRow { r[0].Start = 6 * tick; return r }},
	} {
		if got := first(c.change); got != c.want {
			t.Errorf("%s: rested: %v", name, got)
		}
	}
	p := &Ended{}
	if p.Rested(5, 7) {
		t.Error("who was never looked at has rested")
	}
}
