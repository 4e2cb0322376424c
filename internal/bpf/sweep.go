package bpf

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"iocause/internal/sample"
)

// Sweep says when a probe takes the rows of what has ended out of its maps: where
// a window ends, and every few seconds within a long one. A machine may start a
// thousand processes a second, and a map that is full counts no more of them.
// The zero value is ready for use.
type Sweep struct {
	last time.Time
	soon bool
}

// sweepEvery is so long that reading full maps, a microsecond or two a row, takes less
// than a hundredth of a processor. Where more than manyEnd rows end in that time, it is
// done soonEvery, so that maps of 16384 rows do not fill up: a row may be kept for one
// more sweep.
const (
	sweepEvery = 5 * time.Second
	soonEvery  = 900 * time.Millisecond // at the next tick
	manyEnd    = 1000
)

// Due tells whether it is time to; it is asked in every phase.
func (s *Sweep) Due(phase sample.Phase, now time.Time) bool {
	if phase == sample.First {
		s.last = now
		return false
	}
	every := sweepEvery
	if s.soon {
		every = soonEvery
	}
	if !phase.Closes() && now.Sub(s.last) < every {
		return false
	}
	s.last = now
	return true
}

// Saw says how many rows had ended at a sweep.
func (s *Sweep) Saw(ended int) { s.soon = ended > manyEnd }

// Take takes a row out of a hash map and returns what it was when it went; ok is
// false when it was gone already. What a program adds in this moment to a row
// that it had found before is lost, so only rows are taken that nothing is added
// to any more.
func Take[K, V any](m *ebpf.Map, key K) (v V, ok bool, err error) {
	err = m.LookupAndDelete(&key, &v)
	if errors.Is(err, ebpf.ErrNotSupported) { // of hashes before 3e87f192b405 (5.14)
		if err = m.Lookup(&key, &v); err == nil {
			err = m.Delete(&key)
		}
	}
	switch {
	case errors.Is(err, ebpf.ErrKeyNotExist):
		return v, false, nil
	case err != nil:
		return v, false, fmt.Errorf("taking a row out of a map: %w", err)
	}
	return v, true, nil
}

// Total is how a sum is told: sample.Sink's PutTotal or PutLast.
type Total func(sample.Metric, sample.Entity, float64, string)

// Totals tells the rows of a hash map. Those that have ended, to which nothing is
// added any more, are told for the last time and taken out; where a window ends, all
// others are told as they stand.
func Totals[K, V any](m *ebpf.Map, phase sample.Phase, into sample.Sink, ended func(*K, *V) bool, tell func(*K, *V, Total)) error {
	var gone []K
	err := Each(m, func(k K, v V) {
		switch {
		case ended(&k, &v):
			gone = append(gone, k)
		case phase.Closes():
			tell(&k, &v, into.PutTotal)
		}
	})
	for _, k := range gone {
		v, ok, e := Take[K, V](m, k)
		if err = errors.Join(err, e); ok {
			tell(&k, &v, into.PutLast)
		}
	}
	return err
}
