package host

import (
	"path/filepath"
	"slices"
)

// AnyDirectLoop tells whether some loop device reads and writes its file past the page
// cache, and the file lies on a disk of this machine. All devices are read only where
// there is one of the first kind.
func (h *Host) AnyDirectLoop() bool {
	past, _ := filepath.Glob(h.Sys("block", "loop*", "loop", "dio")) // fails for a bad pattern alone
	if !slices.ContainsFunc(past, direct) {
		return false
	}
	devices, err := h.Devices()
	return err == nil && slices.ContainsFunc(devices.Disks(), func(d Device) bool {
		_, ok := h.directLoop(d.Name, devices)
		return ok
	})
}

// direct tells whether a loop device's file "dio" says so (since Linux 4.4).
func direct(dio string) bool {
	n, err := ReadNumber(dio)
	return err == nil && n == 1
}

// directLoop is the disk or partition that the file of such a loop device lies on.
// Others are left out, and those that cannot be written: an installation of snaps has
// dozens.
func (h *Host) directLoop(disk string, devices *Devices) (on string, ok bool) {
	if !direct(h.Sys("block", disk, "loop", "dio")) {
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
		if m.holds(file) && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	d, ok := devices.Lookup(best.Dev) // not so of FUSE, a network, memory; nor of btrfs
	return d.Name, ok
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
