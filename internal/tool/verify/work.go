package verify

import (
	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

// Work is what a program gets done: the figure that a fix is to raise.
type Work struct {
	Name      string  `json:"name"` // reads, writes, computes
	PerSecond float64 `json:"per_second"`
	Unit      string  `json:"unit"`
	Source    string  `json:"source"`
}

// The kinds of work.
const (
	reads    = "reads"
	writes   = "writes"
	computes = "computes"
)

// kindOf is what a program mostly waits to do: the sum of its waits by the call that
// they are in. Who waits for a processor or for a lock computes.
func kindOf(r *diagnose.Report) string {
	by := map[string]float64{}
	if r.VictimWaits != nil {
		for _, in := range r.VictimWaits.In {
			switch in.What {
			case "write", "sync", diagnose.InPause:
				by[writes] += in.Seconds
			case diagnose.InLock:
				by[computes] += in.Seconds
			case diagnose.InMemory:
			default:
				by[reads] += in.Seconds
			}
		}
	}
	best := computes
	for _, kind := range []string{reads, writes} {
		if by[kind] > by[best] {
			best = kind
		}
	}
	return best
}

// workOf adds up what the processes of a program did in a window; nil where that was
// not measured.
func workOf(w *sample.Window, kind string, of func(pid int) bool) *Work {
	const page = 4096
	sum := func(scale float64, metrics ...sample.Metric) (total float64, source string) {
		for _, m := range metrics {
			w.Each(m, func(e sample.Entity, s *sample.Series) {
				if of(e.PID) && e.File == (sample.FileID{}) && e.Class == "" {
					total += s.Sum() * scale
					source = s.Source
				}
			})
		}
		return total, source
	}
	seconds := w.Seconds()
	switch kind {
	case reads:
		cached, from := sum(page, sample.CacheAccesses)
		past, direct := sum(1, sample.DirectReadBytes)
		if past > cached {
			from = direct
		}
		if from == "" { // the page cache was not accounted for
			cached, from = sum(1, sample.ProcReadChars)
		}
		return work(kind, (cached+past)/seconds, "bytes/s", from)
	case writes:
		passed, from := sum(1, sample.ProcWriteChars)
		if past, direct := sum(1, sample.DirectWriteByte); past > passed { // io_uring passes by /proc/PID/io
			passed, from = past, direct
		}
		return work(kind, passed/seconds, "bytes/s", from)
	}
	cpu, from := sum(1, sample.ProcUser)
	return work(kind, cpu/seconds, "ratio", from)
}

func work(name string, rate float64, unit, source string) *Work {
	if source == "" {
		return nil
	}
	return &Work{Name: name, PerSecond: rate, Unit: unit, Source: source}
}
