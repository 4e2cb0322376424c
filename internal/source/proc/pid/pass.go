package pid

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A pass takes three files of 10 µs for each process. Many processes are
// shared out, which also brings their readings closer together.
const (
	maxWorkers = 4
	perWorker  = 250 // processes that make another worker worth while
	chunk      = 32  // processes taken at a time
)

// outcome is what a pass found of one process.
type outcome struct {
	pid   int
	same  bool // has not run since before: nothing more was read
	look  look
	error error
}

// pass looks at all processes. Those that before knows and that have not run
// since are not looked at again: one file instead of three for the many that
// sleep, none where somebody else knows that they do. The order is that of pids.
// What it returns is overwritten by the next pass.
func (s *source) pass(pids []int, before map[int]look) []outcome {
	s.found = slices.Grow(s.found[:0], len(pids))[:len(pids)]
	clear(s.found)
	out, rested := s.found, s.rested
	if s.missed { // it is told for a shorter time than since before
		rested = nil
	}
	workers := max(1, min(maxWorkers, runtime.GOMAXPROCS(0), len(pids)/perWorker))
	for len(s.readers) < workers {
		s.readers = append(s.readers, newReader(s.host))
	}
	var next, threads atomic.Int64
	threads.Store(maxThreads)
	var wg sync.WaitGroup
	for i := range workers {
		r := s.readers[i]
		r.delays, r.threads = s.delays, &threads
		wg.Go(func() {
			for {
				end := int(next.Add(chunk))
				if end-chunk >= len(pids) {
					return
				}
				for j := end - chunk; j < min(end, len(pids)); j++ {
					out[j] = r.outcome(pids[j], before, rested)
				}
			}
		})
	}
	wg.Wait()
	return out
}

func (r *reader) outcome(pid int, before map[int]look, rested func(int, uint64) bool) outcome {
	o := outcome{pid: pid}
	old, known := before[pid]
	if known && rested != nil && rested(pid, old.stat.Start) {
		o.same = true
		return o
	}
	if known && old.hasSched && old.stat.Threads == 1 {
		now, ok := r.sched(pid)
		if o.same = ok && now == old.sched && now.Slices > 0; o.same {
			return o
		}
	}
	o.look, o.error = r.look(pid)
	return o
}
