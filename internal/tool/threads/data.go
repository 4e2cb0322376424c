// Package threads answers what each thread does with its time: observed,
// kept with an incident, and as tables.
package threads

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
)

// Threads is what threads did in an interval. Its JSON is what an incident
// keeps; times are in nanoseconds there.
type Threads struct {
	Version int           `json:"version"`
	Begin   time.Time     `json:"begin"`
	Length  time.Duration `json:"length_ns"`
	Threads []Thread      `json:"threads"`
	Notes   []string      `json:"notes"` // what is missing
	Waits   []probe.Waits `json:"-"`     // the lengths of waits that ended, if asked for
}

// Thread is what one thread did.
type Thread struct {
	probe.Usage
	CgroupPath sample.RawName `json:"cgroup"` // of the memory controller; "" when not known
}

// Filter narrows what is shown. Empty fields narrow nothing.
type Filter struct {
	PID    int
	Comm   string // of the thread or of its process
	Cgroup string // and all below it
}

// Keep leaves out the threads that are not asked for, and their waits.
func (t *Threads) Keep(f *Filter) {
	processes := map[int]sample.RawName{} // of the threads that are kept
	t.Threads = slices.DeleteFunc(t.Threads, func(u Thread) bool {
		if !f.wants(&u) {
			return true
		}
		processes[u.PID] = u.Process
		return false
	})
	t.Waits = slices.DeleteFunc(t.Waits, func(w probe.Waits) bool {
		process, ok := processes[w.PID]
		return !ok || f.Comm != "" && string(w.Comm) != f.Comm && string(process) != f.Comm
	})
}

func (f *Filter) wants(u *Thread) bool {
	switch cgroup := string(u.CgroupPath); {
	case f.PID != 0 && u.PID != f.PID:
		return false
	case f.Comm != "" && string(u.Comm) != f.Comm && string(u.Process) != f.Comm:
		return false
	default:
		return f.Cgroup == "" || f.Cgroup == "/" || cgroup == f.Cgroup || strings.HasPrefix(cgroup, f.Cgroup+"/")
	}
}

// MostHeldUp is the name of the processes whose threads were kept from their
// work longest together, "" where none was. Kernel threads do not count.
func (t *Threads) MostHeldUp() string {
	held := map[sample.RawName]time.Duration{}
	for i := range t.Threads {
		u := &t.Threads[i]
		if d := u.Busy() - u.In[probe.Run]; d > 0 && !u.Kernel {
			held[u.Process] += d
		}
	}
	names := slices.SortedFunc(maps.Keys(held), func(x, y sample.RawName) int {
		return cmp.Or(cmp.Compare(held[y], held[x]), cmp.Compare(x, y))
	})
	if len(names) == 0 {
		return ""
	}
	return string(names[0])
}
