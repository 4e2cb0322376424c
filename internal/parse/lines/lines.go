// Package lines holds the words of the readers of tools' output: a line, what
// a reader makes of it, and where its values go.
package lines

import (
	"time"

	"iocause/internal/sample"
)

// Line is one line of a text, without colour codes and line end.
type Line struct {
	Text string
	N    int // its number in the file, from 1
	// At is when it was written, where something before it told that; the day
	// or year may not be known, so that only differences count.
	At time.Time
}

// Use is what a reader makes of a line.
type Use int

// The uses of a line. A reader that answers Foreign or Another has not changed.
const (
	Foreign Use = iota // not of this tool
	Another            // begins a new output of the same tool
	Skipped            // of this tool, but holds no figures
	Used
	Broken // looks like this tool's, but could not be read: Fault says why
)

// Reader reads the output of one run of one tool, line by line. It is used by
// one goroutine.
type Reader interface {
	// Line takes the next line. The first one is that which the tool was found
	// in, from the column where its output begins.
	Line(l Line, into Values) (Use, error)
	// Close ends the output: what is still held back is handed over.
	Close(into Values)
}

// Values takes what a reader finds. Values belong to the interval that the
// next Tick ends; those after the last Tick are taken at its instant.
type Values interface {
	// At sets the line that the next values come from; it begins as the line
	// that is being read.
	At(n int)
	Put(m sample.Metric, e sample.Entity, v float64)
	Histogram(m sample.Metric, e sample.Entity, h sample.Histogram)
	Process(pid int, p sample.Process)
	File(id sample.FileID, f sample.File)
	// Tick ends an interval of so many seconds.
	Tick(seconds float64)
	// Note is what a reader of the figures must know of them.
	Note(text string)
	// Doubt is a Note about figures that contradict each other.
	Doubt(text string)
	// Identity names the run: outputs of one tool with the same identity show
	// the same run.
	Identity(id string)
	// State says that the values are a state of the machine rather than what
	// happened in a run, so that several runs may share it.
	State()
}
