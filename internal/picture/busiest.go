package picture

import (
	"math"
	"time"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// mostBusiest is how many columns the course of the busiest has.
const mostBusiest = 240

// Busiest takes windows of an agent's tables, and draws what programs and cgroups
// did over time. Columns are as long as they are made; windows go into the one that
// their middle lies in.
type Busiest struct {
	from    time.Time
	step    time.Duration
	columns []*column
	did     []map[didKey]float64
	sources map[sample.Metric]string
}

// didKey is a program or a cgroup, and what it did.
type didKey struct {
	what string
	name string
}

// What is drawn of programs and of cgroups.
const (
	didBytes  = "bytes"
	didCPU    = "cpu"
	didWaited = "waited"
	didCgroup = "cgroup"
)

// NewBusiest draws an interval of time.
func NewBusiest(from, to time.Time) *Busiest {
	b := &Busiest{from: from, sources: map[sample.Metric]string{}, step: max(to.Sub(from)/mostBusiest, 10*time.Second).Truncate(time.Second)}
	n := int(math.Ceil(float64(to.Sub(from)) / float64(b.step)))
	for i := range n {
		begin := time.Duration(i) * b.step
		b.columns = append(b.columns, &column{begin: begin, end: begin + b.step})
		b.did = append(b.did, map[didKey]float64{})
	}
	return b
}

// Add takes a window, which is only read.
func (b *Busiest) Add(w *sample.Window) {
	middle := w.Start.Add(w.Length / 2)
	at := int(middle.Sub(b.from) / b.step)
	if middle.Before(b.from) || at >= len(b.columns) {
		return
	}
	b.columns[at].seconds += w.Seconds()
	add := func(what string, m sample.Metric, name func(sample.Entity) string) {
		b.source(w, m)
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if n := name(e); n != "" {
				b.did[at][didKey{what, n}] += s.Sum()
			}
		})
	}
	process := func(e sample.Entity) string {
		if e.PID == 0 || e.File.Ino != 0 {
			return ""
		}
		return program(w.Processes[e.PID].Comm)
	}
	add(didBytes, sample.ProcReadBytes, process)
	add(didBytes, sample.ProcWriteBytes, process)
	add(didCPU, sample.ProcUser, process)
	add(didCPU, sample.ProcSystem, process)
	add(didWaited, sample.ProcBlkioDelay, process)
	for _, m := range []sample.Metric{sample.CgroupReadBytes, sample.CgroupWriteBytes} {
		b.source(w, m)
		for c, sum := range figure.CgroupIO(w, m) {
			b.did[at][didKey{didCgroup, c}] += sum
		}
	}
}

// source keeps where a figure is from.
func (b *Busiest) source(w *sample.Window, m sample.Metric) {
	if b.sources[m] == "" {
		b.sources[m] = w.Source(m)
	}
}

// Set is what was taken, drawn; without charts where there was nothing.
func (b *Busiest) Set(title string) *Set {
	s := empty(title, b.from)
	d := &drawing{set: s, course: &Course{sources: b.sources}}
	var did []map[didKey]float64
	for i, c := range b.columns {
		if c.seconds == 0 { // nobody looked
			continue
		}
		d.columns, did = append(d.columns, c), append(did, b.did[i])
		s.Begin, s.End = append(s.Begin, round(c.begin.Seconds())), append(s.End, round(c.end.Seconds()))
	}
	of := func(what string) []Line {
		i := -1
		return d.stack(func(_ *column, put func(string, float64)) {
			i++
			for k, v := range did[i] {
				if k.what == what {
					put(k.name, v)
				}
			}
		})
	}
	const group = "Who did it"
	d.add(Chart{Key: "who:bytes", Group: group, Title: "Read from and written to disks, by program", Unit: "bytes/s", Source: d.sources(sample.ProcReadBytes), Stacked: true, Lines: of(didBytes)})
	d.add(Chart{Key: "who:waited", Group: group, Title: "Threads that waited for block I/O, by program", Unit: "count", Source: d.sources(sample.ProcBlkioDelay), Stacked: true, Lines: of(didWaited)})
	d.add(Chart{Key: "who:cpu", Group: group, Title: "Processors in use, by program", Unit: "count", Source: d.sources(sample.ProcUser, sample.ProcSystem), Stacked: true, Lines: of(didCPU)})
	d.add(Chart{Key: "who:cgroups", Group: group, Title: "Read from and written to disks, by cgroup", Unit: "bytes/s", Source: d.sources(sample.CgroupReadBytes), Stacked: true, Lines: of(didCgroup)})
	return s
}
