package sysstat

import (
	"cmp"
	"fmt"
	"slices"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// sheet holds values back until all tables are read: of a recording, sar and
// sadf print one table after the other, each from the first time to the last.
type sheet struct {
	lines.Values
	rows  []row
	line  int
	at    float64 // end of the row that is being read, in seconds
	every float64 // its length
	done  float64 // values up to here were handed over
	any   bool    // and some were
	late  int     // values that came after that
}

// row is one value.
type row struct {
	at, every float64
	line      int
	metric    sample.Metric
	entity    sample.Entity
	value     float64
}

// maxRows bounds the values that are held back.
const maxRows = 1 << 17

// At notes the line of the values that follow.
func (s *sheet) At(n int) { s.line = n }

// Put holds a value back.
func (s *sheet) Put(m sample.Metric, e sample.Entity, v float64) {
	if s.any && s.at <= s.done {
		s.late++
		return
	}
	if len(s.rows) >= maxRows && s.at > s.rows[len(s.rows)-1].at { // between two times
		s.flush()
	}
	if len(s.rows) >= 2*maxRows {
		s.late++
		return
	}
	s.rows = append(s.rows, row{s.at, s.every, s.line, m, e, v})
}

// flush hands over what was held back, time by time.
func (s *sheet) flush() {
	slices.SortStableFunc(s.rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	for i := range s.rows {
		r := &s.rows[i]
		s.Values.At(r.line)
		s.Values.Put(r.metric, r.entity, r.value)
		if i+1 == len(s.rows) || s.rows[i+1].at != r.at {
			s.Values.Tick(r.every)
			s.done, s.any = r.at, true
		}
	}
	s.rows = s.rows[:0]
}

// close hands over the rest.
func (s *sheet) close() {
	s.flush()
	if s.late > 0 {
		s.Values.Note(fmt.Sprintf("sysstat: %d values of later tables were left out: the recording is longer than %d values", s.late, maxRows))
	}
}
