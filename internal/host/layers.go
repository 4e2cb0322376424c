package host

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Layer is what a block device is that lies on others, or on a file: a volume of
// device-mapper, an array of md, a loop device.
type Layer struct {
	Kind  string   `json:"kind"`            // "dm-crypt", "raid1", "loop", "loop-direct" past the page cache; "dm" where its targets could not be asked for
	Label string   `json:"label,omitempty"` // what device-mapper calls it: "vg-root"
	On    []string `json:"on,omitempty"`    // disks and partitions right below it or its file, or its paths, by the kernel's names
	File  string   `json:"file,omitempty"`  // of a loop device
}

// Layers are the disks that lie on others or on a file, by the kernel's names:
// /sys/block/DISK/slaves, dm, md and loop. Those that are taken away meanwhile are
// left out.
func (h *Host) Layers(devices *Devices) map[string]Layer {
	out := map[string]Layer{}
	for _, d := range devices.Disks() {
		if l, ok := h.layer(d, devices); ok {
			out[d.Name] = l
		}
	}
	return out
}

// Stacked tells whether any disk lies on another one, on a file there, or on paths of
// its own (NVMe).
func (h *Host) Stacked() bool {
	disks, err := os.ReadDir(h.Sys("block"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(disks, func(d os.DirEntry) bool { return nvmePath.MatchString(d.Name()) || len(h.below(d.Name())) > 0 }) ||
		h.AnyDirectLoop()
}

// On is a disk that lies right on another one.
type On struct{ Above, Below DevNumber }

// LiesOn are the disks that lie on others, and loop devices past the page cache on the
// disks of their files.
func (h *Host) LiesOn(devices *Devices) (all []On) {
	for _, d := range devices.Disks() {
		for _, disk := range h.DisksBelow(d.Name, devices) {
			if dev, ok := devices.Number(disk); ok { // else it was taken away
				all = append(all, On{d.Dev, dev})
			}
		}
	}
	return all
}

// DisksBelow are the disks that one lies right on, itself or its file past the page cache.
func (h *Host) DisksBelow(name string, devices *Devices) (disks []string) {
	below := h.below(name)
	if on, ok := h.directLoop(name, devices); ok {
		below = append(below, on)
	}
	for _, name := range below {
		part, _ := devices.Number(name)
		if disk, ok := devices.Disk(part); ok { // else it was taken away
			disks = append(disks, disk)
		}
	}
	return disks
}

// TakesBios tells whether any disk has no requests of its own: device-mapper, md,
// zram, the heads of NVMe multipath. All others have a folder of their queues. A disk
// of size 0, as zram is before it is set up, has no I/O.
func (h *Host) TakesBios() bool {
	disks, err := os.ReadDir(h.Sys("block"))
	if err != nil {
		return true // what is not known costs more, and loses nothing
	}
	return slices.ContainsFunc(disks, func(d os.DirEntry) bool {
		if _, err := os.Stat(h.Sys("block", d.Name(), "mq")); err == nil {
			return false
		}
		size, err := readString(h.Sys("block", d.Name(), "size"))
		return err != nil || size != "0"
	})
}

// below are the devices right below a disk.
func (h *Host) below(disk string) []string {
	entries, err := os.ReadDir(h.Sys("block", disk, "slaves"))
	if err != nil {
		return nil // it has none, or was taken away
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (h *Host) layer(d Device, devices *Devices) (l Layer, ok bool) {
	text := func(parts ...string) string {
		s, err := readString(h.Sys(append([]string{"block", d.Name}, parts...)...))
		if err != nil {
			return ""
		}
		return clean(s)
	}
	l.On = h.below(d.Name)
	if uuid, label := text("dm", "uuid"), text("dm", "name"); label != "" {
		l.Label, l.Kind = label, h.targets(d.Dev)
		if l.Kind == "" {
			l.Kind = kindOf(uuid)
		}
		return l, true
	}
	if level := text("md", "level"); level != "" {
		l.Kind = level
		return l, true
	}
	if file := text("loop", "backing_file"); file != "" {
		l.Kind, l.File = "loop", file
		if direct(h.Sys("block", d.Name, "loop", "dio")) {
			l.Kind = "loop-direct"
			if on, ok := h.directLoop(d.Name, devices); ok {
				l.On = []string{on}
			}
		}
		return l, true
	}
	if paths := h.NVMePaths(d.Name); len(paths) > 0 {
		works := 0
		for i := range paths {
			l.On = append(l.On, paths[i].Name)
			if paths[i].Works() {
				works++
			}
		}
		l.Kind, l.Label = "nvme-multipath", fmt.Sprintf("%d of %d paths", works, len(paths))
		return l, true
	}
	if len(l.On) > 0 {
		l.Kind = strings.TrimRight(d.Name, "0123456789") // "bcache"
	}
	return l, l.Kind != ""
}

// kindOf is what the tools' prefix of a device-mapper device's UUID says of it.
func kindOf(uuid string) string {
	prefix, _, _ := strings.Cut(uuid, "-")
	switch {
	case prefix == "CRYPT":
		return "dm-crypt"
	case strings.Contains(uuid, "mpath-"):
		return "dm-multipath"
	}
	return "dm"
}

// LoopFile is the file behind a loop device, "" for a free one and other devices.
func (h *Host) LoopFile(device string) string {
	file, _ := readString(h.Sys("block", device, "loop", "backing_file"))
	return file
}
