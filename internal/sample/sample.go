// Package sample holds the words that all rooms speak: metrics, the things
// they are measured on, and the window of time they were measured in.
// It imports nothing of iocause.
package sample

import (
	"cmp"
	"time"
)

// Unit is the unit of a metric's values, in base units only: "bytes",
// "pages" (of 4096 bytes, also where the kernel's are larger), "seconds",
// "count" and "ratio" (0 to 1).
type Unit string

// The units in use.
const (
	Bytes   Unit = "bytes"
	Pages   Unit = "pages"
	Seconds Unit = "seconds"
	Count   Unit = "count"
	Ratio   Unit = "ratio"
)

// Kind says how a metric's points combine over a window.
type Kind int

const (
	// Counter points hold the increase since the point before (never the
	// cumulative value), so that a window's total is the sum of its points.
	Counter Kind = iota
	// Gauge points hold the value at their instant.
	Gauge
)

// FileID identifies a file the way the kernel does: the device number of its
// super block (kernel encoding, major<<20|minor) and its inode number.
type FileID struct {
	Dev uint32
	Ino uint64
}

// Entity is what a value was measured on. Zero fields do not apply; the zero
// Entity is the whole host. It is comparable and serves as a map key.
type Entity struct {
	PID    int    // thread group id (process)
	Cgroup string // path inside its hierarchy, "/" is the root
	Device string // kernel name of a whole block device: "vda", "nvme0n1"; of net.* an interface, of mount.*, fuse.* and nfs.* "MAJOR:MINOR", of a text where it is mounted
	File   FileID
	Class  string // a label from a small closed set, named by the metric's help
}

// Point is one value. At is counted from the start of the window; for a
// Counter it is the end of the interval in which the increase happened.
type Point struct {
	At    time.Duration
	Value float64
}

// Series is one metric of one entity over a window, oldest point first.
type Series struct {
	Source string // where it was read: "/proc/vmstat", "tp:block_rq_complete"
	Points []Point
}

// newSeries makes a series with room for a point: most have one in a window, and
// windows have tens of thousands of series.
func newSeries(source string) *Series {
	s := &struct {
		Series
		first [1]Point
	}{Series: Series{Source: source}}
	s.Points = s.first[:0]
	return &s.Series
}

// Sum is the sum of all points: for a Counter the increase over the window.
func (s *Series) Sum() float64 {
	var t float64
	for _, p := range s.Points {
		t += p.Value
	}
	return t
}

// Last is the newest value.
func (s *Series) Last() float64 { return s.Points[len(s.Points)-1].Value }

// Mean is the mean over all points.
func (s *Series) Mean() float64 { return s.Sum() / float64(len(s.Points)) }

// Min is the smallest value.
func (s *Series) Min() float64 {
	m := s.Points[0].Value
	for _, p := range s.Points[1:] {
		m = min(m, p.Value)
	}
	return m
}

// Max is the largest value.
func (s *Series) Max() float64 {
	m := s.Points[0].Value
	for _, p := range s.Points[1:] {
		m = max(m, p.Value)
	}
	return m
}

// Process is what is known of a process besides its figures. Comm is data
// from the system and may hold any byte.
type Process struct {
	Comm         string
	Start        time.Duration // since boot; tells a reused pid
	Kernel       bool          // a kernel thread
	MemoryCgroup string        // "" when not known
	IOCgroup     string        // "" when not known
	CPUCgroup    string        // "" when not known
}

// Cgroup is the cgroup to name a process by, "" when none is known: that which
// limits its memory. Where version 1 has a tree for each controller, it may be
// in the root of one and in a cgroup of its own in the other.
func (p Process) Cgroup() string {
	for _, c := range [...]string{p.MemoryCgroup, p.IOCgroup, p.CPUCgroup} {
		if c != "" && c != "/" {
			return c
		}
	}
	return cmp.Or(p.MemoryCgroup, p.IOCgroup, p.CPUCgroup)
}

// File is what is known of a file besides its figures. Path is data from the
// system and may hold any byte.
type File struct {
	Path    string // "" when it could not be found
	Size    int64  // bytes, -1 when not known
	Device  string // the disk of its file system, "MAJOR:MINOR" where there is none
	Deleted bool   // no name is left in the file system
	Partial bool   // the path's beginning is missing
}

// Gap is something that could not be observed, and why. Absent metrics are
// explained by gaps, so that "absent" never looks like "zero".
type Gap struct {
	Source  string   // name of the source in source/list.go, or "" for the host
	Why     string   // what was attempted and how it failed, and what would help
	Metrics []Metric // what is missing because of it
}

// Phase says where in the window a collection stands.
type Phase int

const (
	// First reads the start values: counters emit nothing yet.
	First Phase = iota
	// Tick is one of the regular collections between first and last.
	Tick
	// IntervalEnd closes a window and begins the next at the same instant: nothing
	// falls between. Tables that are kept in the kernel are read.
	IntervalEnd
	// Last closes the window; tables that are kept in the kernel are read.
	Last
)

// Closes tells whether a window ends with this phase.
func (p Phase) Closes() bool { return p >= IntervalEnd }

// Sink takes what sources measure.
type Sink interface {
	// Put adds one value at the current instant of the window.
	Put(m Metric, e Entity, value float64, source string)
	// PutTotal adds what a counter has counted since First; the window gets
	// the increase since it began. Totals of one entity in one phase add up.
	PutTotal(m Metric, e Entity, total float64, source string)
	// PutLast is PutTotal of a row that is not told again, for it is kept no
	// longer: what comes later of the same entity begins at zero.
	PutLast(m Metric, e Entity, total float64, source string)
	// PutAt adds one value at another instant of the window (kernel-side bins).
	PutAt(at time.Time, m Metric, e Entity, value float64, source string)
	// PutHistogram adds a histogram of everything since First, in the same way.
	PutHistogram(m Metric, e Entity, h Histogram, source string)
	PutProcess(pid int, p Process)
	PutFile(id FileID, f File)
	PutGap(g Gap)
}

// Source is something that can be measured. A Source is used by one goroutine.
type Source interface {
	// Collect reads the source and emits what changed since the last call.
	Collect(phase Phase, into Sink) error
	Close() error
}
