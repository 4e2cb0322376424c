package trace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/session"
	"iocause/internal/source/probe/trace"
	"iocause/internal/store/tracefile"
)

const (
	poll  = 10 * time.Millisecond  // from one look into the kernel's buffer to the next
	flush = 200 * time.Millisecond // what a killed trace lacks at most
)

// Options choose I/Os, in the kernel.
type Options = trace.Options

// Live is a trace of this machine.
type Live struct {
	Began  time.Time
	Wanted func(*sample.IO) bool                     // what the kernel could not choose; nil for all
	Lost   func(more uint64, sofar tracefile.Losses) // is called when there is no room for some; may be nil
	Show   func(elapsed time.Duration)               // five times a second; may be nil

	probe    *trace.Probe
	flushed  time.Time
	inMemory bool // the file: a kill loses all of it anyway
}

// Open begins to trace. It needs root or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, o Options) (*Live, error) {
	p, began, err := trace.Open(h, o)
	if err != nil {
		return nil, err
	}
	return &Live{Began: began, probe: p}, nil
}

// Close ends the trace.
func (l *Live) Close() error { return l.probe.Close() }

// Run hands what is traced to an observer until the context ends, the time is
// over (0: never) or it has enough, and keeps it in a file, if there is one.
func (l *Live) Run(ctx context.Context, o *Observer, length time.Duration, file *tracefile.Writer) error {
	o.file, l.flushed = file, time.Now()
	wanted := func(x *sample.IO) error {
		if l.Wanted != nil && !l.Wanted(x) {
			return nil
		}
		return o.take(x)
	}
	loop := session.Loop{Every: length, Count: 1, Tick: poll, Show: l.Show, During: func() error {
		if err := l.probe.Each(wanted); err != nil {
			return err
		}
		return l.keepUp(o)
	}}
	err := loop.Run(ctx, func(session.Interval) error {
		return errors.Join(l.probe.Stop(), l.probe.Each(wanted))
	})
	if errors.Is(err, errEnough) {
		err = l.probe.Stop()
	}
	err = errors.Join(err, l.count(o))
	took := time.Since(l.Began)
	if file != nil {
		file.Losses(o.losses)
		err = errors.Join(err, file.End(took))
	}
	return errors.Join(err, o.conclude(took))
}

// keepUp ends the interval that is over, counts what was lost and brings the
// file up to date.
func (l *Live) keepUp(o *Observer) error {
	// what ended before is in the buffer by now
	if at := time.Since(l.Began) - 2*poll; o.Every > 0 && at >= o.since+o.Every {
		if err := l.count(o); err != nil {
			return err
		}
		if err := o.until(at); err != nil {
			return err
		}
	}
	now := time.Now()
	if now.Sub(l.flushed) < flush {
		return nil
	}
	l.flushed = now
	if err := l.count(o); err != nil || o.file == nil || l.inMemory {
		return err
	}
	return o.file.Flush()
}

// count reads what was lost. A loss is said at once, and kept in the file.
func (l *Live) count(o *Observer) error {
	read, err := l.probe.Losses()
	if err != nil {
		return err
	}
	now, before := tracefile.Losses(read), o.losses
	if more := now.Lost() - before.Lost(); more > 0 && l.Lost != nil {
		l.Lost(more, now)
	}
	if now != before && o.file != nil {
		o.file.Losses(now)
	}
	o.losses = now
	return nil
}

// Bounds of the trace of an incident.
const (
	keptRoom = 4 << 20 // bytes in the kernel for I/Os on their way
	mostKept = 200_000 // I/Os
)

// Keep takes every I/O for a time, as a trace file.
func Keep(ctx context.Context, h *host.Host, program string, length time.Duration) (data []byte, err error) {
	l, err := Open(h, Options{Buffer: keptRoom})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var to bytes.Buffer
	header := Header(h, program)
	header.Began, l.inMemory = l.Began, true
	file, err := tracefile.NewWriter(&to, header)
	if err != nil {
		return nil, err
	}
	if err := l.Run(ctx, &Observer{Most: mostKept}, length, file); err != nil {
		return nil, err
	}
	return to.Bytes(), nil
}

// Header is that of a file with I/Os of this machine.
func Header(h *host.Host, program string) tracefile.Header {
	header := tracefile.Header{Program: program}
	header.Host, _ = os.Hostname()
	if u, err := h.Fingerprint(); err == nil {
		header.Kernel = u.Kernel
	}
	return header
}

// IsFile fails for a file that no trace is in.
func IsFile(f *os.File) error {
	_, err := tracefile.NewReader(f)
	return err
}
