// Package tracefile is the file that a trace of I/Os is kept in. docs/trace.md
// describes it byte by byte.
//
// A file is two lines of text, the name of the format and a header in JSON
// that describes the records, and then blocks with a length and a checksum
// each. A block is written at once, so that a file whose writer was killed can
// be read up to its last whole block.
package tracefile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"iocause/internal/sample"
)

// magic is the first line.
const magic = "iocause-trace 1\n"

// Limits of what a reader believes.
const (
	mostHeader = 1 << 20 // bytes
	mostBlock  = 1 << 20 // bytes
	mostTexts  = 1 << 17 // in the dictionary
	mostText   = 1 << 16 // bytes
)

// ErrFormat is a file that is no trace.
var ErrFormat = errors.New("not a trace of iocause")

// CutError says that a file ends within a block or is damaged there. What came
// before was read.
type CutError struct {
	Offset int64 // of the block that could not be read
	Why    string
}

func (e *CutError) Error() string {
	return fmt.Sprintf("the trace cannot be read from byte %d on: %s", e.Offset, e.Why)
}

// Header is the second line.
type Header struct {
	Program string    `json:"program"` // that wrote it
	Host    string    `json:"host"`
	Kernel  string    `json:"kernel"`
	Began   time.Time `json:"began"`            // the instant that times are counted from
	Filter  string    `json:"filter,omitempty"` // what was asked for; "" for everything
	Records []Record  `json:"records"`
}

// Record describes one kind of record.
type Record struct {
	Kind   uint8   `json:"kind"`
	Name   string  `json:"name"`
	Fields []Field `json:"fields,omitempty"`
}

// Field describes one field of a record, in their order.
//
// The types: "uint" is an unsigned LEB128 number; "int" the same, zigzag
// coded; "delta" an "int" that is added to the field's value in the record of
// this kind before, 0 at first; "string" a "uint" length and so many bytes;
// "text" a "uint", the number of a "text" record since the newest "forget"
// record, from 1, and 0 for none.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Unit string `json:"unit,omitempty"`
}

// Losses are what a trace lacks, summed since it began.
type Losses struct {
	Dropped  uint64 // the kernel's buffer was full
	InFlight uint64 // too many at a time to be followed
	Missed   uint64 // the completion was not seen
	Paths    uint64 // names of files
	Own      uint64 // of iocause itself, left out
	BelowMin uint64 // faster than asked for, left out
	Passed   uint64 // at most, that the kernel passed over because it had preempted a program
}

// Lost are the I/Os that should be in the trace.
func (l Losses) Lost() uint64 { return l.Dropped + l.InFlight + l.Missed + l.Passed }

// Why says what they were lost to, "" where none were.
func (l Losses) Why() string {
	var why []string
	add := func(n uint64, what string) {
		if n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(l.Dropped, "because the buffer was full (use a larger --buffer, a filter or -o)")
	add(l.InFlight, "because too many were in flight")
	add(l.Missed, "completed unseen")
	add(l.Passed, "at most passed over by the kernel, which had preempted a program")
	return strings.Join(why, ", ")
}

// Since is what was lost after an earlier count of the same trace.
func (l Losses) Since(before Losses) Losses {
	return Losses{Dropped: l.Dropped - before.Dropped, InFlight: l.InFlight - before.InFlight, Missed: l.Missed - before.Missed,
		Paths: l.Paths - before.Paths, Own: l.Own - before.Own, BelowMin: l.BelowMin - before.BelowMin, Passed: l.Passed - before.Passed}
}

// The kinds of records that this version writes.
const (
	kindText = iota + 1
	kindIO
	kindLosses
	kindForget
	kindEnd
)

// schema describes what Writer writes; it puts the fields in this order.
func schema() []Record {
	return []Record{
		{kindText, "text", []Field{{"text", "string", ""}}},
		{kindIO, "io", []Field{
			{"start", "delta", "ns"}, {"queue", "int", "ns, -1 unknown"}, {"device", "uint", "ns"},
			{"disk", "text", ""}, {"sector", "delta", "512 bytes"}, {"bytes", "uint", "bytes"},
			{"flags", "uint", "REQ_OP_* in 8 bits; preflush, fua, readahead, sync, meta, background, swap, polled, direct from bit 8"},
			{"status", "uint", "blk_status_t"}, {"requeues", "uint", "count"}, {"pid", "delta", ""}, {"tid", "delta", ""},
			{"comm", "text", ""}, {"cgroup", "text", ""}, {"file", "text", ""},
		}},
		{kindLosses, "losses", []Field{
			{"dropped", "uint", "count"}, {"in_flight", "uint", "count"}, {"missed", "uint", "count"},
			{"paths", "uint", "count"}, {"own", "uint", "count"}, {"below_min", "uint", "count"}, {"passed", "uint", "count"},
		}},
		{kindForget, "forget", nil},
		{kindEnd, "end", []Field{{"at", "uint", "ns"}}},
	}
}

// setters are the fields that this version knows, by record and name. texts
// holds the string of a "text".
func setters(io *sample.IO, l *Losses, end *time.Duration) map[string]func(v uint64, s string) {
	return map[string]func(uint64, string){
		"io.start":         func(v uint64, _ string) { io.Start = time.Duration(v) },
		"io.queue":         func(v uint64, _ string) { io.Queue = time.Duration(v) },
		"io.device":        func(v uint64, _ string) { io.Device = time.Duration(v) },
		"io.disk":          func(_ uint64, s string) { io.Disk = s },
		"io.sector":        func(v uint64, _ string) { io.Sector = v },
		"io.bytes":         func(v uint64, _ string) { io.Bytes = v },
		"io.flags":         func(v uint64, _ string) { io.Flags = sample.IOFlags(v) },
		"io.status":        func(v uint64, _ string) { io.Status = uint8(v) },
		"io.requeues":      func(v uint64, _ string) { io.Requeues = uint16(v) },
		"io.pid":           func(v uint64, _ string) { io.PID = int(int64(v)) },
		"io.tid":           func(v uint64, _ string) { io.TID = int(int64(v)) },
		"io.comm":          func(_ uint64, s string) { io.Comm = s },
		"io.cgroup":        func(_ uint64, s string) { io.Cgroup = s },
		"io.file":          func(_ uint64, s string) { io.File = s },
		"losses.dropped":   func(v uint64, _ string) { l.Dropped = v },
		"losses.in_flight": func(v uint64, _ string) { l.InFlight = v },
		"losses.missed":    func(v uint64, _ string) { l.Missed = v },
		"losses.paths":     func(v uint64, _ string) { l.Paths = v },
		"losses.own":       func(v uint64, _ string) { l.Own = v },
		"losses.below_min": func(v uint64, _ string) { l.BelowMin = v },
		"losses.passed":    func(v uint64, _ string) { l.Passed = v },
		"end.at":           func(v uint64, _ string) { *end = time.Duration(v) },
	}
}
