package picture

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
)

// Of single I/Os more is known than of sums: rows of a quarter of a power of two,
// and columns down to a millisecond.
const (
	tracedPerOctave = 4
	finestColumn    = time.Millisecond
)

// Traced draws single I/Os: their latencies from request to completion by when
// they were done, and who asked for them. Source says where they were seen; start
// is the instant that their times are counted from.
func Traced(title, source string, start time.Time, ios []sample.IO) *Set {
	s := empty(title, start)
	if len(ios) == 0 {
		return s
	}
	first, last := ios[0].End(), ios[0].End()
	for i := range ios {
		first, last = min(first, ios[i].End()), max(last, ios[i].End())
	}
	step := max((last-first)/mostColumns+1, finestColumn)
	columns := make([]*column, (last-first)/step+1)
	cells := make([]map[heatKey]map[uint64]uint64, len(columns)) // by row
	counts, weight := map[heatKey]uint64{}, map[string]float64{}
	for i := range columns {
		columns[i] = &column{begin: first + time.Duration(i)*step, end: first + time.Duration(i+1)*step, seconds: step.Seconds(), uses: map[useKey]use{}, files: map[fileKey]float64{}}
		cells[i] = map[heatKey]map[uint64]uint64{}
		s.Begin, s.End = append(s.Begin, exact(columns[i].begin)), append(s.End, exact(columns[i].end))
	}
	for i := range ios {
		x := &ios[i]
		at := (x.End() - first) / step
		op := x.Flags.Op()
		if !slices.Contains(Ops(), op) {
			op = "other"
		}
		k := heatKey{x.Disk, op, "total"}
		if cells[at][k] == nil {
			cells[at][k] = map[uint64]uint64{}
		}
		cells[at][k][tracedRow(x.Latency())]++
		counts[k]++
		weight[x.Disk] += x.Latency().Seconds()
		columns[at].add(x, op)
	}
	d := &drawing{course: &Course{sources: map[sample.Metric]string{sample.BlockDeviceTime: source}}, columns: columns, set: s}
	for _, disk := range heaviest(weight)[:min(len(heaviest(weight)), mostDevices)] {
		for _, op := range Ops() {
			k := heatKey{disk, op, "total"}
			if counts[k] == 0 {
				continue
			}
			h := Heat{Device: disk, Op: op, Part: k.part, Source: source, PerOctave: tracedPerOctave, Count: counts[k], Cells: make([][]uint64, len(columns))}
			for i := range columns {
				h.Cells[i] = rows(cells[i][k])
			}
			s.Heats = append(s.Heats, h)
		}
		s.Uses[disk] = d.uses(disk, columns)
		d.add(Chart{Key: "device:" + disk + ":users", Group: "Device " + disk, Title: "Requests of " + disk + " in flight, by program (by when they were done)", Unit: "count", Source: source, Stacked: true,
			Lines: d.stack(func(c *column, put func(string, float64)) {
				for k, u := range c.uses {
					if k.device == disk {
						put(program(k.comm), u.seconds)
					}
				}
			})})
	}
	slices.SortStableFunc(s.Heats, func(a, b Heat) int { return cmp.Compare(b.Count, a.Count) })
	return s
}

// add adds a single I/O to those of its column.
func (c *column) add(x *sample.IO, op string) {
	k := useKey{x.PID, x.Comm, x.Disk, op}
	u := c.uses[k]
	c.uses[k] = use{u.ops + 1, u.bytes + float64(x.Bytes), u.seconds + x.Latency().Seconds()}
	if x.File != "" {
		c.files[fileKey{x.File, x.Disk, op}] += float64(x.Bytes)
	}
}

// tracedRow is the row of a latency.
func tracedRow(d time.Duration) uint64 {
	return uint64(math.Floor(math.Log2(float64(max(d.Nanoseconds(), 1))) * tracedPerOctave))
}

// rows are counts by row as Heat has them: the first row, and counts from there on.
func rows(counts map[uint64]uint64) []uint64 {
	if len(counts) == 0 {
		return nil
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	for r := range counts {
		low, high = min(low, r), max(high, r)
	}
	out := make([]uint64, high-low+2)
	out[0] = low
	for r, n := range counts {
		out[r-low+1] = n
	}
	return out
}

// exact is to the microsecond.
func exact(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }

// Around draws signals as they were kept around an incident, a set for each
// distance between values. Name is what a signal is called, with what it is of.
func Around(title string, signals []Signal, from, to time.Time) []*Set {
	var sets []*Set
	steps := map[time.Duration]*Set{}
	for _, x := range signals {
		s := steps[x.Step]
		if s == nil {
			s = empty(title, x.Start)
			s.Marks = []Mark{{From: round(from.Sub(x.Start).Seconds()), To: round(max(to.Sub(x.Start), 0).Seconds()), Name: "the incident"}}
			for i := range x.Values {
				s.Begin, s.End = append(s.Begin, round((time.Duration(i)*x.Step).Seconds())), append(s.End, round((time.Duration(i+1)*x.Step).Seconds()))
			}
			steps[x.Step] = s
			sets = append(sets, s)
		}
		// each begins when its own source was read first
		shift := int(math.Round(float64(x.Start.Sub(s.Start)) / float64(x.Step)))
		values := make(Figures, len(s.Begin))
		for i := range values {
			if values[i] = math.NaN(); i-shift >= 0 && i-shift < len(x.Values) {
				values[i] = x.Values[i-shift]
			}
		}
		group, _, _ := strings.Cut(x.Name, ".")
		d := &drawing{set: s}
		name := x.Name
		if x.Of != "" {
			name += " of " + x.Of
		}
		d.add(Chart{Key: name, Group: group, Title: name, Unit: x.Unit, Source: x.Source, Band: x.Normal, Lines: []Line{{Name: x.Name, Values: values}}})
	}
	return sets
}

// Signal is one that was kept around an incident.
type Signal struct {
	Name, Of, Unit, Source string
	Start                  time.Time
	Step                   time.Duration
	Values                 Figures
	Normal                 *Band
}
