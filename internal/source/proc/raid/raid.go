// Package raid reads what the arrays of md do (/sys/block/DISK/md) and which paths
// of multipath devices work. Reading them asks no disk anything.
package raid

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Metrics are what it emits.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.RaidMembers, sample.RaidDegraded, sample.RaidAction, sample.RaidDone, sample.RaidSpeed,
		sample.RaidMember, sample.PathState,
	}
}

type source struct{ host *host.Host }

// Open opens the source. It fails when the block devices cannot be listed.
func Open(h *host.Host) (sample.Source, error) {
	if _, err := h.Devices(); err != nil {
		return nil, err
	}
	return &source{h}, nil
}

// Collect implements sample.Source: where a window begins and ends, so that what
// began or ended within it is seen.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First && !phase.Closes() {
		return nil
	}
	devices, err := s.host.Devices()
	if err != nil {
		return err
	}
	into.Put(sample.RaidMembers, sample.Entity{}, 0, "/sys/block") // no array is a measurement, too
	var errs []error
	for _, d := range devices.Disks() {
		switch {
		case strings.HasPrefix(d.Name, "md"):
			errs = append(errs, s.array(d.Name, into))
		case strings.HasPrefix(d.Name, "nvme"):
			for _, p := range s.host.NVMePaths(d.Name) {
				state := " failed"
				if p.Works() {
					state = " active"
				}
				into.Put(sample.PathState, sample.Entity{Device: d.Name, Class: p.Name + state}, 1, "/sys/block/"+p.Name)
			}
		case strings.HasPrefix(d.Name, "dm-") && s.text(d.Name, "dm", "name") != "":
			for _, p := range s.host.Paths(d.Dev) {
				name, ok := devices.Disk(p.Dev)
				if !ok {
					name = p.Dev.String()
				}
				state := " active"
				if p.Failed {
					state = " failed"
				}
				into.Put(sample.PathState, sample.Entity{Device: d.Name, Class: name + state}, 1, "DM_TABLE_STATUS of "+d.Name)
			}
		}
	}
	return errors.Join(errs...)
}

// text is a file of a disk in one line, "" where it is not there.
func (s *source) text(disk string, path ...string) string {
	b, err := host.Read(s.host.Sys(append([]string{"block", disk}, path...)...), nil)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// array emits one array. A level without redundancy has no action, and is never
// degraded. The files are those of Documentation/admin-guide/md.rst.
func (s *source) array(disk string, into sample.Sink) error {
	dir := "/sys/block/" + disk + "/md/"
	e := sample.Entity{Device: disk}
	number := func(m sample.Metric, file string, unit float64) error {
		word, _, _ := strings.Cut(s.text(disk, "md", file), " ") // "4 (3)" while it is reshaped
		if word == "" || word == "none" {
			return nil
		}
		n, ok := host.Uint([]byte(word))
		if !ok {
			return fmt.Errorf("reading %s%s: %.40q is not a number", dir, file, word)
		}
		into.Put(m, e, float64(n)*unit, dir+file)
		return nil
	}
	err := errors.Join(
		number(sample.RaidMembers, "raid_disks", 1),
		number(sample.RaidDegraded, "degraded", 1),
		number(sample.RaidSpeed, "sync_speed", 1024))
	if action := s.text(disk, "md", "sync_action"); action != "" {
		into.Put(sample.RaidAction, sample.Entity{Device: disk, Class: action}, 1, dir+"sync_action")
	}
	if now, all, ok := strings.Cut(s.text(disk, "md", "sync_completed"), " / "); ok {
		done, ok1 := host.Uint([]byte(now))
		of, ok2 := host.Uint([]byte(all))
		if ok1 && ok2 && of > 0 {
			into.Put(sample.RaidDone, e, float64(done)/float64(of), dir+"sync_completed")
		}
	}
	entries, readErr := os.ReadDir(s.host.Sys("block", disk, "md"))
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) { // stopped meanwhile
		return errors.Join(err, fmt.Errorf("listing the disks of %s: %w", disk, readErr))
	}
	for _, entry := range entries {
		if member, ok := strings.CutPrefix(entry.Name(), "dev-"); ok {
			if state := s.text(disk, "md", entry.Name(), "state"); state != "" {
				into.Put(sample.RaidMember, sample.Entity{Device: disk, Class: member + " " + state}, 1, dir+"dev-*/state")
			}
		}
	}
	return err
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
