package cli

import (
	"fmt"

	"iocause/internal/source/probe/threads"
)

// maxThreadRows bounds what is remembered of a watch without end: threads that
// come later are added up in one row.
const maxThreadRows = 50_000

// threadRow is one thread, or a group of them.
type threadRow struct {
	usage   threads.Usage // its names are those of the first thread
	cgroup  string
	threads map[uint64]bool // nil for a single thread
	ended   int
}

// threadRows are rows in the order in which they were met.
type threadRows struct {
	rows   []*threadRow
	byKey  map[any]*threadRow
	comms  map[int]string // process names
	merged int
}

func newThreadRows() *threadRows {
	return &threadRows{byKey: map[any]*threadRow{}, comms: map[int]string{}}
}

// add takes in what a thread did.
func (r *threadRows) add(by string, u *threads.Usage, cgroup string) {
	var key any
	switch by {
	case "thread":
		key = u.Serial
	case "process":
		key = u.PID
	case "comm":
		key = u.Process
	default:
		key = cgroup
	}
	r.comms[u.PID] = u.Process
	row := r.byKey[key]
	if row == nil && len(r.rows) >= maxThreadRows {
		r.merged++
		key = "the rest"
		if row = r.byKey[key]; row == nil {
			row = r.begin(key, &threads.Usage{Comm: "(the rest)", Process: "(the rest)"}, "")
		}
	}
	if row == nil {
		row = r.begin(key, u, cgroup)
		if by == "thread" {
			row.threads = nil
		}
	}
	row.usage.Add(u)
	if row.threads != nil {
		row.threads[u.Serial] = true
	}
	if u.Ended {
		row.ended++
	}
}

func (r *threadRows) begin(key any, u *threads.Usage, cgroup string) *threadRow {
	row := &threadRow{cgroup: cgroup, threads: map[uint64]bool{}}
	row.usage = threads.Usage{Serial: u.Serial, TID: u.TID, PID: u.PID, Comm: u.Comm, Process: u.Process, Cgroup: u.Cgroup, Kernel: u.Kernel}
	r.byKey[key] = row
	r.rows = append(r.rows, row)
	return row
}

// named tells whether a thread of a process goes by a name: its own or the process's.
func (r *threadRows) named(pid int, comm, name string) bool {
	return comm == name || r.comms[pid] == name
}

// cgroupName is a cgroup's path, or what is known of it.
func (row *threadRow) cgroupName() string {
	switch {
	case row.cgroup != "":
		return row.cgroup
	case row.usage.Cgroup == 0:
		return "(unknown)"
	}
	return fmt.Sprintf("(id %d)", row.usage.Cgroup)
}
