package health

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Asker sends commands that only read to a device, by its file in /dev. It is a value
// that is handed in: the live machine's ioctls, or a device that this machine lacks.
type Asker interface {
	// NVMe sends an admin command (NVM Express, Base Specification). What the
	// controller answers in the completion is the result.
	NVMe(file string, c NVMe, into []byte) (result uint32, err error)
	// ATA sends an ATA command (ATA/ATAPI Command Set) by SCSI's pass-through.
	ATA(file string, c ATA, into []byte) (ATAResult, error)
}

// NVMe is an admin command that reads.
type NVMe struct {
	Opcode    uint8
	Namespace uint32
	CDW10     uint32
}

// ATA is a command; one with data reads one sector.
type ATA struct {
	Command, Feature, LBAMid, LBAHigh uint8
	Data                              bool
}

// ATAResult are the registers after a command.
type ATAResult struct{ Count, LBAMid, LBAHigh uint8 }

// ioctls is the live machine.
type ioctls struct{}

// passthru is struct nvme_passthru_cmd of include/uapi/linux/nvme_ioctl.h.
type passthru struct {
	opcode, flags        uint8
	_                    uint16
	namespace            uint32
	cdw2, cdw3           uint32
	metadata             uint64
	address              uint64
	metadataLen, dataLen uint32
	cdw10                uint32
	cdw11to15            [5]uint32
	timeout              uint32 // milliseconds; 0: the driver's
	result               uint32
}

const (
	nvmeAdmin = 0xc0484e41 // NVME_IOCTL_ADMIN_CMD
	sgIO      = 0x2285     // SG_IO
)

// NVMe implements Asker. The driver's own time limit holds (a minute): a shorter one
// of ours would have it reset a controller that is only slow.
func (ioctls) NVMe(file string, c NVMe, into []byte) (uint32, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	p := &passthru{opcode: c.Opcode, namespace: c.Namespace, cdw10: c.CDW10, dataLen: uint32(len(into))}
	var pin runtime.Pinner
	defer pin.Unpin()
	if len(into) > 0 {
		pin.Pin(&into[0])
		p.address = uint64(uintptr(unsafe.Pointer(&into[0])))
	}
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), nvmeAdmin, uintptr(unsafe.Pointer(p)))
	switch {
	case errno != 0:
		return 0, errno
	case status != 0:
		return 0, fmt.Errorf("the controller refuses command %#x with status %#x", c.Opcode, status)
	}
	return p.result, nil
}

// sgHeader is struct sg_io_hdr of include/scsi/sg.h on 64 bits.
type sgHeader struct {
	interfaceID, direction           int32
	commandLen, maxSense             uint8
	iovecs                           uint16
	dataLen                          uint32
	data, command, sense             uintptr
	timeout                          uint32 // milliseconds
	flags                            uint32
	packID                           int32
	_                                int32
	user                             uintptr
	status, masked, message, senseOf uint8
	host, driver                     uint16
	residue                          int32
	duration, info                   uint32
}

// ATA implements Asker with ATA PASS-THROUGH (16) of SCSI/ATA Translation.
func (ioctls) ATA(file string, c ATA, into []byte) (ATAResult, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ATAResult{}, err
	}
	defer unix.Close(fd)
	const none, fromDevice = -1, -3
	command := [16]byte{0: 0x85, 1: 3 << 1, 2: 0x20, 4: c.Feature, 10: c.LBAMid, 12: c.LBAHigh, 14: c.Command} // no data, CK_COND
	var sense [32]byte
	h := &sgHeader{interfaceID: 'S', direction: none, commandLen: 16, maxSense: uint8(len(sense)), timeout: 60000}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&command)
	pin.Pin(&sense)
	h.command, h.sense = uintptr(unsafe.Pointer(&command)), uintptr(unsafe.Pointer(&sense))
	if c.Data {
		command[1], command[2], command[6] = 4<<1, 0x2e, 1 // PIO in; CK_COND, from the device, in blocks, length in the count
		pin.Pin(&into[0])
		h.direction, h.dataLen, h.data = fromDevice, uint32(len(into)), uintptr(unsafe.Pointer(&into[0]))
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), sgIO, uintptr(unsafe.Pointer(h))); errno != 0 {
		return ATAResult{}, errno
	}
	if h.host != 0 {
		return ATAResult{}, fmt.Errorf("the controller failed command %#x with host status %#x", c.Command, h.host)
	}
	return registers(c.Command, sense[:min(int(h.senseOf), len(sense))])
}

// registers finds what the command left in the device's registers, in either form
// of sense data.
func registers(command uint8, sense []byte) (ATAResult, error) {
	const failed, fault = 0x01, 0x20 // ERR, DF
	var status uint8
	var r ATAResult
	switch {
	case len(sense) >= 22 && sense[0]&0x7f == 0x72 && sense[8] == 0x09:
		r, status = ATAResult{Count: sense[13], LBAMid: sense[17], LBAHigh: sense[19]}, sense[21]
	case len(sense) >= 12 && sense[0]&0x7f == 0x70:
		r, status = ATAResult{Count: sense[6], LBAMid: sense[10], LBAHigh: sense[11]}, sense[4]
	default:
		return r, fmt.Errorf("command %#x: the answer has no registers", command)
	}
	if status&(failed|fault) != 0 {
		return r, fmt.Errorf("the device refuses command %#x (status %#x)", command, status)
	}
	return r, nil
}
