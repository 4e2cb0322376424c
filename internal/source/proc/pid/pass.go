package pid

import (
	"runtime"
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
	same  bool // has not run since before: nothing else was read
	look  look
	error error
}

// pass looks at all processes. Those that before knows and that have not run
// since are not looked at again: one file instead of three for the many that
// sleep. The order is that of pids.
func (s *source) pass(pids []int, before map[int]look) []outcome {
	out := make([]outcome, len(pids))
	workers := max(1, min(maxWorkers, runtime.GOMAXPROCS(0), len(pids)/perWorker))
	for len(s.readers) < workers {
		s.readers = append(s.readers, newReader(s.host))
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		r := s.readers[i]
		r.delays, r.threads = s.delays, maxThreads/workers
		wg.Go(func() {
			for {
				end := int(next.Add(chunk))
				if end-chunk >= len(pids) {
					return
				}
				for j := end - chunk; j < min(end, len(pids)); j++ {
					out[j] = r.outcome(pids[j], before)
				}
			}
		})
	}
	wg.Wait()
	return out
}

func (r *reader) outcome(pid int, before map[int]look) outcome {
	o := outcome{pid: pid}
	if old, ok := before[pid]; ok && old.hasSched && old.stat.Threads == 1 {
		now, ok := r.sched(pid)
		if o.same = ok && now == old.sched && now.Slices > 0; o.same {
			return o
		}
	}
	o.look, o.error = r.look(pid)
	return o
}
