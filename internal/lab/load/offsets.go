package load

import (
	"math/bits"
	"math/rand/v2"
)

// offsets hands out the regions of the calls, one thread's share of them.
type offsets struct {
	spec   *Spec
	size   int64 // of the region
	rng    *rand.Rand
	at     int64 // sequential: next byte; once: next index
	left   int   // clustered: calls left in the run
	passes int   // begun anew so often
	thread int
	key    uint64 // once, zipf: of the permutation
	ranks  *zipf  // nil without that order
}

func newOffsets(spec *Spec, size int64, thread int) *offsets {
	o := &offsets{spec: spec, size: size, thread: thread, at: int64(thread)}
	if spec.Order == Sequential {
		o.at = 0
	}
	o.rng = rand.New(rand.NewPCG(spec.Seed, uint64(thread)))
	o.key = rand.New(rand.NewPCG(spec.Seed, 1<<32)).Uint64()
	if spec.Order == Zipf {
		o.ranks = newZipf(spec.Zipf, size/min(int64(spec.BlockSize), size))
	}
	return o
}

// next is the region of the next call; ok is false when the passes are over.
func (o *offsets) next() (off, length int64, ok bool) {
	bs := int64(o.spec.BlockSize)
	if bs > o.size {
		bs = o.size
	}
	blocks := o.size / bs
	switch o.spec.Order {
	case Sequential:
		if o.at >= o.size && !o.again(0) {
			return 0, 0, false
		}
		off = o.at
		o.at = min(o.at+bs, o.size)
		return off, o.at - off, true
	case Once:
		// Threads share one permutation and take every Nth of it.
		if o.at >= blocks && !o.again(int64(o.thread)) {
			return 0, 0, false
		}
		off = int64(permute(uint64(o.at), uint64(blocks), o.key+uint64(o.passes))) * bs
		o.at += int64(o.spec.Threads)
		return off, bs, true
	case Unaligned:
		return o.rng.Int64N(o.size - bs + 1), bs, true
	case Clustered:
		if o.left == 0 || o.at+bs > o.size {
			o.left = o.spec.Run
			run := min(bs*int64(o.spec.Run), o.size)
			o.at = o.rng.Int64N(max((o.size-run)/pageSize, 1)) * pageSize
		}
		o.left--
		off = o.at
		o.at += bs
		return off, bs, true
	case Zipf:
		// What is hot lies anywhere, and is the same for all threads.
		rank := uint64(o.ranks.next(o.rng) - 1)
		return int64(permute(rank, uint64(blocks), o.key)) * bs, bs, true
	default:
		return o.rng.Int64N(blocks) * bs, bs, true
	}
}

// again starts another pass at a position, if there is one left and it has
// anything for this thread.
func (o *offsets) again(at int64) bool {
	o.passes++
	o.at = at
	if o.spec.Order == Once && at >= o.size/min(int64(o.spec.BlockSize), o.size) {
		return false
	}
	return o.spec.Passes == 0 || o.passes < o.spec.Passes
}

// permute maps i < n to another number below n, one to one, without a table:
// a four-round Feistel network on the next even number of bits, walked until
// the result is below n.
func permute(i, n, key uint64) uint64 {
	half := max((bits.Len64(n-1)+1)/2, 1)
	mask := uint64(1)<<half - 1
	for {
		l, r := i>>half, i&mask
		for round := range uint64(4) {
			l, r = r, l^(mix(r^key^round<<56)&mask)
		}
		if i = l<<half | r; i < n {
			return i
		}
	}
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
