package sample

import (
	"maps"
	"slices"
	"time"
)

// of names one series of the recorder.
type of struct {
	metric Metric
	entity Entity
}

// shape is the same of a histogram.
type shape struct {
	before, now Histogram
	source      string
	touched     bool
}

// Recorder is the Sink that builds a Window, or one after the other. It is not
// safe for concurrent use.
type Recorder struct {
	w      *Window
	now    time.Time
	totals map[of]*tally
	shapes map[of]*shape

	windows   int
	processes map[int]int // the window that told of them last
	files     map[FileID]known
}

// known is what is known of a file, and the window that told of it last.
type known struct {
	file   File
	window int
}

// forgetAfter is how many windows a process or file is known that nothing tells of
// any more: those that end would else be known for ever.
const forgetAfter = 60

// startsDiffer is by how much the starts of two processes differ at least: some
// sources know them to the tick only, of a hundredth of a second.
const startsDiffer = 15 * time.Millisecond

// NewRecorder starts a window at start.
func NewRecorder(start time.Time) *Recorder {
	return &Recorder{now: start, w: newWindow(start), totals: map[of]*tally{}, shapes: map[of]*shape{},
		processes: map[int]int{}, files: map[FileID]known{}}
}

// At sets the instant of the values that follow.
func (r *Recorder) At(now time.Time) { r.now = now }

// Put implements Sink.
func (r *Recorder) Put(m Metric, e Entity, value float64, source string) {
	r.PutAt(r.now, m, e, value, source)
}

// PutAt implements Sink.
func (r *Recorder) PutAt(at time.Time, m Metric, e Entity, value float64, source string) {
	of := r.w.series[m]
	if of == nil {
		of = map[Entity]*Series{}
		r.w.series[m] = of
	}
	s := of[e]
	if s == nil {
		s = newSeries(source)
		of[e] = s
		r.meet(e)
	}
	s.Points = append(s.Points, Point{At: at.Sub(r.w.Start), Value: value})
}

// PutTotal implements Sink.
func (r *Recorder) PutTotal(m Metric, e Entity, total float64, source string) {
	k := of{m, e}
	t := r.totals[k]
	if t == nil {
		t = &tally{}
		r.totals[k] = t
	}
	t.now += total
	t.source, t.touched = source, true
}

// PutLast implements Sink.
func (r *Recorder) PutLast(m Metric, e Entity, total float64, source string) {
	t := r.totals[of{m, e}]
	if t == nil && total == 0 {
		return
	}
	r.PutTotal(m, e, total, source)
	t = r.totals[of{m, e}]
	t.ended += total
	t.over = true
}

// PutHistogram implements Sink.
func (r *Recorder) PutHistogram(m Metric, e Entity, h Histogram, source string) {
	k := of{m, e}
	s := r.shapes[k]
	if s == nil {
		s = &shape{}
		r.shapes[k] = s
	}
	s.now.Unit = h.Unit
	s.now.Merge(&h)
	s.source, s.touched = source, true
}

// settle turns totals into what the window has of them. One that stood still
// says nothing of its entity, unless that is the host or new.
func (r *Recorder) settle() {
	var fell []string
	for k, t := range r.totals {
		if !t.touched {
			continue
		}
		rise, high := t.rise()
		if why := t.fell(k); why != "" {
			fell = append(fell, why)
		}
		if rise != 0 || !t.known || k.entity == (Entity{}) {
			r.PutAt(r.now, k.metric, k.entity, rise, t.source)
		}
		if t.over && t.now == t.ended {
			delete(r.totals, k)
			continue
		}
		t.before, t.lowest, t.now, t.ended = high-t.ended, t.now-t.ended, 0, 0
		t.touched, t.over, t.known = false, false, true
	}
	r.tell(fell)
	for k, s := range r.shapes {
		if !s.touched {
			continue
		}
		if rise := s.now.since(&s.before); rise.N() > 0 {
			if r.w.histograms[k.metric] == nil {
				r.w.histograms[k.metric] = map[Entity]*Hist{}
			}
			r.w.histograms[k.metric][k.entity] = &Hist{Histogram: rise, Source: s.source}
			r.meet(k.entity)
		}
		s.before, s.now, s.touched = s.now, Histogram{}, false
	}
}

// PutProcess implements Sink; fields that are known now fill those that were
// not. Of two processes that had the same number the later one is meant.
func (r *Recorder) PutProcess(pid int, p Process) {
	old := r.w.Processes[pid]
	if p.Start != 0 && old.Start != 0 {
		switch d := p.Start - old.Start; {
		case d > startsDiffer:
			old = Process{}
		case d < -startsDiffer:
			return
		}
	}
	if p.Comm == "" {
		p.Comm = old.Comm
	}
	if p.MemoryCgroup == "" {
		p.MemoryCgroup = old.MemoryCgroup
	}
	if p.IOCgroup == "" {
		p.IOCgroup = old.IOCgroup
	}
	if p.CPUCgroup == "" {
		p.CPUCgroup = old.CPUCgroup
	}
	if p.Start == 0 {
		p.Start = old.Start
	}
	p.Kernel = p.Kernel || old.Kernel
	r.w.Processes[pid] = p
	r.processes[pid] = r.windows
}

// PutFile implements Sink.
func (r *Recorder) PutFile(id FileID, f File) {
	r.w.Files[id] = f
	r.files[id] = known{f, r.windows}
}

// meet gives the window what is known of an entity's file. A machine knows
// thousands of files of which a few do something in a window.
func (r *Recorder) meet(e Entity) {
	if e.File == (FileID{}) {
		return
	}
	if _, ok := r.w.Files[e.File]; ok {
		return
	}
	if k, ok := r.files[e.File]; ok {
		r.w.Files[e.File] = k.file
	}
}

// PutGap implements Sink.
func (r *Recorder) PutGap(g Gap) { r.w.Gaps = append(r.w.Gaps, g) }

// Forget drops all values of a metric, as if it had never been measured.
func (r *Recorder) Forget(m Metric) {
	delete(r.w.series, m)
	delete(r.w.histograms, m)
	for k := range r.totals {
		if k.metric == m {
			delete(r.totals, k)
		}
	}
	for k := range r.shapes {
		if k.metric == m {
			delete(r.shapes, k)
		}
	}
}

// Window ends the window at end and hands it over.
func (r *Recorder) Window(end time.Time) *Window {
	r.settle()
	r.w.Length = end.Sub(r.w.Start)
	return r.w
}

// NextWindow ends the window at end, hands it over and begins the next one there.
// What is known of processes is known in the next windows too, and what is known of
// files in those with figures of them, until nothing has told of them for a while.
func (r *Recorder) NextWindow(end time.Time) *Window {
	w := r.Window(end)
	r.w = newWindow(end)
	for _, of := range w.series {
		for e := range of {
			if _, ok := w.Processes[e.PID]; ok {
				r.processes[e.PID] = r.windows
			}
		}
	}
	for pid, p := range w.Processes {
		if r.windows-r.processes[pid] >= forgetAfter {
			delete(r.processes, pid)
			continue
		}
		r.w.Processes[pid] = p
	}
	for id, f := range w.Files {
		r.files[id] = known{f, r.windows}
	}
	maps.DeleteFunc(r.files, func(_ FileID, k known) bool { return r.windows-k.window >= forgetAfter })
	r.windows++
	return w
}

// mostTold is how many totals that fell are named in a window.
const mostTold = 3

// tell says what is missing because totals fell.
func (r *Recorder) tell(fell []string) {
	slices.Sort(fell)
	for i, why := range fell {
		if i == mostTold {
			r.PutGap(Gap{Why: "the same is missing of " + Counted(len(fell)-mostTold, "more total")})
			return
		}
		r.PutGap(Gap{Why: why})
	}
}
