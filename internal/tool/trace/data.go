// Package trace traces I/Os one by one, and sums them up.
package trace

import (
	"fmt"
	"strconv"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/tracefile"
	"iocause/internal/table"
)

// Summary is what a part of a trace adds up to.
type Summary struct {
	Since, Length time.Duration // of the part, from when the trace began
	Whole         bool          // of a trace that was summed up by intervals
	Losses        tracefile.Losses
	Notes         []string // on the trace

	tally *tally
}

// Tables are those of a Summary of nothing.
func Tables() []table.Table { return (&Summary{tally: newTally()}).Tables() }

// IOs is how many there are.
func (s *Summary) IOs() uint64 { return s.tally.n }

// Tables are the processes, files, disks, and whose the I/Os at the plateau are.
func (s *Summary) Tables() []table.Table {
	tables := s.tally.tables(s.Length)
	tables[0].Notes = s.notes()
	return tables
}

// notes say what is not in the figures.
func (s *Summary) notes() (notes []string) {
	l := s.Losses
	if l.Lost() > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os are missing: %s", l.Lost(), l.Why()))
	}
	if l.Paths > 0 {
		notes = append(notes, fmt.Sprintf("the name of a file could not be read %s: shown as -", sample.Counted(l.Paths, "time")))
	}
	if l.BelowMin > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os were faster than --min and are not counted", l.BelowMin))
	}
	if l.Own > 0 {
		notes = append(notes, fmt.Sprintf("%d I/Os of iocause and for its output are left out", l.Own))
	}
	return append(notes, s.Notes...)
}

// IO is an I/O for programs: times in seconds, null where not known.
type IO struct {
	Time     time.Time `json:"time"`
	Queue    *float64  `json:"queue_seconds"`
	Device   float64   `json:"device_seconds"`
	Disk     string    `json:"disk"`
	Op       string    `json:"op"`
	Flags    string    `json:"flags"`
	Direct   bool      `json:"direct"`
	Swap     bool      `json:"swap"`
	Sector   uint64    `json:"sector"`
	Bytes    uint64    `json:"bytes"`
	Error    string    `json:"error,omitempty"`
	Requeues uint16    `json:"requeues,omitempty"`
	PID      int       `json:"pid"`
	TID      int       `json:"tid"`
	Comm     string    `json:"comm"`
	Cgroup   *string   `json:"cgroup"`
	File     *string   `json:"file"`
}

// Of is an I/O of a trace that began then.
func Of(x *sample.IO, began time.Time) IO {
	o := IO{Time: began.Add(x.Start), Device: x.Device.Seconds(), Disk: x.Disk, Op: x.Flags.Op(), Flags: x.Flags.String(),
		Direct: x.Flags&sample.IODirect != 0, Swap: x.Flags&sample.IOSwap != 0, Sector: x.Sector, Bytes: x.Bytes,
		Error: sample.IOStatus(x.Status), Requeues: x.Requeues, PID: x.PID, TID: x.TID, Comm: x.Comm}
	if x.Queue >= 0 {
		queue := x.Queue.Seconds()
		o.Queue = &queue
	}
	if x.Cgroup != "" {
		cgroup := x.Cgroup
		o.Cgroup = &cgroup
	}
	if x.File != "" {
		file := x.File
		o.File = &file
	}
	return o
}

// Fields are the names of what Record has.
func Fields() []string {
	return []string{"time", "queue_seconds", "device_seconds", "disk", "op", "flags", "direct", "swap", "sector", "bytes",
		"error", "requeues", "pid", "tid", "comm", "cgroup", "file"}
}

// Record is an I/O for a table of texts. Names are as the system has them.
func (o *IO) Record() []string {
	known := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	queue := ""
	if o.Queue != nil {
		queue = strconv.FormatFloat(*o.Queue, 'g', -1, 64)
	}
	return []string{o.Time.Format(time.RFC3339Nano), queue, strconv.FormatFloat(o.Device, 'g', -1, 64), o.Disk, o.Op, o.Flags,
		strconv.FormatBool(o.Direct), strconv.FormatBool(o.Swap), strconv.FormatUint(o.Sector, 10), strconv.FormatUint(o.Bytes, 10),
		o.Error, strconv.Itoa(int(o.Requeues)), strconv.Itoa(o.PID), strconv.Itoa(o.TID), o.Comm, known(o.Cgroup), known(o.File)}
}
