// Package fuse measures what programs wait for that ask a FUSE file system: how
// long requests lie in its daemon's queue, how long the daemon takes, and which
// process that is.
package fuse

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	fromSend = "tp:fuse_request_send"
	fromEnd  = "tp:fuse_request_end"
)

// ops are the kinds of requests, in the order of enum op in fuse.bpf.c: the
// Class of fuse.requests.
func ops() [6]string {
	return [6]string{sample.ClassOther, sample.ClassRead, sample.ClassWrite, sample.ClassSync, sample.ClassNames, sample.ClassLock}
}

// Metrics is everything that the probe emits.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.FuseRequests, sample.FuseQueueTime, sample.FuseDaemonTime, sample.FuseTime,
		sample.FuseAnswers, sample.FuseAnswerTime, sample.FuseOldest}
}

// Probe is the attached probe.
type Probe struct {
	host   *host.Host
	probe  *bpf.Probe
	lookup *host.Lookup
	sweep  bpf.Sweep
}

// Open loads and attaches the probe. It needs root or CAP_BPF and CAP_PERFMON,
// and a kernel with FUSE built in that has its tracepoints (Linux 6.11).
func Open(h *host.Host) (sample.Source, error) {
	p, err := Plan().Open(nil)
	if err != nil {
		return nil, fmt.Errorf("opening the fuse probe: %w", err)
	}
	return &Probe{host: h, probe: p, lookup: host.NewLookup(h)}, nil
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _FuseBytes, LacksNothing: true, Programs: []bpf.Program{
		{Name: "on_send", Tracepoint: "fuse_request_send"},
		{Name: "on_end", Tracepoint: "fuse_request_end"},
	}}
}

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }

// Collect implements sample.Source: everything where a window ends.
func (p *Probe) Collect(phase sample.Phase, into sample.Sink) error {
	err := p.probe.Phase(phase, p.host.Now(), into)
	if !p.sweep.Due(phase, p.host.Now()) {
		return err
	}
	ended := p.lookup.Ended()
	err = errors.Join(err, p.requests(phase, ended, into), p.answers(phase, ended, into), p.probe.Processes(p.lookup, into))
	if !phase.Closes() {
		return err
	}
	// nobody asked is a measurement too
	into.PutTotal(sample.FuseRequests, sample.Entity{}, 0, fromEnd)
	into.PutTotal(sample.FuseTime, sample.Entity{}, 0, fromEnd)
	return errors.Join(err, p.open(into), p.probe.Losses("fuse", []string{"lost_requests", "lost_rows", "lost_processes"}, into))
}

// device names a file system by its number.
func device(dev uint32) string { return host.DevNumber(dev).String() }

// requests emits the rows of who has ended, for the last time, and where a window
// ends those of all others.
func (p *Probe) requests(phase sample.Phase, ended func(uint32) bool, into sample.Sink) error {
	err := bpf.Totals(p.probe.Map("rows"), phase, into, func(k *fuseKey, _ *fuseRow) bool { return ended(k.Tgid) }, emit)
	if err != nil {
		return fmt.Errorf("reading the requests to FUSE daemons: %w", err)
	}
	return nil
}

// emit emits a row for the file system and for who asked.
func emit(k *fuseKey, r *fuseRow, put bpf.Total) {
	dev := device(k.Dev)
	for _, e := range [...]sample.Entity{{Device: dev}, {Device: dev, PID: int(k.Tgid)}} {
		put(sample.FuseTime, e, seconds(r.QueueNs+r.DaemonNs), fromEnd)
		e.Class = ops()[k.Op]
		put(sample.FuseRequests, e, float64(r.Count), fromEnd)
		put(sample.FuseQueueTime, e, seconds(r.QueueNs), fromEnd)
		put(sample.FuseDaemonTime, e, seconds(r.DaemonNs), fromEnd)
	}
}

// answers emits who answered, in the same way.
func (p *Probe) answers(phase sample.Phase, ended func(uint32) bool, into sample.Sink) error {
	err := bpf.Totals(p.probe.Map("servers"), phase, into, func(k *fuseServerKey, _ *fuseServer) bool { return ended(k.Tgid) },
		func(k *fuseServerKey, s *fuseServer, put bpf.Total) {
			e := sample.Entity{PID: int(k.Tgid), Device: device(k.Dev)}
			put(sample.FuseAnswers, e, float64(s.Answers), fromEnd)
			put(sample.FuseAnswerTime, e, seconds(s.Ns), fromEnd)
		})
	if err != nil {
		return fmt.Errorf("reading the answers of FUSE daemons: %w", err)
	}
	return nil
}

// open emits what is not answered yet.
func (p *Probe) open(into sample.Sink) error {
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock); err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	now := uint64(clock.Nano())
	all := p.probe.Map("opens")
	oldest := map[uint32]uint64{}
	var gone []uint64
	err := bpf.Each(all, func(request uint64, o fuseOpen) {
		if o.Since > now {
			return // sent since
		}
		if p.givenUp(&o, now) {
			gone = append(gone, request)
			return
		}
		oldest[o.Key.Dev] = max(oldest[o.Key.Dev], now-o.Since)
		dev := device(o.Key.Dev)
		for _, e := range [...]sample.Entity{{Device: dev}, {Device: dev, PID: int(o.Key.Tgid)}} {
			into.PutTotal(sample.FuseTime, e, seconds(now-o.Since), fromSend)
		}
	})
	for _, request := range gone {
		_, _, e := bpf.Take[uint64, fuseOpen](all, request)
		err = errors.Join(err, e)
	}
	for dev, ns := range oldest {
		into.Put(sample.FuseOldest, sample.Entity{Device: device(dev)}, seconds(ns), fromSend)
	}
	if err != nil {
		return fmt.Errorf("reading the requests that FUSE daemons have not answered: %w", err)
	}
	return nil
}

// givenUp tells of a request whose thread was killed before the daemon took it:
// the kernel takes it back without a word.
func (p *Probe) givenUp(o *fuseOpen, now uint64) bool {
	const young = uint64(time.Second)
	if o.Tid == 0 || now-o.Since < young || !p.host.IsLive {
		return false
	}
	_, err := os.Lstat(p.host.Proc(strconv.FormatUint(uint64(o.Key.Tgid), 10), "task", strconv.FormatUint(uint64(o.Tid), 10)))
	return errors.Is(err, os.ErrNotExist)
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
