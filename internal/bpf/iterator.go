package bpf

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
)

// ReadIterator runs an attached iterator to its end and returns what it wrote, whole
// records of size bytes, in buf's memory, which it grows when needed.
func (p *Probe) ReadIterator(name string, size int, buf []byte) ([]byte, error) {
	buf = buf[:0]
	it := p.iterators[name]
	if it == nil {
		return buf, fmt.Errorf("running iterator %s: not attached", name)
	}
	r, err := it.Open()
	if err != nil {
		return buf, fmt.Errorf("running iterator %s: %w", name, err)
	}
	for err == nil {
		if cap(buf)-len(buf) < 1<<15 {
			buf = append(make([]byte, 0, 2*cap(buf)+1<<16), buf...)
		}
		var n int
		n, err = r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return buf, fmt.Errorf("running iterator %s: %w", name, err)
	}
	if len(buf)%size != 0 {
		return buf[:0], fmt.Errorf("running iterator %s: %d bytes are not a multiple of the record size, %d", name, len(buf), size)
	}
	return buf, nil
}

// Missed is how many runs of the object's programs the kernel left out, because the
// program was interrupted by its own event, or preempted (recursion).
func (p *Probe) Missed() (uint64, error) {
	var n uint64
	missed := map[string]uint64{}
	err := p.eachStats(func(name string, s *ebpf.ProgramStats) { missed[name] = s.RecursionMisses - p.cost.miss[name] })
	for name := range missed {
		n += p.lost(name, missed) + p.cost.alone[name]
	}
	return n, err
}
