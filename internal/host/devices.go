package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
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

	hidden bool // a path of an NVMe namespace: requests go there, and no file opens it
}

// Whole tells a disk from a partition.
func (d Device) Whole() bool { return d.Name == d.Disk }

// Devices are the block devices of a host at one time.
type Devices struct {
	all    []Device
	byDev  map[DevNumber]int
	byName map[string]int
}

// rememberDevices is how long what was read of the block devices of the live machine is
// taken again, where the kernel has announced nothing meanwhile.
const rememberDevices = 5 * time.Second

// readDevices are the block devices as they were read last.
type readDevices struct {
	mutex   sync.Mutex
	at      time.Time
	events  string // what the kernel had announced until then
	devices *Devices
}

// Devices are the block devices of /sys/block, or where that is missing of
// /sys/class/block. Device numbers come and go: ask anew when one is not known. A
// machine may have thousands and many ask for them, so that they are not read each
// time: the kernel counts what it announces, as each device that comes, goes or
// changes its size (/sys/kernel/uevent_seqnum).
func (h *Host) Devices() (*Devices, error) {
	if !h.IsLive {
		return h.readDevices()
	}
	h.read.mutex.Lock()
	defer h.read.mutex.Unlock()
	events, err := readString(h.Sys("kernel", "uevent_seqnum"))
	if err == nil && h.read.devices != nil && events == h.read.events && h.Now().Sub(h.read.at) < rememberDevices {
		return h.read.devices, nil
	}
	d, listed := h.readDevices()
	h.read.devices = nil
	if err == nil && listed == nil {
		h.read.devices, h.read.events, h.read.at = d, events, h.Now()
	}
	return d, listed
}

func (h *Host) readDevices() (*Devices, error) {
	base, mixed := h.Sys("block"), false
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		base, mixed = h.Sys("class", "block"), true
		entries, err = os.ReadDir(base)
	}
	d := &Devices{byDev: map[DevNumber]int{}, byName: map[string]int{}}
	if err != nil {
		return d, fmt.Errorf("listing the block devices: %w", err)
	}
	for _, e := range entries {
		disk := e.Name()
		dir := filepath.Join(base, disk)
		if mixed { // partitions stand beside disks
			if _, err := os.Lstat(filepath.Join(dir, "partition")); err == nil {
				continue
			}
		}
		if nvmePath.MatchString(disk) {
			d.addHidden(h, disk)
			continue
		}
		if !d.add(dir, disk, disk) || strings.HasPrefix(disk, "dm-") { // device-mapper has no partitions
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

// addHidden reads the device number of a path of an NVMe namespace, which its folder
// does not tell.
func (d *Devices) addHidden(h *Host, name string) {
	stats, err := Read(h.Proc("diskstats"), nil)
	if err != nil {
		return
	}
	for line := range bytes.Lines(stats) {
		f := bytes.Fields(line)
		if len(f) < 3 || string(f[2]) != name {
			continue
		}
		dev, ok := ParseDev(slices.Concat(f[0], []byte(":"), f[1]))
		if ok {
			d.byDev[dev], d.byName[name] = len(d.all), len(d.all)
			d.all = append(d.all, Device{Name: name, Dev: dev, Disk: name, hidden: true})
		}
		return
	}
}

// All are the devices, each disk followed by its partitions, without the paths of NVMe
// namespaces, which are found by their names and numbers alone.
func (d *Devices) All() []Device {
	return slices.DeleteFunc(slices.Clone(d.all), func(x Device) bool { return x.hidden })
}

// Partitions are those of a disk.
func (d *Devices) Partitions(disk string) []Device {
	i, ok := d.byName[disk]
	if !ok {
		return nil
	}
	from := i + 1 // they stand behind their disk
	for i = from; i < len(d.all) && d.all[i].Disk == disk; i++ {
	}
	return slices.Clone(d.all[from:i])
}

// Disks are the whole disks.
func (d *Devices) Disks() []Device {
	var out []Device
	for _, x := range d.all {
		if x.Whole() && !x.hidden {
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
