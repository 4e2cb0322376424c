// Package picture has what is drawn of windows, before it has a form: courses over
// time, latencies as heat maps, who used a device. It is pure: what is live and
// what is played back look the same.
package picture

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Set is what is drawn over one axis of time.
type Set struct {
	Title  string    `json:"title"`
	Start  time.Time `json:"start"`  // that all times below are counted from
	Offset int       `json:"offset"` // of the zone of Start, seconds east of UTC
	// Begin and End are those of each column, in seconds since Start. Between two
	// columns may be time that nobody observed.
	Begin  Figures `json:"begin"`
	End    Figures `json:"end"`
	Marks  []Mark  `json:"marks"`
	Charts []Chart `json:"charts"`
	Heats  []Heat  `json:"heats"`
	// Uses are who used each device of the heat maps, by its name.
	Uses  map[string]*Use `json:"uses"`
	Names []string        `json:"names"` // of processes and files, any bytes; Use has places in it
}

// Mark is a stretch of time that is to be seen, in seconds since Start.
type Mark struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Name string  `json:"name"`
}

// Chart is figures of one unit over the columns of its set.
type Chart struct {
	Key     string `json:"key"`   // "pressure", "device:vda:latency"
	Group   string `json:"group"` // charts of one group are shown together
	Title   string `json:"title"`
	Unit    string `json:"unit"` // as table.Value takes it
	Source  string `json:"source"`
	Stacked bool   `json:"stacked,omitempty"` // the lines are parts of a whole
	// Band is what is normal, where that is known.
	Band  *Band  `json:"band,omitempty"`
	Lines []Line `json:"lines"`
}

// Band is what nine tenths of a reference lie in.
type Band struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Line is one figure: a value for each column, NaN where it is not known.
type Line struct {
	Name   string  `json:"name"` // may be data from the system
	Values Figures `json:"values"`
}

// Heat is how many I/Os of a device took how long, column by column. Row r holds
// latencies from 2^(r/PerOctave) nanoseconds up to the next row's.
type Heat struct {
	Device    string `json:"device"`
	Op        string `json:"op"`   // "read", "write", "flush", "other"
	Part      string `json:"part"` // "device", "queue", or "total" where single I/Os are known
	Source    string `json:"source"`
	PerOctave int    `json:"per_octave"`
	Count     uint64 `json:"count"`
	// Cells are for each column the first row that has any, and the counts from
	// there on; empty where there are none.
	Cells [][]uint64 `json:"cells"`
	// Begin and End are the map's own columns where they are not those of the set.
	Begin Figures `json:"begin,omitempty"`
	End   Figures `json:"end,omitempty"`
}

// Use is who used a device in each column: the most busy first. Places are those
// in Set.Names.
type Use struct {
	// Processes are [process, operation, requests, mean latency in microseconds]
	// four numbers for each; the operation's place is that in Ops.
	Processes [][]float64 `json:"processes"`
	// Files are [file, operation, bytes], through the page cache or past it where
	// the file is known.
	Files [][]float64 `json:"files"`
}

// Ops are the operations, by the place that Use has.
func Ops() []string { return []string{"read", "write", "flush", "other"} }

// Figures are written with three significant digits, as they are shown: what is no
// number becomes null.
type Figures []float64

// MarshalJSON implements json.Marshaler.
func (f Figures) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 4*len(f)+2)
	b = append(b, '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e6:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = strconv.AppendFloat(b, v, 'g', 4, 64)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Figures) UnmarshalJSON(text []byte) error {
	var all []*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*f = make(Figures, len(all))
	for i, v := range all {
		if (*f)[i] = math.NaN(); v != nil {
			(*f)[i] = *v
		}
	}
	return nil
}
