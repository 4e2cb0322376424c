package blockio

import (
	"errors"

	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// rests are the counts of rows at the last sweep. A row that has not grown from
// one sweep to the next, and that nobody is left to add to, is told for the last
// time and taken out of its map, which else is full in time. A request may
// complete after the process that made it has ended: so ending alone is not enough.
type rests[K comparable] map[K]uint64

// total is how a sum is told: sample.Sink's PutTotal or PutLast.
type total func(sample.Metric, sample.Entity, float64, string)

// sweep tells the rows that may go and have rested for the last time, and where a
// window ends all others.
func sweep[K comparable, V any](m *ebpf.Map, before *rests[K], phase sample.Phase, into sample.Sink,
	count func(*V) uint64, mayGo func(*K) bool, tell func(*K, *V, total),
) error {
	now := rests[K]{}
	var gone []K
	err := bpf.Each(m, func(k K, v V) {
		if mayGo(&k) {
			if was, known := (*before)[k]; known && was == count(&v) {
				gone = append(gone, k)
				return
			}
			now[k] = count(&v)
		}
		if phase.Closes() {
			tell(&k, &v, into.PutTotal)
		}
	})
	*before = now
	for _, k := range gone {
		v, ok, e := bpf.Take[K, V](m, k)
		if err = errors.Join(err, e); ok {
			tell(&k, &v, into.PutLast)
		}
	}
	return err
}
