// Package burst keeps what arrives at each disk in every millisecond, and
// whose it is. docs/trace.md says how it works.
package burst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/host"
)

const (
	binsOfDisk = 1024 // BINS of the program
	spareDisks = 4    // for disks that come later
	// settle is how long after its end a bin is read: programs that began in
	// it are done then.
	settle = 10 * time.Millisecond
)

// Bin is one millisecond of one disk.
type Bin struct {
	Disk   string
	MS     int64  // since the machine started
	Ops    uint64 // requests that were made, before the scheduler merges two
	Bytes  uint64
	Done   uint64        // requests completed in it, whenever they were made
	Took   time.Duration // those, together
	Owners []Owner       // nil for a bin without requests
}

// Owner is who made requests. Requests of those beyond the eighth in a
// millisecond have none.
type Owner struct {
	PID        int
	Comm       string
	Cgroup     string // "" when not known
	Ops, Bytes uint64
}

// Losses are I/Os that are in no bin.
type Losses struct {
	UnknownDisk uint64 // on disks that came later
	LateReader  uint64 // this process did not get to run for a second
}

// Probe is the attached probe. It is used by one goroutine.
type Probe struct {
	host    *host.Host
	probe   *bpf.Probe
	lookup  *host.Lookup
	memory  *ebpf.Memory
	size    int      // of a bin
	room    int      // for disks
	disks   []string // by place
	next    int64    // the first millisecond that was not read
	raw     []byte
	empty   []byte
	unknown uint64
	comms   map[[16]byte]string
}

// Open loads the probe and lets it count. It needs root or CAP_BPF and
// CAP_PERFMON, and a kernel with the tracepoint block_io_start (6.5)
// or, before that, block_getrq.
func Open(h *host.Host) (p *Probe, err error) {
	spec, err := loadBurst()
	if err != nil {
		return nil, fmt.Errorf("reading the burst object: %w", err)
	}
	devices, err := h.Devices()
	if err != nil {
		return nil, fmt.Errorf("opening the burst probe: %w", err)
	}
	p = &Probe{host: h, lookup: host.NewLookup(h), size: binary.Size(burstBin{}), comms: map[[16]byte]string{}}
	p.room = used(devices) + spareDisks
	spec.Maps["bins"].MaxEntries = uint32(p.room * binsOfDisk)
	p.probe, err = bpf.OpenWays(spec, []bpf.Program{
		{Name: "on_backmerge", Tracepoint: "block_bio_backmerge", Arguments: 1},
		{Name: "on_backmerge_old", Tracepoint: "block_bio_backmerge", Arguments: 3},
		{Name: "on_frontmerge", Tracepoint: "block_bio_frontmerge", Arguments: 1},
		{Name: "on_frontmerge_old", Tracepoint: "block_bio_frontmerge", Arguments: 3},
		{Name: "on_complete", Tracepoint: "block_rq_complete"},
	}, []bpf.Capability{bpf.Requests(nil)}, map[string]any{"self": uint32(h.Self)})
	if err != nil {
		return nil, fmt.Errorf("opening the burst probe: %w", err)
	}
	if p.memory, err = p.probe.Map("bins").Memory(); err != nil {
		return nil, errors.Join(fmt.Errorf("mapping the bins: %w", err), p.probe.Close())
	}
	p.raw, p.empty = make([]byte, p.size), make([]byte, p.size)
	if err = p.place(devices); err == nil {
		p.next, err = milliseconds()
	}
	if err == nil {
		err = p.probe.SetVariable("enabled", uint32(1))
	}
	if err != nil {
		return nil, errors.Join(err, p.probe.Close())
	}
	return p, nil
}

// used is how many disks have a size.
func used(devices *host.Devices) (n int) {
	for _, d := range devices.Disks() {
		if d.Bytes > 0 {
			n++
		}
	}
	return n
}

// place gives the disks that have a size, and had none yet, their bins.
func (p *Probe) place(devices *host.Devices) error {
	for _, d := range devices.Disks() {
		if d.Bytes == 0 || slices.Contains(p.disks, d.Name) || len(p.disks) == p.room {
			continue
		}
		if err := p.probe.Map("disks").Put(uint32(d.Dev), uint32(len(p.disks))); err != nil {
			return fmt.Errorf("adding disk %s: %w", d.Name, err)
		}
		p.disks = append(p.disks, d.Name)
	}
	return nil
}

// milliseconds is now on the clock of Bin.MS.
func milliseconds() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("reading the monotonic clock: %w", err)
	}
	return ts.Nano() / int64(time.Millisecond), nil
}

// Disks are those that are watched.
func (p *Probe) Disks() []string { return p.disks }

// Next is the first millisecond that was not read yet.
func (p *Probe) Next() int64 { return p.next }

// Each reads and empties the bins that are over. It calls f for those that
// are not empty, by disk and in order, and returns the first millisecond that
// is still to come. It must be called several times a second. The Bin and its
// Owners are valid during the call.
func (p *Probe) Each(f func(*Bin)) (next int64, err error) {
	now, err := milliseconds()
	if err != nil {
		return p.next, err
	}
	next = max(p.next, now-settle.Milliseconds())
	from := max(p.next, next-binsOfDisk)
	for place, disk := range p.disks {
		for ms := from; ms < next; ms++ {
			if err := p.bin(place, disk, ms, f); err != nil {
				return p.next, err
			}
		}
	}
	p.next = next
	return next, p.newDisks()
}

// bin reads and empties one.
func (p *Probe) bin(place int, disk string, ms int64, f func(*Bin)) error {
	at := int64(place*binsOfDisk+int(ms%binsOfDisk)) * int64(p.size)
	if _, err := p.memory.ReadAt(p.raw[:8], at); err != nil {
		return fmt.Errorf("reading the bins: %w", err)
	}
	holds := int64(binary.LittleEndian.Uint64(p.raw)) - 1
	if holds < 0 {
		return nil
	}
	if _, err := p.memory.ReadAt(p.raw, at); err != nil {
		return fmt.Errorf("reading the bins: %w", err)
	}
	if holds > ms {
		return nil // not over yet
	}
	if _, err := p.memory.WriteAt(p.empty, at); err != nil {
		return fmt.Errorf("emptying the bins: %w", err)
	}
	if holds == ms {
		f(p.decode(disk, ms))
	}
	return nil // an older one: nobody read it in time, and it is counted as such
}

func (p *Probe) decode(disk string, ms int64) *Bin {
	le := binary.LittleEndian
	const head, owner = 32, 40
	b := &Bin{Disk: disk, MS: ms, Bytes: le.Uint64(p.raw[8:]), Ops: uint64(le.Uint32(p.raw[16:])),
		Done: uint64(le.Uint32(p.raw[20:])), Took: time.Duration(le.Uint64(p.raw[24:]))}
	for at := head; at+owner <= len(p.raw); at += owner {
		o := p.raw[at : at+owner]
		who := le.Uint32(o[16:])
		if who == 0 {
			break
		}
		b.Owners = append(b.Owners, Owner{PID: int(who - 1), Comm: p.comm([16]byte(o[24:40])), Cgroup: p.lookup.IOCgroup(le.Uint64(o)),
			Ops: uint64(le.Uint32(o[20:])), Bytes: le.Uint64(o[8:])})
	}
	return b
}

// comm keeps one copy of every name.
func (p *Probe) comm(raw [16]byte) string {
	s, ok := p.comms[raw]
	if !ok {
		name, _, _ := bytes.Cut(raw[:], []byte{0})
		s = string(name)
		if len(p.comms) >= 1<<16 {
			clear(p.comms)
		}
		p.comms[raw] = s
	}
	return s
}

// newDisks looks for disks when I/O on an unknown one was counted.
func (p *Probe) newDisks() error {
	n, err := p.probe.Counter("unknown_disk")
	if err != nil || n == p.unknown {
		return err
	}
	p.unknown = n
	devices, err := p.host.Devices()
	if err != nil {
		return err
	}
	return p.place(devices)
}

// Losses reads the counters.
func (p *Probe) Losses() (l Losses, err error) {
	if l.UnknownDisk, err = p.probe.Counter("unknown_disk"); err != nil {
		return l, err
	}
	l.LateReader, err = p.probe.Counter("late_reader")
	return l, err
}

// Close detaches the probe.
func (p *Probe) Close() error { return p.probe.Close() }
