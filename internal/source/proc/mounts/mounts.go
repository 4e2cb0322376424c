// Package mounts reads which file systems of servers and daemons are mounted, how
// many requests wait for each FUSE daemon, and what the kernel's clients of NFS, CIFS and Ceph count.
// It asks no file system anything (no statfs, no stat): where the server is gone
// that would take for ever. What it reads is kept by this kernel.
package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const (
	fromMounts = "/proc/self/mountinfo"
	fromStats  = "/proc/self/mountstats"
	fromFuse   = "/sys/fs/fuse/connections"

	fromDescriptors = "/proc/PID/fdinfo"
)

// Metrics are what it emits.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.MountPoint, sample.MountKind, sample.MountFrom, sample.MountWaiting, sample.MountDaemon,
		sample.NFSRequests, sample.NFSTransmissions, sample.NFSTimeouts, sample.NFSErrors, sample.NFSSent, sample.NFSReceived,
		sample.NFSQueueTime, sample.NFSServerTime, sample.NFSTime, sample.ServedRequests, sample.ServedTime,
	}
}

type source struct {
	host     *host.Host
	buf      []byte
	counters host.Counters[key]
	daemons  map[host.DevNumber]int // processes that had a connection open
}

// key is a counter of the NFS client.
type key struct {
	metric sample.Metric
	entity sample.Entity
}

// Open opens the source.
func Open(h *host.Host) (sample.Source, error) {
	if _, err := h.Mounts(); err != nil {
		return nil, err
	}
	return &source{host: h}, nil
}

// Collect implements sample.Source: counters where a window begins and ends, all
// else where it ends.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First && !phase.Closes() {
		return nil
	}
	if phase == sample.First {
		s.counters.Reset()
	}
	all, err := s.host.Mounts()
	if err != nil {
		return err
	}
	remote := map[host.DevNumber]bool{}
	nfs, shares := map[string]host.DevNumber{}, map[string]host.DevNumber{} // by mount point, by source
	var ceph host.DevNumber
	for _, m := range all {
		if m.IsServed() {
			remote[m.Dev] = true
			switch {
			case strings.HasPrefix(m.Type, "nfs"):
				nfs[m.Point] = m.Dev
			case m.Type == "cifs" || m.Type == "smb3":
				shares[strings.ToLower(m.Source)] = m.Dev
			case m.Type == "ceph" && (ceph == 0 || m.Dev < ceph):
				ceph = m.Dev
			}
		}
	}
	if phase.Closes() {
		into.Put(sample.MountKind, sample.Entity{}, 0, fromMounts)
		for dev := range remote {
			m, _ := all.Find(dev)
			err = errors.Join(err, s.tell(m, into))
		}
	}
	if len(nfs) > 0 {
		err = errors.Join(err, s.nfs(nfs, into))
	}
	if len(shares) > 0 {
		err = errors.Join(err, s.cifs(shares, into))
	}
	if ceph != 0 {
		err = errors.Join(err, s.ceph(ceph, into))
	}
	if len(nfs)+len(shares) > 0 || ceph != 0 {
		s.counters.Sweep()
	}
	return err
}

// tell says what a mount is, and how many wait for its daemon.
func (s *source) tell(m host.Mount, into sample.Sink) error {
	dev := m.Dev.String()
	into.Put(sample.MountPoint, sample.Entity{Device: dev, Class: m.Point}, 1, fromMounts)
	into.Put(sample.MountKind, sample.Entity{Device: dev, Class: m.Type}, 1, fromMounts)
	into.Put(sample.MountFrom, sample.Entity{Device: dev, Class: m.Source}, 1, fromMounts)
	outside := m.Type == "virtiofs" // whose daemon is on the host of this virtual machine
	if !strings.HasPrefix(m.Type, "fuse") && !outside {
		return nil
	}
	path := s.host.Sys("fs", "fuse", "connections", strconv.FormatUint(uint64(m.Dev), 10), "waiting")
	b, err := host.Read(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // fusectl is not mounted, or this is not the first mount of its connection
	}
	if err != nil {
		return fmt.Errorf("reading how many wait for the FUSE daemon of %q: %w", m.Point, err)
	}
	line, _ := host.Line(b)
	n, ok := host.Uint(line)
	if !ok {
		return fmt.Errorf("reading how many wait for the FUSE daemon of %q: %s says %.20q", m.Point, path, b)
	}
	into.Put(sample.MountWaiting, sample.Entity{Device: dev}, float64(n), fromFuse)
	if n > 0 && !outside {
		if pid := s.daemon(m.Dev); pid != 0 {
			into.Put(sample.MountDaemon, sample.Entity{PID: pid, Device: dev}, 1, fromDescriptors)
			comm, _ := s.host.CommOf(pid) // its number says who it is where it has ended
			into.PutProcess(pid, sample.Process{Comm: comm})
		}
	}
	return nil
}

// nfs tells what the NFS client counts, once for each file system.
func (s *source) nfs(devs map[string]host.DevNumber, into sample.Sink) error {
	path := s.host.Proc("self", "mountstats")
	var err error
	if s.buf, err = host.Read(path, s.buf); err != nil {
		return fmt.Errorf("reading what the NFS client counts: %w", err)
	}
	all, err := procfile.ParseMountStats(s.buf)
	told := map[host.DevNumber]bool{}
	for i := range all {
		dev, ok := devs[all[i].Point]
		if !ok || told[dev] {
			continue
		}
		told[dev] = true
		for j := range all[i].Ops {
			s.tellOp(dev.String(), &all[i].Ops[j], into)
		}
	}
	return host.In(path, err)
}

// tellOp emits by how much the counters of an operation rose. A file system that was
// taken away and mounted anew counts from zero again.
func (s *source) tellOp(dev string, op *procfile.MountOp, into sample.Sink) {
	e := sample.Entity{Device: dev, Class: op.Name}
	put := func(m sample.Metric, now uint64, unit float64) {
		rise, how := s.counters.Step(key{m, e}, now)
		switch how {
		case host.Rose:
			if rise > 0 || m == sample.NFSRequests { // that nothing was answered is a measurement, too
				into.Put(m, e, float64(rise)*unit, fromStats)
			}
		case host.Fell:
			into.PutGap(sample.Gap{
				Why:     fmt.Sprintf("%s: %s of %s fell for %s, so part of its increase is lost", fromStats, m, op.Name, dev),
				Metrics: []sample.Metric{m},
			})
		}
	}
	const millisecond = 1e-3
	put(sample.NFSRequests, op.Requests, 1)
	put(sample.NFSTransmissions, op.Transmissions, 1)
	put(sample.NFSTimeouts, op.Timeouts, 1)
	if op.HasErrors {
		put(sample.NFSErrors, op.Errors, 1)
	}
	put(sample.NFSSent, op.Sent, 1)
	put(sample.NFSReceived, op.Received, 1)
	put(sample.NFSQueueTime, op.Queue, millisecond)
	put(sample.NFSServerTime, op.Response, millisecond)
	put(sample.NFSTime, op.Execute, millisecond)
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
