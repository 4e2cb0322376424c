package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"iocause/internal/agent"
	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/source/probe/trace"
	"iocause/internal/store/incidents"
	"iocause/internal/store/tracefile"
	"iocause/internal/tool/latency"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/threads"
)

// Bounds of what is gathered after the verdict.
const (
	evidenceLength = 5 * time.Second // of each probe that watches, at most
	evidenceRoom   = 4 << 20         // bytes in the kernel for I/Os on their way
	evidenceIOs    = 200_000
	evidenceProbes = 5 // that watch, one after the other
)

// gather runs the costly probes one after the other, each for a bounded time,
// and keeps what they see with the finding. What fails is a note: the rest is
// worth having.
func (a *app) gather(ctx context.Context, report *diagnose.Report, length time.Duration, f *agent.Finding) {
	quiet := *a
	quiet.stderr = io.Discard // progress
	length = min(length, evidenceLength)
	keep := func(name, mime string, take func() ([]byte, error)) []byte {
		if ctx.Err() != nil {
			f.Notes = append(f.Notes, name+": it was stopped before")
			return nil
		}
		data, err := take()
		debug.FreeOSMemory() // of tables of symbols above all: the service has little
		if err != nil {
			f.Notes = append(f.Notes, fmt.Sprintf("%s: %v", name, err))
			return nil
		}
		f.Sections = append(f.Sections, incidents.Section{Name: name, Type: mime, Data: data})
		return data
	}
	victim := report.Victim.Comm
	keep(sectionThreads, jsonType, func() ([]byte, error) {
		seen, err := threads.Observe(ctx, a.host, length)
		if err == nil && victim == "" {
			victim = seen.MostHeldUp()
		}
		return seenJSON(seen, err)
	})
	keep(sectionOffCPU, jsonType, func() ([]byte, error) {
		waits := stacks.Options{Min: time.Millisecond, Comm: victim}
		return seenJSON(profile.Observe(ctx, a.host, profile.Options{Options: waits, Length: length}))
	})
	keep(sectionTrace, typeTrace, func() ([]byte, error) { return quiet.keepIOs(ctx, length) })
	keep(sectionResident, jsonType, func() ([]byte, error) { return quiet.keepCache(ctx) })
	keep(sectionMem, jsonType, quiet.keepMemory)
	keep(sectionLatency, jsonType, func() ([]byte, error) { return seenJSON(latency.Observe(ctx, a.host, length)) })
	// Of all processes: who has the processors may be another than who waits.
	keep(sectionOnCPU, jsonType, func() ([]byte, error) {
		runs := stacks.Options{OnCPU: true, Hz: profile.UsualHz}
		return seenJSON(profile.Observe(ctx, a.host, profile.Options{Options: runs, Length: length}))
	})
}

// keepIOs traces every I/O for a time.
func (a *app) keepIOs(ctx context.Context, length time.Duration) (data []byte, err error) {
	p, began, err := trace.Open(a.host, trace.Options{Buffer: evidenceRoom})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var to bytes.Buffer
	r := &traceRun{app: a, o: &traceOptions{}, began: began}
	file, err := tracefile.NewWriter(&to, r.header())
	if err != nil {
		return nil, err
	}
	watch, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	n := 0
	for over := false; !over && n < evidenceIOs; {
		select {
		case <-watch.Done():
			over = true
			err = p.Stop()
		case <-time.After(tracePoll):
		}
		err = errors.Join(err, p.Each(func(x *sample.IO) error {
			if n++; n > evidenceIOs {
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

// seenJSON writes what was observed.
func seenJSON(x any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return keepJSON(x)
}

// keepJSON writes evidence.
func keepJSON(x any) ([]byte, error) {
	b, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return b, nil
}
