package incident

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/trace"
	"iocause/internal/store/tracefile"
)

// Bounds of the trace that is kept.
const (
	traceRoom = 4 << 20 // bytes in the kernel for I/Os on their way
	mostIOs   = 200_000
	tracePoll = 10 * time.Millisecond // from one look into the kernel's buffer to the next
)

var errEnough = errors.New("as many I/Os as are kept")

// traceIOs takes every I/O for a time, as a trace file.
func traceIOs(ctx context.Context, h *host.Host, program string, length time.Duration) (data []byte, err error) {
	p, began, err := trace.Open(h, trace.Options{Buffer: traceRoom})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var to bytes.Buffer
	header := tracefile.Header{Program: program, Began: began}
	header.Host, _ = os.Hostname()
	if u, err := h.Fingerprint(); err == nil {
		header.Kernel = u.Kernel
	}
	file, err := tracefile.NewWriter(&to, header)
	if err != nil {
		return nil, err
	}
	watch, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	n := 0
	for over := false; !over && n < mostIOs; {
		select {
		case <-watch.Done():
			over = true
			err = p.Stop()
		case <-time.After(tracePoll):
		}
		err = errors.Join(err, p.Each(func(x *sample.IO) error {
			if n++; n > mostIOs {
				return errEnough
			}
			return file.Add(x)
		}))
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	l, err := p.Losses()
	if err != nil {
		return nil, err
	}
	file.Losses(tracefile.Losses(l))
	if err := file.End(time.Since(began)); err != nil {
		return nil, err
	}
	return to.Bytes(), nil
}
