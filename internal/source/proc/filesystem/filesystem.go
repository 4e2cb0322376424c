// Package filesystem reads how full the file systems on block devices are
// (statfs(2) of those in /proc/self/mountinfo). Network file systems are left
// out: asking one whose server is gone takes for ever.
package filesystem

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// ErrNotLive is a captured host: its file systems cannot be asked.
var ErrNotLive = errors.New("a captured host has no file systems")

type source struct{ host *host.Host }

// Metrics are what it emits.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.FSSize, sample.FSAvailable, sample.FSInodes, sample.FSInodesFree}
}

// Open opens the source.
func Open(h *host.Host) (sample.Source, error) {
	if !h.IsLive {
		return nil, fmt.Errorf("reading how full file systems are: %w", ErrNotLive)
	}
	if _, err := h.Mounts(); err != nil {
		return nil, err
	}
	return &source{h}, nil
}

// Collect implements sample.Source: the fill levels are read at the start. A
// file system that cannot be asked does not keep the others from it.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First {
		return nil
	}
	mounts, err := s.host.Mounts()
	if err != nil {
		return err
	}
	devices, err := s.host.Devices()
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range onDevices(mounts) {
		var st unix.Statfs_t
		if err := unix.Statfs(m.Point, &st); err != nil {
			errs = append(errs, fmt.Errorf("asking the file system at %q how full it is: %w", m.Point, err))
			continue
		}
		e := sample.Entity{Class: m.Point}
		e.Device, _ = devices.Disk(m.Dev) // some have numbers of their own
		put(into, e, &st)
	}
	return errors.Join(errs...)
}

func put(into sample.Sink, e sample.Entity, st *unix.Statfs_t) {
	const from = "statfs(2)"
	unit := float64(st.Frsize)
	into.Put(sample.FSSize, e, float64(st.Blocks)*unit, from)
	into.Put(sample.FSAvailable, e, float64(st.Bavail)*unit, from)
	if st.Files > 0 { // some make inodes as they need them
		into.Put(sample.FSInodes, e, float64(st.Files), from)
		into.Put(sample.FSInodesFree, e, float64(st.Ffree), from)
	}
}

// onDevices are the file systems on block devices, each once, where most of it
// is mounted.
func onDevices(all host.Mounts) host.Mounts {
	var out host.Mounts
	seen := map[host.DevNumber]bool{}
	for _, m := range all {
		if seen[m.Dev] || !strings.HasPrefix(m.Source, "/dev/") || m.Type == "devtmpfs" || m.Type == "fuseblk" {
			continue
		}
		seen[m.Dev] = true
		best, _ := all.Find(m.Dev)
		out = append(out, best)
	}
	return out
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
