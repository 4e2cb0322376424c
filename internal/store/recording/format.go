// Package recording is the file that windows of samples are kept in, one
// record each, so that they can be looked at and judged later as if they were
// live. docs/record.md describes it byte by byte.
//
// A file is one line of text with the name of the format and its version, and
// then records. Each begins with a mark, has a checksum and stands on its own:
// it is written at once, so that a writer that is killed loses the record that
// it was writing and no other, and a reader goes on behind whatever is damaged.
package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"iocause/internal/sample"
)

// Suffix is what names of recordings end in.
const Suffix = ".iocause"

// name begins the first line, the version ends it.
const (
	name    = "iocause-recording "
	version = "1"
	magic   = name + version + "\n"
)

// mark begins every record. No text holds it, and compressed data hardly ever;
// where it does, the checksum tells.
const mark = "\xabioc\r\n\x1a\xbb"

// headSize is the mark and what is known of a record without unpacking it:
// kind, three bytes of 0, length of the packed rest, start and length in
// nanoseconds, CRC-32C of all that but the mark, and of the packed rest.
const headSize = len(mark) + 4 + 4 + 8 + 8 + 4

// Limits of what a reader believes.
const (
	mostPacked   = 16 << 20 // bytes of a record
	mostUnpacked = 16 << 20 // bytes of it unpacked
	mostLosses   = 100      // that are told one by one
)

// Kind of a record.
type kind uint8

const (
	kindHeader kind = iota + 1
	kindWindow
	kindEnd
)

// ErrFormat is a file that is no recording.
var ErrFormat = errors.New("not a recording of iocause")

// ErrVersion is a recording that a later version has made.
var ErrVersion = errors.New("a recording of a newer format: use a newer iocause")

// errDamaged is a record whose checksum is right and whose content is not.
var errDamaged = errors.New("its content is invalid")

// Header is the first record.
type Header struct {
	Program  string          `json:"program"` // that wrote it
	Began    time.Time       `json:"began"`
	Interval float64         `json:"interval_seconds"` // meant length of a window
	Host     json.RawMessage `json:"host,omitempty"`   // fingerprint of the machine
	Sources  []Source        `json:"sources"`          // what was looked at
	Command  *Command        `json:"command,omitempty"`
}

// Source is one source of what was recorded, and why it lacks what it lacks.
type Source struct {
	Name    string          `json:"name"`
	Metrics []sample.Metric `json:"metrics,omitempty"`
	Gaps    []sample.Gap    `json:"gaps,omitempty"` // from the start on
}

// Command is a program that was run to be recorded. Its arguments are not
// kept: they may hold what is nobody else's business. Name is data from the
// system and may hold any byte.
type Command struct {
	Name []byte `json:"name"`
	PID  int    `json:"pid"`
}

// End is the last record of a recording that was ended in order.
type End struct {
	Windows uint64 `json:"windows"`
	Run     *Run   `json:"run,omitempty"` // how the command went
}

// Run is how a command went, as wait4(2) tells.
type Run struct {
	Processes   []Process `json:"processes"` // all that it started
	Ended       bool      `json:"ended"`     // before the recording did; nothing below is known otherwise
	Exit        int       `json:"exit"`      // as a shell gives it
	How         string    `json:"how"`       // "exit status 1", "signal: killed"
	Seconds     float64   `json:"seconds"`
	User        float64   `json:"user_seconds"`
	System      float64   `json:"system_seconds"`
	MostBytes   int64     `json:"most_memory_bytes"` // of its largest process
	ReadBytes   int64     `json:"read_bytes"`        // from block devices
	WriteBytes  int64     `json:"write_bytes"`       // made dirty, or written past the cache
	MajorFaults int64     `json:"major_faults"`
}

// Process is one of a command's.
type Process struct {
	PID  int    `json:"pid"`
	Comm []byte `json:"comm"`
}

// Cost is what observing a window took: processor time since the window
// before, start-up included in the first, and the peak of the memory so far.
type Cost struct {
	CPUSeconds float64
	RSSBytes   int64
}

// Record is one window.
type Record struct {
	Window *sample.Window
	Cost   Cost
}

// Loss is a part of the file that could not be read.
type Loss struct {
	Offset, Bytes int64
	Why           string
	After, Before time.Time // the windows around it; zero where there is none
}

func (l Loss) String() string {
	s := fmt.Sprintf("%d bytes from byte %d on cannot be read: %s", l.Bytes, l.Offset, l.Why)
	const clock = "15:04:05.000"
	switch {
	case !l.After.IsZero() && !l.Before.IsZero():
		s += fmt.Sprintf("; what was between %s and %s is lost", l.After.Format(clock), l.Before.Format(clock))
	case !l.After.IsZero():
		s += fmt.Sprintf("; what came after %s is lost", l.After.Format(clock))
	case !l.Before.IsZero():
		s += fmt.Sprintf("; what came before %s is lost", l.Before.Format(clock))
	}
	return s
}
