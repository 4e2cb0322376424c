package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DevNumber is a device number the way the kernel holds it: major<<20 | minor.
// It is not the encoding of stat(2).
type DevNumber uint32

// minorBits is MINORBITS of include/linux/kdev_t.h.
const minorBits = 20

// MakeDev puts a device number together.
func MakeDev(major, minor uint32) DevNumber { return DevNumber(major<<minorBits | minor) }

// Major is the major number.
func (d DevNumber) Major() uint32 { return uint32(d) >> minorBits }

// Minor is the minor number.
func (d DevNumber) Minor() uint32 { return uint32(d) & (1<<minorBits - 1) }

func (d DevNumber) String() string { return fmt.Sprintf("%d:%d", d.Major(), d.Minor()) }

// ParseDev reads "major:minor".
func ParseDev(s []byte) (DevNumber, bool) {
	for i, c := range s {
		if c == ':' {
			major, ok1 := Uint(s[:i])
			minor, ok2 := Uint(s[i+1:])
			if !ok1 || !ok2 || major >= 1<<(32-minorBits) || minor >= 1<<minorBits {
				return 0, false
			}
			return MakeDev(uint32(major), uint32(minor)), true
		}
	}
	return 0, false
}

// Device is a block device: a whole disk or a partition.
type Device struct {
	Name  string // the kernel's: "vda", "nvme0n1p2"
	Dev   DevNumber
	Disk  string // name of the whole disk; its own for a whole disk
	Bytes uint64 // size, 0 for a loop device without a file
}

// Whole tells a disk from a partition.
func (d Device) Whole() bool { return d.Name == d.Disk }

// Devices are the block devices of a host at one time.
type Devices struct {
	all    []Device
	byDev  map[DevNumber]int
	byName map[string]int
}

// Devices reads the block devices from /sys/block, or where that is missing
// from /sys/class/block. Device numbers come and go: read anew when one is
// not known.
func (h *Host) Devices() (*Devices, error) {
	base := h.Sys("block")
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		base = h.Sys("class", "block")
		entries, err = os.ReadDir(base)
	}
	d := &Devices{byDev: map[DevNumber]int{}, byName: map[string]int{}}
	if err != nil {
		return d, fmt.Errorf("listing the block devices: %w", err)
	}
	for _, e := range entries {
		disk := e.Name()
		dir := filepath.Join(base, disk)
		if _, err := os.Lstat(filepath.Join(dir, "partition")); err == nil {
			continue // in /sys/class/block partitions stand beside disks
		}
		// The hidden paths of a multipath disk have no device number.
		if !d.add(dir, disk, disk) {
			continue
		}
		parts, err := os.ReadDir(dir)
		if err != nil {
			continue // unplugged meanwhile
		}
		for _, p := range parts {
			if !strings.HasPrefix(p.Name(), disk) {
				continue
			}
			dir := filepath.Join(dir, p.Name())
			if _, err := os.Lstat(filepath.Join(dir, "partition")); err == nil {
				d.add(dir, p.Name(), disk)
			}
		}
	}
	return d, nil
}

// add reads one device's number and size. Names hold '!' where the device
// file's name has '/' (cciss!c0d0); the name stays as the kernel writes it.
func (d *Devices) add(dir, name, disk string) bool {
	s, err := readString(filepath.Join(dir, "dev"))
	if err != nil {
		return false
	}
	dev, ok := ParseDev([]byte(s))
	if !ok {
		return false
	}
	sectors, _ := ReadNumber(filepath.Join(dir, "size"))
	d.byDev[dev], d.byName[name] = len(d.all), len(d.all)
	d.all = append(d.all, Device{Name: name, Dev: dev, Disk: disk, Bytes: sectors * 512})
	return true
}

// All are the devices, each disk followed by its partitions.
func (d *Devices) All() []Device { return slices.Clone(d.all) }

// Disks are the whole disks.
func (d *Devices) Disks() []Device {
	var out []Device
	for _, x := range d.all {
		if x.Whole() {
			out = append(out, x)
		}
	}
	return out
}

// Lookup finds a device by its number.
func (d *Devices) Lookup(dev DevNumber) (Device, bool) {
	i, ok := d.byDev[dev]
	if !ok {
		return Device{}, false
	}
	return d.all[i], true
}

// Disk is the kernel's name of the whole disk that dev is or lies on.
func (d *Devices) Disk(dev DevNumber) (name string, ok bool) {
	x, ok := d.Lookup(dev)
	return x.Disk, ok
}

// Number is the device number of a disk or partition, by the kernel's name.
func (d *Devices) Number(name string) (DevNumber, bool) {
	i, ok := d.byName[name]
	if !ok {
		return 0, false
	}
	return d.all[i].Dev, true
}

// LongestDisk is how long the names of the disks get that have a size, in bytes.
func (h *Host) LongestDisk() int {
	longest := 0
	if devices, err := h.Devices(); err == nil {
		for _, d := range devices.Disks() {
			if d.Bytes > 0 {
				longest = max(longest, len(d.Name))
			}
		}
	}
	return longest
}
