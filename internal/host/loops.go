package host

import (
	"path/filepath"
	"slices"
	"strings"
)

// AnyDirectLoop tells whether some loop device reads and writes its file past the page
// cache, and the file lies on a disk of this machine.
func (h *Host) AnyDirectLoop(devices *Devices) bool {
	return slices.ContainsFunc(devices.Disks(), func(d Device) bool {
		_, ok := h.directLoop(d.Name, devices)
		return ok
	})
}

// directLoop is the disk or partition that the file of such a loop device lies on.
// Others are left out, and those that cannot be written: an installation of snaps has
// dozens.
func (h *Host) directLoop(disk string, devices *Devices) (on string, ok bool) {
	if !h.pastTheCache(disk) {
		return "", false
	}
	file := h.LoopFile(disk)
	readOnly, err := ReadNumber(h.Sys("block", disk, "ro"))
	if file == "" || err != nil || readOnly != 0 {
		return "", false
	}
	mounts, err := h.Mounts()
	if err != nil {
		return "", false
	}
	var best Mount
	for _, m := range mounts { // the newest hides those before it
		if (file == m.Point || strings.HasPrefix(file, strings.TrimSuffix(m.Point, "/")+"/")) && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	d, ok := devices.Lookup(best.Dev) // not so of FUSE, a network, memory; nor of btrfs
	return d.Name, ok
}

// pastTheCache tells of a loop device that reads and writes its file with direct I/O.
func (h *Host) pastTheCache(disk string) bool {
	if !strings.HasPrefix(disk, "loop") {
		return false
	}
	direct, err := ReadNumber(h.Sys("block", disk, "loop", "dio")) // since Linux 4.4
	return err == nil && direct == 1
}

// RequestsOfDM is the major number of device-mapper where some volume of it has
// requests of its own, as multipath has by default; else 0.
func (h *Host) RequestsOfDM() uint32 {
	queues, _ := filepath.Glob(h.Sys("block", "dm-*", "mq")) // fails for a bad pattern alone
	for _, q := range queues {
		text, err := readString(filepath.Join(filepath.Dir(q), "dev"))
		if dev, ok := ParseDev([]byte(text)); err == nil && ok {
			return dev.Major()
		}
	}
	return 0
}
