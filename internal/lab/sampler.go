package lab

import (
	"cmp"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Series is one figure over the time of a phase. Value i is of the stretch
// that begins at Start + i * Step; NaN where it could not be had.
type Series struct {
	Of     string // "load reads", "host", "disk vda", "cgroup small", "neighbour rsync"
	Name   string
	Unit   string
	Source string // kernel file, or what measured it
	Start  time.Time
	Step   time.Duration
	Values []float64
}

// figure is one of the facts that are kept as a series.
type figure struct {
	fact, of, name, unit, source string
	scale                        float64
	load                         string // of which load it is; "" of none
}

// figures are what may say why a load became slow: of the machine, of the disk
// under the files and the loop disks (their devices, by name), of its cgroups and
// of its loads.
func figures(device string, loops map[string]string, cgroups map[string]*Cgroup, loads []Load) []figure {
	const mem, vm = "/proc/meminfo", "/proc/vmstat"
	all := []figure{
		{string(sample.MemAvailable), "host", "memory available", "bytes", mem, 1, ""},
		{"mem.cached", "host", "page cache", "bytes", mem, 1, ""},
		{string(sample.MemDirty), "host", "dirty", "bytes", mem, 1, ""},
		{string(sample.MemWriteback), "host", "under writeback", "bytes", mem, 1, ""},
		{"vmstat.workingset_refault_file", "host", "file pages read back after eviction", "count/s", vm, 1, ""},
		{"vmstat.pgscan_direct", "host", "pages scanned by direct reclaim", "count/s", vm, 1, ""},
		{"vmstat.pswpin", "host", "pages swapped in", "count/s", vm, 1, ""},
		{"host.foreign_bytes", "host", "block I/O of others", "bytes/s", vm + " less /proc/PID/io of the loads", 1, ""},
	}
	all = append(all, diskFigures("disk.", device, device)...)
	for _, name := range slices.Sorted(maps.Keys(loops)) {
		all = append(all, diskFigures("loop."+name+".", name, loops[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(cgroups)) {
		at, of := "cgroup."+name+".", "cgroup "+name
		all = append(all,
			figure{at + "usage", of, "memory in use", "bytes", "memory.usage_in_bytes, memory.current", 1, ""},
			figure{at + "cache", of, "page cache", "bytes", "memory.stat", 1, ""},
			figure{at + "refault_file", of, "file pages read back after eviction", "count/s", "memory.stat", 1, ""},
			figure{at + "limit_hits", of, "times at the memory limit", "count/s", "memory.failcnt, memory.events", 1, ""})
	}
	for _, l := range loads {
		at, of := "load."+l.Name+".", "load "+l.Name
		all = append(all, figure{at + "cpu", of, "processors used", "count", "/proc/PID/stat", 1, l.Name},
			figure{at + "read_bytes", of, "read from devices", "bytes/s", "/proc/PID/io", 1, l.Name},
			figure{at + "write_bytes", of, "dirtied, to be written to devices", "bytes/s", "/proc/PID/io", 1, l.Name})
	}
	return all
}

// diskFigures are those of a disk, called name.
func diskFigures(at, name, device string) []figure {
	disk, stat := "disk "+name, "/sys/block/"+device+"/stat"
	return []figure{
		{at + "reads", disk, "reads", "count/s", stat, 1, ""},
		{at + "writes", disk, "writes", "count/s", stat, 1, ""},
		{at + "read_bytes", disk, "read", "bytes/s", stat, 1, ""},
		{at + "write_bytes", disk, "written", "bytes/s", stat, 1, ""},
		{at + "read_ms", disk, "mean time of a read", "seconds", stat, 1e-3, ""},
		{at + "write_ms", disk, "mean time of a write", "seconds", stat, 1e-3, ""},
		{at + "busy", disk, "busy", "ratio", stat, 1, ""},
		{at + "in_flight", disk, "in flight", "count", stat, 1, ""},
	}
}

// sampler keeps figures window by window. It is used by one goroutine.
type sampler struct {
	st      *situation
	start   time.Time
	step    time.Duration
	figures []figure
	values  [][]float64 // of each figure
	before  map[string]float64
	last    time.Time
	others  *neighbours
}

func (st *situation) newSampler(step time.Duration, loads []Load) *sampler {
	loops := map[string]string{}
	for name, device := range st.names {
		if loop, ok := strings.CutPrefix(name, "device:"); ok {
			loops[loop] = device
		}
	}
	s := &sampler{st: st, step: step, start: time.Now(), figures: figures(st.device, loops, st.cgroups, loads)}
	s.values = make([][]float64, len(s.figures))
	s.others = newNeighbours(st.host, s.start, step)
	s.before, s.last = st.raw(), s.start
	return s
}

// tick ends a window. Of windows that were missed there are no figures.
func (s *sampler) tick(now time.Time) {
	index := int(now.Sub(s.start)/s.step) - 1
	if index < 0 || len(s.values) == 0 || index < len(s.values[0]) {
		return
	}
	after := s.st.raw()
	facts := between(s.before, after, now.Sub(s.last))
	s.before, s.last = after, now
	for i, f := range s.figures {
		for len(s.values[i]) < index {
			s.values[i] = append(s.values[i], math.NaN())
		}
		v, ok := facts[f.fact]
		if !ok && (f.load == "" || s.st.loads[f.load] != nil) { // what has not begun does nothing
			v = math.NaN()
		}
		s.values[i] = append(s.values[i], v*f.scale)
	}
	own := map[int]bool{os.Getpid(): true}
	for _, p := range s.st.loads {
		own[p.PID] = true
	}
	s.others.tick(now, own)
}

// series are all that had a figure at any time.
func (s *sampler) series() []Series {
	var all []Series
	for i, f := range s.figures {
		if known(s.values[i]) {
			all = append(all, Series{f.of, f.name, f.unit, f.source, s.start, s.step, s.values[i]})
		}
	}
	return append(all, s.others.series()...)
}

// known tells whether any of the values is.
func known(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

// loadSeries are a load's windows as series.
func loadSeries(name string, s *load.Series) []Series {
	of, n := "load "+name, len(s.Windows)
	if n > 1 && s.Windows[n-1].Seconds < s.Length/2 {
		n-- // a stump: its rate is mostly chance
	}
	var all []Series
	for _, f := range []struct {
		name, unit string
		of         func(w *load.Window) float64
	}{
		{"calls", "count/s", func(w *load.Window) float64 { return float64(w.Calls) / max(w.Seconds, 1e-9) }},
		{"bytes", "bytes/s", func(w *load.Window) float64 { return float64(w.Bytes) / max(w.Seconds, 1e-9) }},
		{"latency p50", "seconds", func(w *load.Window) float64 { return latency(w, w.P50) }},
		{"latency p99", "seconds", func(w *load.Window) float64 { return latency(w, w.P99) }},
		{"latency max", "seconds", func(w *load.Window) float64 { return latency(w, w.Max) }},
	} {
		x := Series{Of: of, Name: f.name, Unit: f.unit, Source: "iocause lab load", Start: s.Start, Step: time.Duration(s.Length * 1e9)}
		for i := range n {
			x.Values = append(x.Values, f.of(&s.Windows[i]))
		}
		all = append(all, x)
	}
	return all
}

// latency is not known of a window in which no call ended.
func latency(w *load.Window, v float64) float64 {
	if w.Calls == 0 {
		return math.NaN()
	}
	return v
}

// mostNeighbours is how many other programs are kept, those with most I/O.
const mostNeighbours = 5

// neighbours are the programs that are none of the loads, and what each had
// read and written, by name. Looking at all processes costs milliseconds, so
// it is done once a second at most.
type neighbours struct {
	host   *host.Host
	start  time.Time
	step   time.Duration
	before map[int]float64 // bytes by process
	bytes  map[string][]float64
	last   time.Time
}

func newNeighbours(h *host.Host, start time.Time, step time.Duration) *neighbours {
	n := &neighbours{host: h, start: start, step: step, bytes: map[string][]float64{}, last: start}
	if step < time.Second {
		n.step = (time.Second + step - 1) / step * step
	}
	n.before, _ = n.read(nil)
	return n
}

// read is what each process has read from and written for devices, and its name.
func (n *neighbours) read(but map[int]bool) (bytes map[int]float64, names map[int]string) {
	bytes, names = map[int]float64{}, map[int]string{}
	entries, err := os.ReadDir(n.host.Proc())
	if err != nil {
		return bytes, names
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || but[pid] {
			continue
		}
		if did, err := procfile.ReadIO(n.host.Proc(e.Name(), "io")); err == nil {
			bytes[pid] = float64(did.ReadBytes + did.WriteBytes)
		}
		if bytes[pid] > n.before[pid] {
			comm, _ := n.host.CommOf(pid)
			names[pid] = cmp.Or(comm, "(ended)")
		}
	}
	return bytes, names
}

func (n *neighbours) tick(now time.Time, but map[int]bool) {
	index := int(now.Sub(n.start)/n.step) - 1
	if index < 0 || now.Sub(n.last) < n.step*3/4 {
		return
	}
	after, names := n.read(but)
	seconds := now.Sub(n.last).Seconds()
	sums := map[string]float64{}
	for pid, name := range names {
		if before, ok := n.before[pid]; ok {
			sums[name] += (after[pid] - before) / seconds
		}
	}
	for name, v := range sums {
		old := n.bytes[name]
		n.bytes[name] = append(old, make([]float64, max(index-len(old), 0))...)
		n.bytes[name] = append(n.bytes[name][:index], v)
	}
	n.before, n.last = after, now
}

// series are those of the programs with most bytes; the others are little in
// comparison.
func (n *neighbours) series() []Series {
	length := 0
	sum := func(name string) (s float64) {
		for _, v := range n.bytes[name] {
			s += v
		}
		return s
	}
	names := slices.SortedFunc(maps.Keys(n.bytes), func(a, b string) int { return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a, b)) })
	for _, v := range n.bytes {
		length = max(length, len(v))
	}
	var all []Series
	for _, name := range names[:min(len(names), mostNeighbours)] {
		v := n.bytes[name]
		v = append(v, make([]float64, length-len(v))...)
		all = append(all, Series{"neighbour " + name, "read and written", "bytes/s", "/proc/PID/io", n.start, n.step, v})
	}
	return all
}
