package trace

import (
	"encoding/binary"
	"os"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// enum kind and enum owner of the program.
const (
	kindIO = iota + 1
	kindPath
)

const (
	ownerUnknown = iota
	ownerFile
	ownerSwap
	ownerDevice
)

// endings are the addresses of the functions that direct I/O ends in, by which
// the program tells what it was for. They stay 0 where the kernel hides them
// (kptr_restrict) or has them twice; the files of direct I/O are then not
// known.
func endings(h *host.Host) map[string]uint64 {
	at := map[string]uint64{"iomap_end": 0, "chain_end": 0, "device_end": 0, "device_async_end": 0, "wait_end": 0}
	symbols := map[string]string{
		"iomap_dio_bio_end_io": "iomap_end", "bio_chain_endio": "chain_end", "blkdev_bio_end_io": "device_end",
		"blkdev_bio_end_io_async": "device_async_end", "blkdev_bio_end_io_simple": "device_async_end", // 5.16; before 5.18
		"submit_bio_wait_endio": "wait_end", "bio_wait_end_io": "wait_end",
	}
	f, err := os.Open(h.Proc("kallsyms"))
	if err != nil {
		return at
	}
	defer f.Close()
	for symbol, err := range procfile.Symbols(f) {
		constant, ok := symbols[string(symbol.Name)]
		second := string(symbol.Name) == "bio_wait_end_io" || string(symbol.Name) == "blkdev_bio_end_io_simple"
		if err != nil || !ok || second && at[constant] != 0 {
			continue
		}
		at[constant] = symbol.Start
	}
	return at
}

// decode reads struct event. It must be as long as that.
func (p *Probe) decode(raw []byte) {
	le := binary.LittleEndian
	io := &p.io
	start, issue, end := le.Uint64(raw[8:]), le.Uint64(raw[16:]), le.Uint64(raw[24:])
	io.Start = time.Duration(start) - p.epoch
	io.Queue, io.Device = -1, time.Duration(end-start)
	if issue != 0 {
		issue = min(issue, end)
		io.Queue, io.Device = time.Duration(issue-start), time.Duration(end-issue)
	}
	io.Disk = p.names.disk(le.Uint32(raw[4:]))
	io.Sector = le.Uint64(raw[32:])
	flags := le.Uint32(raw[72:])
	io.Cgroup = p.names.cgroup(cgroupKey{le.Uint64(raw[40:]), flags&flagTaskCgroup != 0})
	sdev := le.Uint32(raw[56:])
	io.PID, io.TID = int(le.Uint32(raw[60:])), int(le.Uint32(raw[64:]))
	io.Bytes = uint64(le.Uint32(raw[68:]))
	io.Flags = sample.IOFlags(flags &^ flagTaskCgroup)
	io.Status = raw[76]
	io.Requeues = le.Uint16(raw[78:])
	io.Comm = p.names.comm(text(raw[80:96]))
	switch raw[77] {
	case ownerFile:
		io.File = p.names.files[fileKey{le.Uint64(raw[48:]), sdev}]
	case ownerDevice:
		io.File = p.names.device(sdev)
	case ownerSwap:
		io.Flags |= sample.IOSwap
		io.File = ""
	default:
		io.File = ""
	}
}

type fileKey struct {
	ino uint64
	dev uint32
}

// cgroupKey is the number of a cgroup, in the tree of the I/O controller or in
// that of the memory controller.
type cgroupKey struct {
	id     uint64
	memory bool
}

// flagTaskCgroup is FLAG_TASK_CGROUP of types.bpf.h.
const flagTaskCgroup = 1 << 17

// mostNames is how many names of a kind are remembered.
const mostNames = 1 << 17

// names keeps one copy of every name: records hold the same few again and
// again.
type names struct {
	lookup  *host.Lookup
	paths   *host.FileNames
	files   map[fileKey]string
	disks   map[uint32]string
	devices map[uint32]string
	comms   map[string]string
	cgroups map[cgroupKey]string
}

func newNames(h *host.Host) *names {
	l := host.NewLookup(h)
	return &names{lookup: l, paths: host.NewFileNames(h, l), files: map[fileKey]string{}, disks: map[uint32]string{},
		devices: map[uint32]string{}, comms: map[string]string{}, cgroups: map[cgroupKey]string{}}
}

func (n *names) disk(dev uint32) string {
	s, ok := n.disks[dev]
	if !ok {
		s = n.lookup.Disk(dev)
		n.disks[dev] = s
	}
	return s
}

func (n *names) device(dev uint32) string {
	s, ok := n.devices[dev]
	if !ok {
		s = "/dev/" + n.lookup.Device(dev)
		n.devices[dev] = s
	}
	return s
}

func (n *names) cgroup(k cgroupKey) string {
	s, ok := n.cgroups[k]
	if !ok {
		if k.memory {
			s = n.lookup.MemoryCgroup(k.id)
		} else {
			s = n.lookup.IOCgroup(k.id)
		}
		if s == "" {
			return "" // perhaps later
		}
		n.cgroups[k] = s
	}
	return s
}

func (n *names) comm(b []byte) string {
	s, ok := n.comms[string(b)]
	if !ok {
		if len(n.comms) >= mostNames {
			clear(n.comms)
		}
		s = string(b)
		n.comms[s] = s
	}
	return s
}

// learn takes the path of a file from struct path_event.
func (n *names) learn(raw []byte) {
	le := binary.LittleEndian
	const head = 48 // before the names
	if len(raw) < head {
		return
	}
	dev, length := le.Uint32(raw[4:]), int(le.Uint32(raw[16:]))
	f := n.paths.Of(host.Inode{Dev: dev, Links: le.Uint32(raw[20:]), Partial: le.Uint32(raw[24:]) != 0, Mode: le.Uint32(raw[28:]),
		Rdev: uint32(le.Uint64(raw[40:])), Names: raw[head : head+min(length, len(raw)-head)]})
	n.files[fileKey{le.Uint64(raw[8:]), dev}] = f.Path
}
