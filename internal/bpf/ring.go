package bpf

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
)

// Ring reads a ring buffer of the kernel's without waiting.
type Ring struct {
	reader *ringbuf.Reader
	record ringbuf.Record
	what   string
}

// OpenRing opens one; what is in it is for errors.
func OpenRing(m *ebpf.Map, what string) (*Ring, error) {
	reader, err := ringbuf.NewReader(m)
	if err != nil {
		return nil, fmt.Errorf("reading the ring buffer of %s: %w", what, err)
	}
	reader.SetDeadline(time.Unix(1, 0)) // what there is
	return &Ring{reader: reader, what: what}, nil
}

// Each calls f with every record that is there when it begins; a record is valid during the
// call. What comes meanwhile is left for the next time: beside programs that make records
// faster than f takes them it would never end.
func (r *Ring) Each(f func([]byte) error) error {
	const header = 8 // of a record, which is as many whole words
	for left := r.reader.AvailableBytes(); left > 0; left -= header + (len(r.record.RawSample)+7)&^7 {
		err := r.reader.ReadInto(&r.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the ring buffer of %s: %w", r.what, err)
		}
		if err := f(r.record.RawSample); err != nil {
			return err
		}
	}
	return nil
}

// Close closes it.
func (r *Ring) Close() error { return r.reader.Close() }
