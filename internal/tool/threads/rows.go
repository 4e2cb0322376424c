package threads

import (
	"fmt"
	"time"

	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
)

// mostRows bounds what is remembered of a watch without end: threads that come
// later are added up in one row.
const mostRows = 50_000

// Groupings are what rows may be by.
func Groupings() []string { return []string{"thread", "process", "comm", "cgroup"} }

// Rows are threads, or groups of them, over one interval or several, in the
// order in which they were met.
type Rows struct {
	by     string // one of Groupings
	rows   []*row
	byKey  map[any]*row
	merged int // threads in the row of the rest
	waits  waitsByState
}

// row is one thread, or a group of them.
type row struct {
	usage   probe.Usage // its names are those of the first thread
	cgroup  sample.RawName
	threads map[uint64]bool // nil for a single thread
	ended   int
}

// NewRows are no rows yet. by is one of Groupings.
func NewRows(by string) *Rows { return &Rows{by: by, byKey: map[any]*row{}} }

// Add takes in what threads did in an interval.
func (r *Rows) Add(t *Threads) {
	for i := range t.Threads {
		r.add(&t.Threads[i])
	}
	for i := range t.Waits {
		r.waits.add(&t.Waits[i])
	}
}

func (r *Rows) add(u *Thread) {
	var key any
	switch r.by {
	case "thread":
		key = u.Serial
	case "process":
		key = u.PID
	case "comm":
		key = u.Process
	default:
		if key = u.CgroupPath; u.CgroupPath == "" { // removed before its path was looked up
			key = u.Usage.Cgroup
		}
	}
	to := r.byKey[key]
	if to == nil && len(r.rows) >= mostRows {
		r.merged++
		key = theRest{}
		if to = r.byKey[key]; to == nil {
			to = r.begin(key, &Thread{Usage: probe.Usage{Comm: "(the rest)", Process: "(the rest)"}})
		}
	}
	if to == nil {
		to = r.begin(key, u)
		if r.by == "thread" {
			to.threads = nil
		}
	}
	to.usage.Add(&u.Usage)
	if to.threads != nil {
		to.threads[u.Serial] = true
	}
	if u.Ended {
		to.ended++
	}
}

// theRest is the key of the row that threads are added up in for want of room.
type theRest struct{}

func (r *Rows) begin(key any, u *Thread) *row {
	to := &row{cgroup: u.CgroupPath, threads: map[uint64]bool{}}
	to.usage = probe.Usage{Serial: u.Serial, TID: u.TID, PID: u.PID, Comm: u.Comm, Process: u.Process, Cgroup: u.Usage.Cgroup, Kernel: u.Kernel}
	r.byKey[key] = to
	r.rows = append(r.rows, to)
	return to
}

// share is a part of the row's time.
func (r *row) share(d time.Duration) float64 { return d.Seconds() / r.usage.Wall.Seconds() }

// cgroupName is a cgroup's path, or what is known of it.
func (r *row) cgroupName() string {
	switch {
	case r.cgroup != "":
		return string(r.cgroup)
	case r.usage.Cgroup == 0:
		return "(unknown)"
	}
	return fmt.Sprintf("(id %d)", r.usage.Cgroup)
}
