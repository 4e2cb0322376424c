package replay

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/store/series"
)

// history is an interval of series on its way to windows, in steps of one length.
// Step n, from 1 on, ends n steps after the beginning.
type history struct {
	from    time.Time
	step    time.Duration
	ticks   int                    // steps of a window
	infos   map[string]sample.Info // by the name of the series
	put     [][]stepValue          // by step
	covered []time.Duration        // by step: for so much of it the increase of some counter is known
	has     map[sample.Metric]bool
}

type stepValue struct {
	metric sample.Metric
	entity sample.Entity
	value  float64
	former bool // from a series by the metric's name in the version before
}

func newHistory(from, to time.Time, step time.Duration, ticks int) *history {
	steps := int(to.Sub(from)/step) + 1
	s := &history{from: from, step: step, ticks: ticks, infos: map[string]sample.Info{}, put: make([][]stepValue, steps), covered: make([]time.Duration, steps), has: map[sample.Metric]bool{}}
	for _, i := range sample.Catalog() {
		for _, name := range series.NamesOf(i) {
			s.infos[name] = i
		}
	}
	return s
}

// stepOf is the step that an instant is in, which may be none of the interval.
func (s *history) stepOf(at time.Time) int {
	return int(math.Ceil(float64(at.Sub(s.from)) / float64(s.step)))
}

// take takes one series. A value stands for so long at most where the next one
// is missing.
func (s *history) take(l *series.Line, stands time.Duration) {
	info, ok := s.infos[l.Name]
	if !ok { // the agent's own figures
		return
	}
	var e sample.Entity
	for _, label := range l.Labels {
		switch label.Name {
		case "device":
			e.Device = label.Value
		case "class":
			e.Class = label.Value
		case "cgroup":
			e.Cgroup = label.Value
		}
	}
	v := stepValue{metric: info.Metric, entity: e, former: l.Name != series.NameOf(info)}
	if info.Kind == sample.Counter {
		s.takeCounter(v, l.Points, stands)
	} else {
		s.takeGauge(v, l.Points, stands)
	}
}

// takeGauge puts each value into its step, and into those to the next where that
// is near: a slow source is read once in several steps.
func (s *history) takeGauge(of stepValue, points []series.Point, stands time.Duration) {
	for i, p := range points {
		first, last := s.stepOf(p.At), s.stepOf(p.At)
		if i+1 < len(points) {
			next := s.stepOf(points[i+1].At)
			if next == first {
				continue // of several in a step the last counts
			}
			if points[i+1].At.Sub(p.At) <= stands {
				last = next - 1
			}
		}
		for n := max(first, 1); n <= min(last, len(s.put)-1); n++ {
			s.add(n, of, p.Value)
		}
	}
}

// takeCounter puts increases into the steps that they are from: one that is
// known of several steps is spread over them. Of a counter that fell, which
// began anew with the agent, all that it has is the increase.
func (s *history) takeCounter(of stepValue, points []series.Point, stands time.Duration) {
	rise := map[int]float64{}
	known := map[int]time.Duration{}
	for i := 1; i < len(points); i++ {
		from, to := points[i-1].At, points[i].At
		took := to.Sub(from)
		if took <= 0 || took > stands {
			continue // nothing is known of the time between
		}
		v := points[i].Value - points[i-1].Value
		if v < 0 {
			v = points[i].Value
		}
		for n := max(s.stepOf(from), 1); n <= min(s.stepOf(to), len(s.put)-1); n++ {
			end := s.from.Add(time.Duration(n) * s.step)
			part := minTime(to, end).Sub(maxTime(from, end.Add(-s.step)))
			if part <= 0 {
				continue
			}
			rise[n] += v * float64(part) / float64(took)
			known[n] += part
		}
	}
	for n, v := range rise {
		s.add(n, of, v)
		s.covered[n] = max(s.covered[n], known[n])
	}
}

// add puts a value into a step.
func (s *history) add(n int, of stepValue, value float64) {
	of.value = value
	s.has[of.metric] = true
	s.put[n] = append(s.put[n], of)
}

// values are those of a step, each once: of what was recorded under two names
// the newer one counts.
func (s *history) values(n int) iter.Seq[stepValue] {
	return func(yield func(stepValue) bool) {
		for _, v := range s.put[n] {
			again := v.former && slices.ContainsFunc(s.put[n], func(o stepValue) bool {
				return !o.former && o.metric == v.metric && o.entity == v.entity
			})
			if !again && !yield(v) {
				return
			}
		}
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// observed tells whether most of a step was.
func (s *history) observed(n int) bool { return s.covered[n] >= s.step/2 }

// known tells whether anything is, and how much time is missing.
func (s *history) known() (some bool, missing time.Duration) {
	for n := 1; n < len(s.put); n++ {
		if s.observed(n) {
			some = true
		} else {
			missing += s.step
		}
	}
	return some, missing
}

// recording is the interval as 'iocause record' would have it.
func (s *history) recording(program string) ([]byte, error) {
	var out bytes.Buffer
	to, err := recording.NewWriter(&out, recording.Header{Program: program, Began: s.from, Interval: (s.step * time.Duration(s.ticks)).Seconds(),
		Sources: []recording.Source{{Name: "agent"}}})
	if err != nil {
		return nil, err
	}
	windows := uint64(0)
	if err := s.windows(func(w *sample.Window) error {
		windows++
		return to.Window(&recording.Record{Window: w})
	}); err != nil {
		return nil, err
	}
	if err := to.End(recording.End{Windows: windows}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// windows hands out the interval window by window. Time that nobody observed is in
// none.
func (s *history) windows(f func(*sample.Window) error) error {
	gap := sample.Gap{Source: "agent", Why: "the agent always records the host, its devices, and the busiest processes and cgroups ('iocause top'); it records other processes, files and single I/Os only for incidents"}
	for _, i := range sample.Catalog() {
		if !s.has[i.Metric] {
			gap.Metrics = append(gap.Metrics, i.Metric)
		}
	}
	for first := 1; first < len(s.put); {
		if !s.observed(first) {
			first++
			continue
		}
		end := first
		w := sample.NewRecorder(s.from.Add(time.Duration(first-1) * s.step))
		w.PutGap(gap)
		for ; end < len(s.put) && end < first+s.ticks && s.observed(end); end++ {
			w.At(s.from.Add(time.Duration(end) * s.step))
			for v := range s.values(end) {
				w.Put(v.metric, v.entity, v.value, historySource)
			}
		}
		if err := f(w.Window(s.from.Add(time.Duration(end-1) * s.step))); err != nil {
			return err
		}
		first = end
	}
	return nil
}
