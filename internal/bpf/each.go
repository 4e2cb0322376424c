package bpf

import (
	"errors"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// How many entries of a map are read at once: few at first, as most maps have
// few, and then as many as take so many bytes.
const firstBatch, mostBatch = 32, 128 << 10

// Each calls f for every entry of a hash map. Entries that are added or
// removed meanwhile may be missed.
func Each[K, V any](m *ebpf.Map, f func(K, V)) error {
	var cursor ebpf.MapBatchCursor
	size, each := firstBatch, int(unsafe.Sizeof(*new(K))+unsafe.Sizeof(*new(V)))
	keys, values := make([]K, size), make([]V, size)
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for i := range n {
			f(keys[i], values[i])
		}
		full := errors.Is(err, unix.ENOSPC) // one bucket of the map has more entries
		switch {
		case errors.Is(err, ebpf.ErrKeyNotExist):
			return nil
		case errors.Is(err, ebpf.ErrNotSupported): // before 057996380a42 (5.6)
			return eachSingly(m, f)
		case err != nil && !full:
			return err
		}
		if full || 2*size*each <= mostBatch {
			size *= 2
			keys, values = make([]K, size), make([]V, size)
		}
	}
}

// eachSingly is Each with two system calls for an entry.
func eachSingly[K, V any](m *ebpf.Map, f func(K, V)) error {
	var k K
	var v V
	it := m.Iterate()
	for it.Next(&k, &v) {
		f(k, v)
	}
	return it.Err()
}
