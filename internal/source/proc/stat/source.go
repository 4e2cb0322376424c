// Package stat reads /proc/stat: the time of the processors, and how many
// threads run or wait for I/O.
package stat

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const file = "/proc/stat"

type source struct {
	path     string
	buf      []byte
	each     []procfile.CPU
	counters host.Counters[sample.Metric]
	highest  map[of]uint64
	rested   map[of]uint64 // ticks that processors were idle in all since the first reading
	online   map[uint64]bool
}

// of is an idle figure of one processor, or of all.
type of struct {
	metric sample.Metric
	cpu    uint64
}

// all stands for all processors, where the file has no lines for each.
const all = 1 << 32

// Open opens the source. It fails when the file cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{path: h.Proc("stat"), highest: map[of]uint64{}, rested: map[of]uint64{}, online: map[uint64]bool{}}
	_, err := s.read()
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) read() (procfile.CPUStat, error) {
	var err error
	if s.buf, err = host.Read(s.path, s.buf); err != nil {
		return procfile.CPUStat{}, fmt.Errorf("reading the processors' time: %w", err)
	}
	st, err := procfile.ParseCPUStat(s.buf, s.each)
	s.each = st.Each
	return st, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	if phase == sample.First {
		s.counters.Reset()
		clear(s.highest)
		clear(s.rested)
		clear(s.online)
	}
	t := &st.Times
	s.count(into, sample.CPUUser, t[procfile.CPUUser]+t[procfile.CPUNice])
	s.count(into, sample.CPUNice, t[procfile.CPUNice])
	s.count(into, sample.CPUSystem, t[procfile.CPUSystem]+t[procfile.CPUIRQ]+t[procfile.CPUSoftIRQ])
	idles, waits := s.idle(&st)
	s.count(into, sample.CPUIdle, idles)
	if st.Fields > procfile.CPUIOWait {
		s.count(into, sample.CPUIOWait, waits)
	} else if phase == sample.First {
		into.PutGap(sample.Gap{Why: file + " has no time waiting for I/O", Metrics: []sample.Metric{sample.CPUIOWait}})
	}
	if st.Fields > procfile.CPUSteal {
		s.count(into, sample.CPUSteal, t[procfile.CPUSteal])
	} else if phase == sample.First {
		into.PutGap(sample.Gap{Why: file + " has no stolen time", Metrics: []sample.Metric{sample.CPUSteal}})
	}
	gauge(into, phase, sample.CPUCount, st.CPUs > 0, float64(st.CPUs))
	for m, v := range map[sample.Metric]*uint64{sample.ProcsRunning: st.Running, sample.ProcsBlocked: st.Blocked} {
		if v == nil {
			gauge(into, phase, m, false, 0)
		} else {
			gauge(into, phase, m, true, float64(*v))
		}
	}
	return nil
}

func gauge(into sample.Sink, phase sample.Phase, m sample.Metric, ok bool, v float64) {
	if ok {
		into.Put(m, sample.Entity{}, v, file)
	} else if phase == sample.First {
		into.PutGap(sample.Gap{Why: fmt.Sprintf("%s has no line for %s", file, m), Metrics: []sample.Metric{m}})
	}
}

// jitter is how far idle and iowait may fall, in ticks, without having been
// reset: the kernel reckons them from the idle state of each processor, and
// proc_stat(5) warns that they may decrease.
const jitter = 3 * host.TickHz

// idle gives the idle time and that with I/O under way. It is not the sum that
// the kernel gives: for a processor that is offline that has another account,
// so it leaps by what the processor was idle since the boot whenever one goes
// or comes. Here each counts while it is online.
func (s *source) idle(st *procfile.CPUStat) (idles, waits uint64) {
	if len(st.Each) == 0 {
		return s.steady(of{sample.CPUIdle, all}, st.Times[procfile.CPUIdle]), s.steady(of{sample.CPUIOWait, all}, st.Times[procfile.CPUIOWait])
	}
	here := make(map[uint64]bool, len(st.Each))
	for _, c := range st.Each {
		here[c.Number] = true
		for k, now := range map[of]uint64{{sample.CPUIdle, c.Number}: c.Idle, {sample.CPUIOWait, c.Number}: c.IOWait} {
			before := s.highest[k]
			if s.online[c.Number] && now >= before {
				s.rested[of{k.metric, all}] += now - before
			}
			if !s.online[c.Number] || now > before || before-now >= jitter {
				s.highest[k] = now
			}
		}
	}
	s.online = here
	return s.rested[of{sample.CPUIdle, all}], s.rested[of{sample.CPUIOWait, all}]
}

// steady holds a figure that falls a little at its highest value.
func (s *source) steady(k of, now uint64) uint64 {
	if high := s.highest[k]; now < high && high-now < jitter {
		return high
	}
	s.highest[k] = now
	return now
}

func (s *source) count(into sample.Sink, m sample.Metric, ticks uint64) {
	rise, how := s.counters.Step(m, ticks)
	switch how {
	case host.Rose:
		into.Put(m, sample.Entity{}, float64(rise)/host.TickHz, file)
	case host.Fell:
		into.PutGap(sample.Gap{Why: fmt.Sprintf("%s: %s fell, so it was reset and part of its increase is lost", file, m), Metrics: []sample.Metric{m}})
	}
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
