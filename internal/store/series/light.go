//go:build light

package series

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// The light build leaves the storage engine of Prometheus and PromQL out, 6 MB of
// the binary: whoever diagnoses, observes and records needs neither.

// ErrLeftOut is what everything here fails with.
var ErrLeftOut = errors.New("the light build of iocause neither keeps nor queries series; use the full build")

// Built says why there is no storage engine.
func Built() error { return ErrLeftOut }

// Series is the identity of one series.
type Series struct {
	name   string
	labels []Label
}

// New names a series.
func New(name string, of ...Label) *Series {
	s := &Series{name: name}
	for _, l := range of {
		if l.Value != "" {
			s.labels = append(s.labels, Label{l.Name, strings.ToValidUTF8(l.Value, "\uFFFD")})
		}
	}
	slices.SortFunc(s.labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Name is the name without labels.
func (s *Series) Name() string { return s.name }

// Labels are the labels without the name, sorted.
func (s *Series) Labels() []Label { return slices.Clone(s.labels) }

// CheckExpr fails.
func CheckExpr(string) error { return ErrLeftOut }

// nothing answers every question with ErrLeftOut.
type nothing struct{}

// Query implements Database.
func (nothing) Query(context.Context, Query) (*Result, error) { return nil, ErrLeftOut }

// Find implements Database.
func (nothing) Find(context.Context, []string, time.Time, time.Time) ([]Line, error) {
	return nil, ErrLeftOut
}

// LabelNames implements Database.
func (nothing) LabelNames(context.Context, []string, time.Time, time.Time) ([]string, error) {
	return nil, ErrLeftOut
}

// LabelValues implements Database.
func (nothing) LabelValues(context.Context, string, []string, time.Time, time.Time) ([]string, error) {
	return nil, ErrLeftOut
}

// Oldest implements Database.
func (nothing) Oldest(int) time.Time { return time.Time{} }

// Newest implements Database.
func (nothing) Newest(int) time.Time { return time.Time{} }

// Close has nothing to let go of.
func (nothing) Close() error { return nil }

// Reader reads a recording; there is none.
type Reader struct{ nothing }

// OpenReader fails.
func OpenReader(string) (*Reader, error) { return nil, ErrLeftOut }

// Samples fails.
func (nothing) Samples(context.Context, time.Time, time.Time, time.Duration, []string, func(*Line, time.Duration)) ([]string, error) {
	return nil, ErrLeftOut
}

// Recording is a recording that is being written; there is none.
type Recording struct{ nothing }

// Open fails.
func Open(Options) (*Recording, error) { return nil, ErrLeftOut }

// Check fails.
func (*Recording) Check() error { return ErrLeftOut }

// Append fails.
func (*Recording) Append([]Frame) (Appended, error) { return Appended{}, ErrLeftOut }

// Maintain fails.
func (*Recording) Maintain(context.Context) error { return ErrLeftOut }

// Roll fails.
func (*Recording) Roll(context.Context) error { return ErrLeftOut }

// Between fails.
func (*Recording) Between(context.Context, time.Time, time.Time, time.Duration) ([]Line, error) {
	return nil, ErrLeftOut
}

// Forget has nothing to forget.
func (*Recording) Forget() {}

// Bytes is nothing.
func (*Recording) Bytes() int64 { return 0 }

// Damage is none.
func (*Recording) Damage() []string { return nil }
