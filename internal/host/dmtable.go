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

// targets are the kinds of targets that make up a device of device-mapper, such as
// "dm-linear" or "dm-linear, dm-striped"; "" where they cannot be asked for. The
// status is asked for and not the table, which holds the keys of dm-crypt.
func (h *Host) targets(dev DevNumber) string {
	if !h.IsLive {
		return ""
	}
	f, err := os.OpenFile(filepath.Join(h.Root, "/dev/mapper/control"), os.O_RDWR, 0)
	if err != nil {
		return "" // not root, or a container without it
	}
	defer f.Close()
	minor := dev.Minor()
	c := dmIoctl{
		Version: [3]uint32{4, 0, 0}, DataStart: dmStart, Flags: dmNoFlush,
		Dev: uint64(minor&0xff | dev.Major()<<8 | minor&^0xff<<12),
	}
	c.DataSize = uint32(unsafe.Sizeof(c))
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), dmTableStatus, uintptr(unsafe.Pointer(&c))); errno != 0 {
		return ""
	}
	data := unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c))
	if c.DataStart > c.DataSize || int(c.DataSize) > len(data) {
		return ""
	}
	return targetKinds(data[c.DataStart:c.DataSize], int(c.TargetCount), c.Flags&dmFull != 0)
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
