package host

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dmIoctl is struct dm_ioctl of include/uapi/linux/dm-ioctl.h, and room for what
// the kernel answers behind it.
type dmIoctl struct {
	Version     [3]uint32
	DataSize    uint32 // of all of it
	DataStart   uint32
	TargetCount uint32
	OpenCount   int32
	Flags       uint32
	EventNr     uint32
	_           uint32
	Dev         uint64
	Name        [128]byte
	UUID        [129]byte
	_           [7]byte
	Data        [8192]byte
}

const (
	dmStart       = 312        // sizeof(struct dm_ioctl)
	dmTableStatus = 0xc138fd0c // DM_TABLE_STATUS
	dmNoFlush     = 1 << 11    // DM_NOFLUSH_FLAG: nothing is written for the answer
	dmFull        = 1 << 8     // DM_BUFFER_FULL_FLAG
	dmTarget      = 40         // sizeof(struct dm_target_spec)
)

// tableStatus is what device-mapper answers of a device's targets, how many they are,
// and whether some did not fit; nothing where it cannot be asked. The status is asked
// for and not the table, which holds the keys of dm-crypt.
func (h *Host) tableStatus(dev DevNumber) (data []byte, count int, full bool) {
	if !h.IsLive {
		return nil, 0, false
	}
	f, err := os.OpenFile(filepath.Join(h.Root, "/dev/mapper/control"), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, false // not root, or a container without it
	}
	defer f.Close()
	minor := dev.Minor()
	c := &dmIoctl{
		Version: [3]uint32{4, 0, 0}, DataStart: dmStart, Flags: dmNoFlush,
		Dev: uint64(minor&0xff | dev.Major()<<8 | minor&^0xff<<12),
	}
	c.DataSize = uint32(unsafe.Sizeof(*c))
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), dmTableStatus, uintptr(unsafe.Pointer(c))); errno != 0 {
		return nil, 0, false
	}
	all := unsafe.Slice((*byte)(unsafe.Pointer(c)), unsafe.Sizeof(*c))
	if c.DataStart > c.DataSize || int(c.DataSize) > len(all) {
		return nil, 0, false
	}
	return all[c.DataStart:c.DataSize], int(c.TargetCount), c.Flags&dmFull != 0
}

// targets are the kinds of targets that make up a device of device-mapper, such as
// "dm-linear" or "dm-linear, dm-striped"; "" where they cannot be asked for.
func (h *Host) targets(dev DevNumber) string { return targetKinds(h.tableStatus(dev)) }

// Path is one way of a multipath device to its storage.
type Path struct {
	Dev    DevNumber
	Failed bool
}

// Paths are those of a device of dm-multipath, none of others.
func (h *Host) Paths(dev DevNumber) []Path {
	data, count, _ := h.tableStatus(dev)
	return multipaths(data, count)
}

// multipaths reads the status of a multipath target: among its words each path is
// "MAJOR:MINOR A" or "MAJOR:MINOR F" (drivers/md/dm-mpath.c, multipath_status).
func multipaths(data []byte, count int) []Path {
	if count != 1 || len(data) < dmTarget || targetKinds(data, count, false) != "dm-multipath" {
		return nil
	}
	text, _, _ := bytes.Cut(data[dmTarget:], []byte{0})
	words := bytes.Fields(text)
	var all []Path
	for i := 1; i < len(words); i++ {
		state := string(words[i])
		if dev, ok := ParseDev(words[i-1]); ok && (state == "A" || state == "F") {
			all = append(all, Path{dev, state == "F"})
		}
	}
	return all
}

// targetKinds reads the targets of a status; full tells that some did not fit.
func targetKinds(data []byte, count int, full bool) string {
	var kinds []string
	for at := 0; count > 0 && at+dmTarget <= len(data); count-- {
		spec := data[at:]
		name, _, _ := bytes.Cut(spec[24:dmTarget], []byte{0})
		if kind := "dm-" + clean(string(name)); len(name) > 0 && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		next := int(binary.NativeEndian.Uint32(spec[20:])) // from the first one on
		if next <= at {
			break
		}
		at = next
	}
	if full {
		kinds = append(kinds, "...")
	}
	return strings.Join(kinds, ", ")
}
