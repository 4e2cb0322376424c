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

// Next is the next record, valid until it is called again; nil when there is none yet.
func (r *Ring) Next() ([]byte, error) {
	err := r.reader.ReadInto(&r.record)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ring buffer of %s: %w", r.what, err)
	}
	return r.record.RawSample, nil
}

// Close closes it.
func (r *Ring) Close() error { return r.reader.Close() }
