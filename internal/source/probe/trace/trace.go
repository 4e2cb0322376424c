// Package trace hands over every I/O that block devices complete, one by one.
// docs/trace.md says how it works.
package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	onComplete = "on_complete"
	onMissed   = onComplete + bpf.AndMissed
)

// Options say what is traced. Zero values ask for everything.
type Options struct {
	PID         int
	Comm        string // at most 15 bytes
	Device      host.DevNumber
	Cgroup      uint64 // kernfs id: this one and those below it
	CgroupLevel int    // how far below the top of its tree it lies
	ByTask      bool   // Cgroup is of the memory controller's tree: the one of the thread counts
	File        sample.FileID
	Min         time.Duration   // from request to completion
	Own         []sample.FileID // two at most: the observer's output, left out
	Buffer      int             // bytes, a power of two; 0 for 16 MiB
}

// Losses are the records that are missing, and those left out on purpose. All
// are counted in the kernel.
type Losses struct {
	Dropped  uint64 // the ring buffer was full
	InFlight uint64 // not followed: too many were in flight
	Missed   uint64 // the completion was not seen
	Paths    uint64 // names of files, not records
	Own      uint64 // of the observer itself: left out
	BelowMin uint64 // faster than Options.Min: left out
	Passed   uint64 // the kernel passed over a program that it had preempted: at most so many records
}

// Probe is the attached probe. It is used by one goroutine.
type Probe struct {
	probe  *bpf.Probe
	ring   *bpf.Ring
	layer  *bpf.Late
	missed bpf.Missed
	epoch  time.Duration // of sample.IO, on the monotonic clock
	names  *names
	io     sample.IO

	forgotten uint32 // times that the paths were
}

// Open loads the probe and lets it record. It needs root or CAP_BPF and
// CAP_PERFMON, and a kernel with the tracepoint block_io_start (6.5)
// or, before that, block_getrq. epoch is
// what the times of I/Os are counted from.
func Open(h *host.Host, o Options) (p *Probe, epoch time.Time, err error) {
	spec, err := loadTrace()
	if err != nil {
		return nil, epoch, fmt.Errorf("reading the trace object: %w", err)
	}
	if o.Buffer > 0 {
		spec.Maps["events"].MaxEntries = uint32(o.Buffer)
	}
	constants := map[string]any{
		"self": uint32(h.Self), "only_tgid": uint32(o.PID), "only_dev": uint32(o.Device),
		"only_ino": o.File.Ino, "only_sdev": o.File.Dev, "only_cgroup": o.Cgroup,
		"only_level": uint32(o.CgroupLevel), "only_by_task": flag(o.ByTask),
		"only_comm": flag(o.Comm != ""), "min_ns": uint64(o.Min),
	}
	var comm [16]uint8
	copy(comm[:15], o.Comm)
	constants["comm_wanted"] = comm
	for name, at := range endings(h) {
		constants[name] = at
	}
	loaded, err := bpf.OpenWays(spec, append([]bpf.Program{
		{Name: "on_issue", Tracepoint: "block_rq_issue"},
		{Name: "on_requeue", Tracepoint: "block_rq_requeue"},
		{Name: "on_merge", Tracepoint: "block_rq_merge"},
		{Name: onComplete, Tracepoint: "block_rq_complete"},
		{Name: onMissed, Tracepoint: "block_rq_complete", After: onComplete},
		{Name: "on_bio", Tracepoint: "block_bio_queue", Arguments: 1, Optional: true},
	}, bpf.LayerPrograms()...), []bpf.Capability{bpf.Requests(map[string]any{"by_bio": true})}, constants)
	if err != nil {
		return nil, epoch, fmt.Errorf("opening the trace probe: %w", err)
	}
	p = &Probe{probe: loaded, names: newNames(h)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.leaveOut(o.Own); err != nil {
		return nil, epoch, err
	}
	if p.layer, err = bpf.FollowLayers(loaded, h, "on_bio", "on_remap", "on_split", bpf.OnBioDone); err != nil {
		return nil, epoch, err
	}
	if p.missed, err = bpf.CountMissed(loaded, h); err != nil {
		return nil, epoch, err
	}
	if p.ring, err = bpf.OpenRing(loaded.Map("events"), "the trace"); err != nil {
		return nil, epoch, err
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return nil, epoch, fmt.Errorf("reading the monotonic clock: %w", err)
	}
	p.epoch, epoch = time.Duration(ts.Nano()), h.Now()
	return p, epoch, p.set(true)
}

func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

func (p *Probe) set(on bool) error { return p.probe.SetVariable("enabled", flag(on)) }

func (p *Probe) leaveOut(files []sample.FileID) error {
	var own [2]traceInodeKey
	for i, f := range files[:min(len(files), len(own))] {
		own[i] = traceInodeKey{Ino: f.Ino, Sdev: uint64(f.Dev)}
	}
	return p.probe.SetVariable("own_files", own)
}

// Stop lets the programs record nothing more. What they have recorded can
// still be read.
func (p *Probe) Stop() error { return p.set(false) }

// Each calls f for every I/O that is in the buffer and returns without
// waiting. The I/O is valid during the call.
func (p *Probe) Each(f func(*sample.IO) error) error {
	if err := errors.Join(p.layer.Look(), p.missed.Look()); err != nil {
		return err
	}
	return p.ring.Each(func(raw []byte) error {
		if len(raw) < 4 {
			return nil
		}
		switch binary.LittleEndian.Uint32(raw) {
		case kindIO:
			if len(raw) < binary.Size(traceEvent{}) {
				return nil
			}
			p.decode(raw)
			return f(&p.io)
		case kindPath:
			p.names.learn(raw)
			if len(p.names.files) >= mostNames {
				clear(p.names.files)
				p.forgotten++
				return p.probe.SetVariable("naming", p.forgotten)
			}
		}
		return nil
	})
}

// Losses reads the counters.
func (p *Probe) Losses() (l Losses, err error) {
	for _, c := range []struct {
		name string
		into *uint64
	}{
		{"dropped", &l.Dropped}, {"lost_requests", &l.InFlight}, {"missed_completions", &l.Missed},
		{"lost_paths", &l.Paths}, {"own", &l.Own}, {"below_min", &l.BelowMin},
	} {
		if *c.into, err = p.probe.Counter(c.name); err != nil {
			return l, err
		}
	}
	l.Passed, err = p.probe.Missed()
	return l, err
}

// Close detaches the probe.
func (p *Probe) Close() error {
	var err error
	if p.ring != nil {
		err = p.ring.Close()
	}
	return errors.Join(err, p.probe.Close())
}

// text is a NUL-terminated string of the kernel.
func text(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
