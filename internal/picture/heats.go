package picture

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// queueCounts is the share of a device's own time from which on the time before
// it is drawn, too.
const queueCounts = 0.1

// Most processes and files of a column that are named.
const (
	mostUsers = 4
	mostFiles = 3
)

// heats draws the latencies of devices, from columns of whole windows. The first
// is what is shown at first: that of the most I/Os.
func (d *drawing) heats(devices []string, columns []*column) {
	whole := map[heatKey]*sample.Histogram{}
	for _, c := range columns {
		for k, h := range c.heats {
			if whole[k] == nil {
				whole[k] = &sample.Histogram{}
			}
			whole[k].Merge(h)
		}
	}
	for _, name := range devices {
		drawn := false
		for _, op := range Ops() {
			device, queue := whole[heatKey{name, op, "device"}], whole[heatKey{name, op, "queue"}]
			if device == nil || device.N() == 0 {
				continue
			}
			drawn = true
			d.set.Heats = append(d.set.Heats, d.heat(heatKey{name, op, "device"}, device.N(), d.sources(sample.HistDevice), columns))
			if queue != nil && queue.Sum > queueCounts*device.Sum {
				d.set.Heats = append(d.set.Heats, d.heat(heatKey{name, op, "queue"}, queue.N(), d.sources(sample.HistQueue), columns))
			}
		}
		if drawn {
			d.set.Uses[name] = d.uses(name, columns)
		}
	}
	slices.SortStableFunc(d.set.Heats, func(a, b Heat) int { return cmp.Compare(b.Count, a.Count) })
}

func (d *drawing) heat(k heatKey, count uint64, source string, columns []*column) Heat {
	h := Heat{Device: k.device, Op: k.op, Part: k.part, Source: source, PerOctave: 1, Count: count, Cells: make([][]uint64, len(columns))}
	for i, c := range columns {
		if d.course.alone != nil {
			h.Begin, h.End = append(h.Begin, round(c.begin.Seconds())), append(h.End, round(c.end.Seconds()))
		}
		if x := c.heats[k]; x != nil {
			h.Cells[i] = filled(x.Counts[:])
		}
	}
	return h
}

// filled is the first row that is not empty and the counts from there to the last
// that is not; nil of none.
func filled(counts []uint64) []uint64 {
	first := slices.IndexFunc(counts, func(n uint64) bool { return n > 0 })
	if first < 0 {
		return nil
	}
	last := first
	for i := first; i < len(counts); i++ {
		if counts[i] > 0 {
			last = i
		}
	}
	return append([]uint64{uint64(first)}, counts[first:last+1]...)
}

// uses are who used a device, column by column.
func (d *drawing) uses(device string, columns []*column) *Use {
	u := &Use{Processes: make([][]float64, len(columns)), Files: make([][]float64, len(columns))}
	for i, c := range columns {
		var users []useKey
		for k := range c.uses {
			if k.device == device && c.uses[k].ops > 0 {
				users = append(users, k)
			}
		}
		slices.SortFunc(users, func(a, b useKey) int {
			return cmp.Or(cmp.Compare(c.uses[b].seconds, c.uses[a].seconds), cmp.Compare(a.pid, b.pid), strings.Compare(a.op, b.op))
		})
		for _, k := range users[:min(len(users), mostUsers)] {
			x := c.uses[k]
			u.Processes[i] = append(u.Processes[i], d.place(processName(k.pid, k.comm)), opPlace(k.op), x.ops, micros(x.seconds/x.ops))
		}
		var files []fileKey
		for k := range c.files {
			if k.device == device {
				files = append(files, k)
			}
		}
		slices.SortFunc(files, func(a, b fileKey) int {
			return cmp.Or(cmp.Compare(c.files[b], c.files[a]), strings.Compare(a.path, b.path), strings.Compare(a.op, b.op))
		})
		for _, k := range files[:min(len(files), mostFiles)] {
			u.Files[i] = append(u.Files[i], d.place(k.path), opPlace(k.op), c.files[k])
		}
	}
	return u
}

func opPlace(op string) float64 { return float64(max(slices.Index(Ops(), op), 0)) }

// micros are seconds as whole microseconds: finer ones are not shown.
func micros(seconds float64) float64 { return float64(int64(seconds*1e6 + 0.5)) }

// place is a name's place in the list of names.
func (d *drawing) place(name string) float64 {
	at := slices.Index(d.set.Names, name)
	if at < 0 {
		at = len(d.set.Names)
		d.set.Names = append(d.set.Names, name)
	}
	return float64(at)
}
