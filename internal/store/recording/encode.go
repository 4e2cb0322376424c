package recording

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// The flags of a window, a process and a file.
const (
	flagTold = 1

	flagKernel, flagCPUCgroup = 1, 2

	flagDeleted, flagPartial = 1, 2
)

// How a value is written, in the lowest two bits: an integer, all its bits, or
// nanoseconds of seconds. What is read is what was written, to the last bit.
const (
	valueInteger = iota
	valueBits
	valueNanos
)

// encoder writes one window: tables of all texts, instants and entities, and
// then what refers to them. Everything is in an order of its own, so that the
// same window always gives the same bytes.
type encoder struct {
	body     []byte // what follows the tables
	texts    map[string]uint64
	inOrder  []string
	instants map[time.Duration]uint64
	times    []time.Duration
	entities map[sample.Entity]uint64
	things   []sample.Entity
	memory   int // bytes that a reader will count
}

// encode appends a window, and tells how much memory a reader will count for it.
func encode(to []byte, r *Record) (_ []byte, memory int) {
	e := &encoder{texts: map[string]uint64{"": 0}, instants: map[time.Duration]uint64{}, entities: map[sample.Entity]uint64{}}
	w := r.Window
	e.survey(w)
	e.processes(w)
	e.files(w)
	e.gaps(w)
	metrics := w.Metrics()
	e.count(len(metrics), sizeMetric)
	for _, m := range metrics {
		e.metric(w, m)
	}
	var flags uint64
	if w.Told {
		flags |= flagTold
	}
	to = binary.AppendUvarint(to, flags)
	to = appendValue(to, r.Cost.CPUSeconds)
	to = binary.AppendVarint(to, r.Cost.RSSBytes)
	to = binary.AppendUvarint(to, uint64(len(e.inOrder)))
	e.memory += len(e.inOrder)*sizeText + len(e.times)*sizeTime
	for _, s := range e.inOrder {
		e.memory += len(s)
		to = binary.AppendUvarint(to, uint64(len(s)))
		to = append(to, s...)
	}
	to = binary.AppendUvarint(to, uint64(len(e.times)))
	before := time.Duration(0)
	for _, t := range e.times {
		to = binary.AppendVarint(to, int64(t-before))
		before = t
	}
	return append(to, e.body...), e.memory
}

// count writes how many things follow, each of which takes that many bytes of memory.
func (e *encoder) count(n, size int) {
	e.memory += n * size
	e.uint(uint64(n))
}

func (e *encoder) uint(v uint64) { e.body = binary.AppendUvarint(e.body, v) }
func (e *encoder) int(v int64)   { e.body = binary.AppendVarint(e.body, v) }

// text writes the number of a text.
func (e *encoder) text(s string) {
	n, ok := e.texts[s]
	if !ok {
		n = uint64(len(e.inOrder) + 1)
		e.texts[s] = n
		e.inOrder = append(e.inOrder, s)
	}
	e.uint(n)
}

// survey numbers the instants and the entities.
func (e *encoder) survey(w *sample.Window) {
	for _, m := range w.Metrics() {
		w.Each(m, func(x sample.Entity, s *sample.Series) {
			e.entities[x] = 0
			for _, p := range s.Points {
				e.instants[p.At] = 0
			}
		})
		w.EachHistogram(m, func(x sample.Entity, _ *sample.Hist) { e.entities[x] = 0 })
	}
	e.times = slices.Sorted(maps.Keys(e.instants))
	for i, t := range e.times {
		e.instants[t] = uint64(i)
	}
	e.things = slices.SortedFunc(maps.Keys(e.entities), compareEntities)
	e.count(len(e.things), sizeEntity)
	var before sample.Entity
	for i, x := range e.things {
		e.entities[x] = uint64(i)
		e.int(int64(x.PID - before.PID))
		e.text(x.Cgroup)
		e.text(x.Device)
		e.uint(uint64(x.File.Dev))
		e.uint(x.File.Ino)
		e.text(x.Class)
		before = x
	}
}

func compareEntities(a, b sample.Entity) int {
	return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Cgroup, b.Cgroup), cmp.Compare(a.Device, b.Device),
		cmp.Compare(a.File.Dev, b.File.Dev), cmp.Compare(a.File.Ino, b.File.Ino), cmp.Compare(a.Class, b.Class))
}

func (e *encoder) processes(w *sample.Window) {
	e.count(len(w.Processes), sizeProcess)
	before := 0
	for _, pid := range slices.Sorted(maps.Keys(w.Processes)) {
		p := w.Processes[pid]
		var flags uint64
		if p.Kernel {
			flags |= flagKernel
		}
		if p.CPUCgroup != "" {
			flags |= flagCPUCgroup
		}
		e.int(int64(pid - before))
		e.uint(flags)
		e.int(int64(p.Start))
		e.text(p.Comm)
		e.text(p.MemoryCgroup)
		e.text(p.IOCgroup)
		if p.CPUCgroup != "" {
			e.text(p.CPUCgroup)
		}
		before = pid
	}
}

func (e *encoder) files(w *sample.Window) {
	e.count(len(w.Files), sizeFile)
	ids := slices.SortedFunc(maps.Keys(w.Files), func(a, b sample.FileID) int {
		return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
	})
	for _, id := range ids {
		f := w.Files[id]
		var flags uint64
		if f.Deleted {
			flags |= flagDeleted
		}
		if f.Partial {
			flags |= flagPartial
		}
		e.uint(uint64(id.Dev))
		e.uint(id.Ino)
		e.uint(flags)
		e.int(f.Size)
		e.text(f.Path)
		e.text(f.Device)
	}
}

func (e *encoder) gaps(w *sample.Window) {
	e.count(len(w.Gaps), sizeGap)
	for _, g := range w.Gaps {
		e.text(g.Source)
		e.text(g.Why)
		e.count(len(g.Metrics), sizeText)
		for _, m := range g.Metrics {
			e.text(string(m))
		}
	}
}

// metric writes the series of a metric and then its histograms, each by the
// number of its entity.
func (e *encoder) metric(w *sample.Window, m sample.Metric) {
	e.text(string(m))
	series := map[uint64]*sample.Series{}
	w.Each(m, func(x sample.Entity, s *sample.Series) { series[e.entities[x]] = s })
	e.count(len(series), sizeSeries)
	before := uint64(0)
	for _, n := range slices.Sorted(maps.Keys(series)) {
		s := series[n]
		e.uint(n - before)
		e.text(s.Source)
		e.count(len(s.Points), sizePoint)
		at := int64(0)
		for _, p := range s.Points {
			now := int64(e.instants[p.At])
			e.int(now - at)
			e.body = appendValue(e.body, p.Value)
			at = now
		}
		before = n
	}
	histograms := map[uint64]*sample.Hist{}
	w.EachHistogram(m, func(x sample.Entity, h *sample.Hist) { histograms[e.entities[x]] = h })
	e.count(len(histograms), sizeHist)
	before = 0
	for _, n := range slices.Sorted(maps.Keys(histograms)) {
		e.uint(n - before)
		e.histogram(histograms[n])
		before = n
	}
}

func (e *encoder) histogram(h *sample.Hist) {
	e.text(h.Source)
	e.text(h.Unit)
	e.body = appendValue(e.body, h.Sum)
	filled := 0
	for _, c := range h.Counts {
		if c > 0 {
			filled++
		}
	}
	e.uint(uint64(filled))
	for i, c := range h.Counts {
		if c > 0 {
			e.uint(uint64(i))
			e.uint(c)
		}
	}
}

// appendValue writes a number in the shortest way that loses nothing.
func appendValue(to []byte, v float64) []byte {
	const most = 1 << 53
	same := func(a float64) bool { return math.Float64bits(a) == math.Float64bits(v) }
	if v > -most && v < most {
		if n := int64(v); same(float64(n)) {
			return binary.AppendUvarint(to, zigzag(n)<<2) // valueInteger
		}
		if ns := math.Round(v * 1e9); ns > -most && ns < most && same(float64(int64(ns))/1e9) {
			return binary.AppendUvarint(to, zigzag(int64(ns))<<2|valueNanos)
		}
	}
	to = append(to, valueBits)
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }
