package blockio

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// near is what the programs find without a call, in memory that is shared with them:
// what most requests need. What had no place there is in hash tables.
type near struct {
	devices, owners *ebpf.Memory
	placed          []uint32 // device numbers, by their row
	ring            [len(blockioNearDevice{}.Bins)]blockioNearBin
	rests           rests[blockioOwnerKey]
}

func (n *near) open(p *bpf.Probe) (err error) {
	if n.devices, err = p.Map("near_devices").Memory(); err == nil {
		n.owners, err = p.Map("near_owners").Memory()
	}
	if err != nil {
		return fmt.Errorf("mapping what is counted of block I/O: %w", err)
	}
	return nil
}

// empty frees a row that begins with the number of what it holds, when nothing is
// added to it any more: the number last, or a program would add to what is emptied.
func empty[V any](m *ebpf.Memory, at int64) error {
	var zero V
	b := bytesOf(&zero)
	_, err := m.WriteAt(b[8:], at+8)
	if err == nil {
		_, err = m.WriteAt(b[:8], at)
	}
	if err != nil {
		return fmt.Errorf("emptying what is counted of block I/O: %w", err)
	}
	return nil
}

func bytesOf[V any](v *V) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// nearDevices are the devices that have rows, by row; 0 where one is just given.
func (p *Probe) nearDevices() ([]uint32, error) {
	taken, err := p.probe.Counter("taken_devices")
	if err != nil {
		return nil, err
	}
	n := &p.near
	if rows := min(int(taken), int(p.probe.Map("near_devices").MaxEntries())); len(n.placed) < rows {
		n.placed = make([]uint32, rows)
	}
	for _, dev := range n.placed {
		if dev != 0 {
			continue
		}
		err = bpf.Each(p.probe.Map("disks"), func(_ uint32, set blockioDiskSet) {
			for way, dev := range set.Ids {
				if row := int(set.Rows[way].Near); row > 0 && row <= len(n.placed) {
					n.placed[row-1] = uint32(dev)
				}
			}
		})
		break
	}
	return n.placed, err
}

// nearBins calls take for each bin, and empties those for which it returns true.
func (p *Probe) nearBins(take func(blockioBinKey, blockioBin) bool) error {
	devices, err := p.nearDevices()
	if err != nil {
		return err
	}
	for row, dev := range devices {
		at := int64(row)*int64(unsafe.Sizeof(blockioNearDevice{})) + int64(unsafe.Offsetof(blockioNearDevice{}.Bins))
		if _, err := p.near.devices.ReadAt(bytesOf(&p.near.ring), at); err != nil {
			return err
		}
		for i := range p.near.ring {
			b := &p.near.ring[i]
			if dev == 0 || b.Id == 0 || !take(blockioBinKey{Dev: dev, Bin: b.Id}, b.Bin) {
				continue
			}
			if err := empty[blockioNearBin](p.near.devices, at+int64(i)*int64(unsafe.Sizeof(*b))); err != nil {
				return err
			}
		}
	}
	return nil
}

// nearOwners is sweep of the owners' rows.
func (p *Probe) nearOwners(phase sample.Phase, into sample.Sink, ended func(uint32) bool, tell func(*blockioOwnerKey, *blockioIo, bpf.Total)) error {
	var failed error
	now := rests[blockioOwnerKey]{}
	err := bpf.Each(p.probe.Map("near_owners"), func(place uint32, o blockioNearOwner) {
		if o.Id == 0 || o.Key.Dev == 0 { // free, or just taken
			return
		}
		if ended(o.Key.Tgid) && p.near.rests.rested(o.Key, operations(&o.Io), now) {
			tell(&o.Key, &o.Io, into.PutLast)
			failed = errors.Join(failed, empty[blockioNearOwner](p.near.owners, int64(place)*int64(unsafe.Sizeof(o))))
			return
		}
		if phase.Closes() {
			tell(&o.Key, &o.Io, into.PutTotal)
		}
	})
	p.near.rests = now
	return errors.Join(err, failed)
}
