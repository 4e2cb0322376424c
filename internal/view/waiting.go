package view

import (
	"cmp"
	"maps"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// WaitingSources are the sources that Waiting reads.
func WaitingSources() []string { return []string{"pid", "pagecache", "locks", "reclaim", "writeback"} }

// held is what holds a process up: seconds, summed over its threads, by what
// it is in: a system call, a page fault, a pause, a lock.
type held struct {
	in    map[string]float64
	total float64 // without what may be mere idling
}

// idling is what threads sleep in that have nothing to do, as well as those
// that wait for a lock of the program.
const idling = "futex lock"

func (h *held) add(what string, seconds float64) {
	if seconds <= 0 {
		return
	}
	if h.in == nil {
		h.in = map[string]float64{}
	}
	h.in[what] += seconds
	if what != idling {
		h.total += seconds
	}
}

// longest is what most of it is in, "" where nothing held it up.
func (h *held) longest() string {
	what, most := "", 0.0
	for _, w := range slices.Sorted(maps.Keys(h.in)) {
		if h.in[w] > most && w != idling {
			what, most = w, h.in[w]
		}
	}
	return what
}

// heldUp is what held every process up, as the kernel programs tell. Without
// them it is the kernel's own account, which knows disks and swap only
// (proc.blkio_delay). ok is false where neither was measured.
func heldUp(w *sample.Window) (by map[int]*held, ok bool) {
	by = map[int]*held{}
	of := func(pid int) *held {
		h := by[pid]
		if h == nil {
			h = &held{}
			by[pid] = h
		}
		return h
	}
	each := func(m sample.Metric, what func(class string) string) {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 {
				of(e.PID).add(what(e.Class), s.Sum())
			}
		})
	}
	is := func(what string) func(string) string { return func(string) string { return what } }
	if !w.Has(sample.WaitIO) {
		each(sample.ProcBlkioDelay, is("disk"))
		return by, w.Has(sample.ProcBlkioDelay)
	}
	each(sample.WaitIO, func(class string) string { return class })
	each(sample.WaitDirtyPause, is("dirty pause"))
	each(sample.ReclaimTime, is("reclaim"))
	each(sample.CompactTime, is("compaction"))
	each(sample.LockWait, func(class string) string { return cmp.Or(class, "other") + " lock" })
	return by, true
}

// waitedFor is the file that each process waited for longest.
func waitedFor(w *sample.Window) map[int]sample.FileID {
	files, most := map[int]sample.FileID{}, map[int]float64{}
	w.Each(sample.CacheWait, func(e sample.Entity, s *sample.Series) {
		if e.PID == 0 || e.File.Ino == 0 {
			return
		}
		t, old := s.Sum(), files[e.PID]
		if t > most[e.PID] || t > 0 && t == most[e.PID] && e.File.Ino < old.Ino {
			files[e.PID], most[e.PID] = e.File, t
		}
	})
	return files
}

// Waiting is where the time of the processes that are asked for goes: on a
// processor, and what in and what for they are held up. Shares are of one
// thread's time: four threads that wait all the time have 400 %.
func Waiting(w *sample.Window, q *Query) []table.Table {
	t := table.Table{Key: "waiting", Title: "Where its time goes", Whole: true, Columns: []table.Column{
		{Key: "part", Head: "PART"}, {Key: "what", Head: "WHAT"},
		{Key: "share", Head: "SHARE", Unit: "ratio"}, {Key: "seconds", Head: "TIME", Unit: "seconds"},
	}, Notes: missing(w, sample.WaitIO, sample.LockWait)}
	add := func(part, what string, seconds float64) {
		t.Rows = append(t.Rows, []table.Cell{table.Str(part), table.Str(what), ratio(seconds, w.Seconds()), table.Num(seconds)})
	}
	sum := func(m sample.Metric) (total float64, ok bool) {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != 0 && q.process(w, e.PID) {
				total, ok = total+s.Sum(), true
			}
		})
		return total, ok
	}
	user, ok := sum(sample.ProcUser)
	system, _ := sum(sample.ProcSystem)
	if ok {
		add("runs", "on a processor", user+system)
	}
	if delay, ok := sum(sample.ProcRunDelay); ok {
		add("queues", "for a processor", delay)
	}
	by, _ := heldUp(w)
	all := held{}
	for pid, h := range by {
		if q.process(w, pid) {
			for what, seconds := range h.in {
				all.add(what, seconds)
			}
		}
	}
	for _, what := range longestFirst(all.in) {
		add("waits in", what, all.in[what])
	}
	reasons := map[string]float64{}
	w.Each(sample.WaitFor, func(e sample.Entity, s *sample.Series) {
		if e.PID != 0 && q.process(w, e.PID) && s.Sum() > 0 {
			reasons[e.Class] += s.Sum()
		}
	})
	for _, what := range longestFirst(reasons) {
		add("waits for", what, reasons[what])
	}
	return []table.Table{t}
}

// longestFirst are the keys, those with most time first.
func longestFirst(by map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
}
