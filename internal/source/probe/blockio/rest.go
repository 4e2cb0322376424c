package blockio

import (
	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// rests are the counts of rows at the last sweep. A row that has not grown from
// one sweep to the next, and that nobody is left to add to, is told for the last
// time and taken out of its map, which else is full in time. A request may
// complete after the process that made it has ended: so ending alone is not enough.
type rests[K comparable] map[K]uint64

// rested tells whether a row has not grown since the last sweep; one that has is noted in
// now for the next.
func (before rests[K]) rested(k K, count uint64, now rests[K]) bool {
	if was, known := before[k]; known && was == count {
		return true
	}
	now[k] = count
	return false
}

// sweep tells the rows that may go and have rested for the last time, and where a
// window ends all others.
func sweep[K comparable, V any](m *ebpf.Map, before *rests[K], phase sample.Phase, into sample.Sink,
	count func(*V) uint64, mayGo func(*K) bool, tell func(*K, *V, bpf.Total),
) error {
	now := rests[K]{}
	err := bpf.Totals(m, phase, into, func(k *K, v *V) bool {
		return mayGo(k) && before.rested(*k, count(v), now)
	}, tell)
	*before = now
	return err
}
