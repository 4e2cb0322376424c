// Package series keeps series of numbers on disk: a recording. A recording is
// a directory with three databases of the same series, each the Prometheus
// storage engine's own format: raw as measured, and rolled up to five minutes
// and to an hour, which are kept longer. Nothing outside this package knows
// the engine.
package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// The words of a recording, which are the same with the storage engine and
// without it (light.go).

// ErrLocked is a recording that another process writes.
var ErrLocked = errors.New("another agent uses that directory; stop it, or give each a directory of its own")

// ErrGone is a recording whose directory was removed or replaced while it was
// open: what is written to it is lost.
var ErrGone = errors.New("the directory of the history was removed")

// ErrNoRecording is a directory without a recording.
var ErrNoRecording = errors.New("there is no history")

// ErrClosed is a recording that is closed, or about to be opened anew.
var ErrClosed = errors.New("the history is closed")

// Label is one name and value of a series.
type Label struct{ Name, Value string }

// Value is one value of a series.
type Value struct {
	Of *Series
	V  float64
}

// Frame is what was measured at one instant.
type Frame struct {
	At     time.Time // to the millisecond
	Values []Value
}

// Options say where a recording is and how long its parts are kept.
type Options struct {
	Dir      string
	Keep     [Tiers]time.Duration // raw, 5 minutes, 1 hour
	MaxBytes int64                // of all blocks and the logs beside them; 0 is no limit
	// Dropped is told what goes for want of room before it is too old: a tier
	// and a time in it. nil: nobody asks. It is called by Open and Maintain.
	Dropped func(tier string, from, to time.Time)
	// Retried tells that whoever wrote here last holds what the disk refused and
	// writes it again: an end of the log that is torn off is no loss then.
	Retried bool
	Log     *slog.Logger
	Now     func() time.Time
}

// Tiers is how many resolutions a recording has.
const Tiers = 3

// TierNames are what the tiers are called, the finest first.
func TierNames() (names [Tiers]string) {
	for i, s := range specs() {
		names[i] = s.name
	}
	return names
}

// Appended is what became of the values of a call of Append.
type Appended struct {
	Kept    int
	Refused int // an instant already had another value, or is older than can be added
}

// spec is how one tier is kept on disk.
type spec struct {
	name        string
	resolution  time.Duration // 0: as measured
	block, most time.Duration // the shortest block and the longest
	segment     int           // bytes of a file of the write-ahead log
}

// specs are the tiers, the finest first. Half an hour in memory is what keeps
// the agent small; with two hours it takes four times as much.
func specs() [Tiers]spec {
	const day = 24 * time.Hour
	return [Tiers]spec{
		{"raw", 0, 30 * time.Minute, 270 * time.Minute, 4 << 20},
		{"5m", 5 * time.Minute, day / 2, 9 * day / 2, 1 << 20},
		{"1h", time.Hour, 4 * day, 36 * day, 1 << 20},
	}
}

// Point is a value at an instant.
type Point struct {
	At    time.Time
	Value float64
}

// Line is one series of a result, oldest point first.
type Line struct {
	Name   string // "" when the expression has none
	Labels []Label
	Points []Point
}

// Result is what an expression gives.
type Result struct {
	Type     string // as Prometheus names it: vector, matrix, scalar, string
	Lines    []Line // of a scalar or string one without labels
	Text     string // of a string
	Warnings []string
}

// Query is an expression of PromQL over a time. An instant query has no Step
// and is asked at To.
type Query struct {
	Expr     string
	From, To time.Time
	Step     time.Duration
}

// QueryError is an expression that cannot be parsed.
type QueryError struct {
	Expr string
	At   int // byte of Expr where it goes wrong, from 0
	What string
}

func (e *QueryError) Error() string {
	return fmt.Sprintf("reading the expression: at character %d: %s", e.At+1, e.What)
}

// Database answers queries. It is implemented by Recording and Reader.
type Database interface {
	Query(ctx context.Context, q Query) (*Result, error)
	Find(ctx context.Context, selectors []string, from, to time.Time) ([]Line, error)
	LabelNames(ctx context.Context, selectors []string, from, to time.Time) ([]string, error)
	LabelValues(ctx context.Context, name string, selectors []string, from, to time.Time) ([]string, error)
	Oldest(tier int) time.Time
	Newest(tier int) time.Time
}

// mostPoints is how many of a line are handed out, as Prometheus has it.
const mostPoints = 11_000

// ErrTooMany is a range query that asks for more points than anybody can look at.
var ErrTooMany = fmt.Errorf("more than %d points of each series: use a longer step", mostPoints)

// ErrTimeout is a query that took too long.
var ErrTimeout = errors.New("the query took too long")

// LeastStep is the step itself where a range query with it is answered, else the
// shortest of whole seconds that is.
func LeastStep(from, to time.Time, step time.Duration) time.Duration {
	if step <= 0 || to.Sub(from)/step <= mostPoints {
		return step
	}
	return ((to.Sub(from)-1)/mostPoints + time.Second).Truncate(time.Second)
}

// Short rounds to 24 bits, which is finer than anything that is measured here
// and takes half the room.
func Short(v float64) float64 { return float64(float32(v)) }

// Fine rounds a sum of seconds to 1/1024: as fine as the kernel's own figures
// and, unlike thousandths, short in binary.
func Fine(v float64) float64 { return math.Round(v*1024) / 1024 }

// Ever is a time before and one after all recordings.
func Ever() (from, to time.Time) { return time.UnixMilli(0), time.UnixMilli(math.MaxInt32 * 2000) }
