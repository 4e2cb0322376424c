package parse

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"iocause/internal/sample"
)

// Bounds on what is kept of one output, so that a text of any length fits into
// memory.
const (
	maxIntervals = 2048    // more are merged in pairs
	maxSeries    = 20000   // of one output
	maxPoints    = 1 << 19 // of all series of one output
	maxNotes     = 32
)

// Block is one output of one tool.
type Block struct {
	Tool        string
	File        string
	First, Last int      // its lines
	Host        string   // whose it is, where the text tells it
	Repeats     int      // the line of an earlier output that shows the same run, 0 none
	Intervals   int      // reports; 0 when it shows an instant
	Used        int      // lines that figures were taken from
	Skipped     int      // lines of its own without figures
	Broken      int      // lines of its own that could not be read
	Seconds     float64  // that its intervals last
	Notes       []string // what a reader of the figures must know
	Doubts      int      // figures that contradict each other
	Merged      int      // neighbouring intervals that one kept interval stands for, 1 all are kept

	omits    bool // lines were left out of it
	state    bool
	identity string
	series   map[key]*series
	hists    map[key]*sample.Histogram
	procs    map[int]sample.Process
	files    map[sample.FileID]sample.File
	left     int // series that there was no room for
}

// Place is where an output stands: FILE:LINE or FILE:FIRST-LAST.
func (b *Block) Place() string { return b.File + ":" + b.Lines() }

// Lines are its lines: LINE or FIRST-LAST.
func (b *Block) Lines() string {
	if b.First == b.Last {
		return strconv.Itoa(b.First)
	}
	return fmt.Sprintf("%d-%d", b.First, b.Last)
}

type key struct {
	metric sample.Metric
	entity sample.Entity
}

// series is one metric of one entity. Points are in order of their time.
type series struct {
	key
	counter     bool
	next        *series // the one that was asked for after it
	first, last int     // lines
	points      []sample.Point
	kept        []int // the interval of each point
	asked       int   // the interval of the newest value
}

// recorder is the lines.Values that fills a block.
type recorder struct {
	b       *Block
	kinds   map[sample.Metric]sample.Kind
	line    int
	newest  *series   // that was put into
	pending []*series // that have a value in the interval under way
	at      time.Duration
	n       int // intervals so far
	slot    int // that is kept for the one under way: n / Merged
	points  int // that are kept
}

func newRecorder(b *Block, kinds map[sample.Metric]sample.Kind) *recorder {
	b.series, b.hists = map[key]*series{}, map[key]*sample.Histogram{}
	b.procs, b.files = map[int]sample.Process{}, map[sample.FileID]sample.File{}
	b.Merged = 1
	return &recorder{b: b, kinds: kinds, line: b.First}
}

// kinds tells counters from gauges.
func kinds() map[sample.Metric]sample.Kind {
	of := map[sample.Metric]sample.Kind{}
	for _, i := range sample.Catalog() {
		of[i.Metric] = i.Kind
	}
	return of
}

// At implements lines.Values.
func (r *recorder) At(n int) {
	if n > 0 {
		r.line = n
	}
}

// Put implements lines.Values. Of two values in one interval, counters add up
// and the later gauge counts.
func (r *recorder) Put(m sample.Metric, e sample.Entity, v float64) {
	s := r.seriesOf(m, &e)
	if s == nil {
		r.b.left++
		return
	}
	s.first, s.last = min(s.first, r.line), max(s.last, r.line)
	at := r.slot
	if n := len(s.kept); n > 0 && s.kept[n-1] == at {
		if s.counter {
			s.points[n-1].Value += v
		} else {
			s.points[n-1].Value = v
		}
		if s.asked == r.n { // its point waits for the end of the interval already
			return
		}
	} else {
		s.points, s.kept = append(s.points, sample.Point{Value: v}), append(s.kept, at)
		r.points++
	}
	s.asked = r.n
	r.pending = append(r.pending, s)
}

// seriesOf finds a series, or makes it; nil where there is no room. Values come in
// the same order in every interval: each series knows what followed it, for to
// compare a key takes a tenth of the time of looking it up.
func (r *recorder) seriesOf(m sample.Metric, e *sample.Entity) *series {
	before := r.newest
	if before != nil && before.next != nil && before.next.metric == m && before.next.entity == *e {
		r.newest = before.next
		return r.newest
	}
	k := key{m, *e}
	s := r.b.series[k]
	if s == nil {
		if len(r.b.series) >= maxSeries {
			return nil
		}
		s = &series{key: k, counter: r.kinds[k.metric] == sample.Counter, first: r.line, last: r.line}
		r.b.series[k] = s
	}
	if before != nil {
		before.next = s
	}
	r.newest = s
	return s
}

// Tick implements lines.Values.
func (r *recorder) Tick(seconds float64) {
	r.at += time.Duration(max(0, min(seconds, 1e9)) * 1e9)
	r.settle()
	r.n++
	r.b.Intervals++
	r.b.Seconds += max(0, min(seconds, 1e9))
	if r.slot = r.n / r.b.Merged; r.slot >= maxIntervals || r.points > maxPoints {
		r.coarsen()
		r.slot = r.n / r.b.Merged
	}
}

// settle stamps the values of the interval under way.
func (r *recorder) settle() {
	for _, s := range r.pending {
		s.points[len(s.points)-1].At = r.at
	}
	r.pending = r.pending[:0]
}

// coarsen merges the intervals in pairs.
func (r *recorder) coarsen() {
	r.b.Merged *= 2
	r.points = 0
	for _, s := range r.b.series {
		points, kept := s.points[:0], s.kept[:0]
		for i, p := range s.points {
			at := s.kept[i] / 2
			if n := len(kept); n > 0 && kept[n-1] == at {
				if s.counter {
					p.Value += points[n-1].Value
				}
				points[n-1] = p
				continue
			}
			points, kept = append(points, p), append(kept, at)
		}
		s.points, s.kept = points, kept
		r.points += len(points)
	}
}

// Histogram implements lines.Values.
func (r *recorder) Histogram(m sample.Metric, e sample.Entity, h sample.Histogram) {
	k := key{m, e}
	if old := r.b.hists[k]; old != nil {
		old.Merge(&h)
		return
	}
	if len(r.b.hists) >= maxSeries/10 {
		r.b.left++
		return
	}
	r.b.hists[k] = &h
}

// Process implements lines.Values.
func (r *recorder) Process(pid int, p sample.Process) {
	if _, ok := r.b.procs[pid]; ok || len(r.b.procs) < maxSeries {
		r.b.procs[pid] = p
	}
}

// File implements lines.Values.
func (r *recorder) File(id sample.FileID, f sample.File) {
	if _, ok := r.b.files[id]; ok || len(r.b.files) < maxSeries {
		r.b.files[id] = f
	}
}

// Note implements lines.Values.
func (r *recorder) Note(text string) {
	if len(r.b.Notes) < maxNotes && !slices.Contains(r.b.Notes, text) {
		r.b.Notes = append(r.b.Notes, text)
	}
}

// Doubt implements lines.Values.
func (r *recorder) Doubt(text string) {
	r.b.Doubts++
	r.Note(text)
}

// Identity implements lines.Values.
func (r *recorder) Identity(id string) { r.b.identity = id }

// State implements lines.Values.
func (r *recorder) State() { r.b.state = true }
