package bpf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"iocause/internal/host"
)

const (
	// whichForLayers stands in programs for one of the two numbers behind it, or for
	// itself, that layertables.bpf.h tells.
	whichForLayers = 0x6c617972
	withoutLayers  = 0
	onlyForLayers  = 1
	// forLayers is what the program is called that takes the place of another when some
	// device lies on another, behind the name of that.
	forLayers = "_layers"
)

// parted makes two of each program of which the verifier would look most at what is for
// layers, where programs can be loaded late, and returns all programs. Of the second one
// no more than the name is needed until it is loaded, unless it becomes two itself.
func (f *fit) parted(spec *ebpf.CollectionSpec, programs []Program, whole bool) (all []Program) {
	for _, p := range programs {
		all = append(all, p)
		first := spec.Programs[p.Name]
		if !f.parts || first == nil || p.After != "" || !slices.ContainsFunc(first.Instructions, isForLayers) {
			continue
		}
		other := first
		if whole {
			other = first.Copy()
		}
		replace(first, isForLayers, withoutLayers)
		replace(other, isForLayers, onlyForLayers) // of which first has none now
		p.Name += forLayers
		p.Late = true
		spec.Programs[p.Name] = other
		all = append(all, p)
	}
	return all
}

func isForLayers(ins asm.Instruction) bool { return isNumber(ins, whichForLayers) }

// OnBioDone is told that a bio is complete.
const OnBioDone = "on_bio_done"

// Late attaches programs, and sets a variable of theirs, when a machine is seen for
// the first time to need them, so that nobody pays for them on another. It is used by
// one goroutine.
type Late struct {
	probe    *Probe
	clock    func() time.Time
	needed   func() bool
	variable string // "" for none
	programs []string
	every    time.Duration // how long what needs them may be there unnoticed
	asked    time.Time
	on       bool
	tell     func() error // what the programs have to know, each time it is looked; nil for nothing
}

const (
	lateEvery   = 5 * time.Second // for a device
	missedEvery = time.Second     // for what the kernel has passed over, which is lost meanwhile
)

// LayerPrograms are the programs at the tracepoints that a layer's bios pass.
// block_bio_remap has its three arguments since e8a676d61c07 (5.11); before that
// nothing is followed.
func LayerPrograms() []Program {
	return []Program{
		{Name: "on_remap", Tracepoint: "block_bio_remap", Arguments: 3, Optional: true, Late: true},
		{Name: "on_split", Tracepoint: "block_split", Arguments: 2, Optional: true, Late: true},
		{Name: OnBioDone, Tracepoint: "block_bio_complete", Arguments: 2, Optional: true, Late: true},
		{Name: OnBioDone + AndMissed, Tracepoint: "block_bio_complete", Arguments: 2, Optional: true, Late: true, After: OnBioDone},
	}
}

// FollowLayers detaches the programs of these names, which follow bios through stacked
// devices (layers.bpf.h), until a device of the host lies on another. Then those for
// layers take the place of others, too.
func FollowLayers(p *Probe, h *host.Host, programs ...string) (*Late, error) {
	needed := func() bool { return p.has("on_remap") && h.Stacked() }
	for name := range p.hooks {
		if strings.HasSuffix(name, forLayers) {
			programs = append(programs, name)
		}
	}
	l, err := AttachLate(p, h, needed, "follow", programs...)
	if err != nil {
		return nil, err
	}
	l.tell = func() error { return errors.Join(putLiesOn(p, h), putStripes(p, h), putRequests(p, h)) }
	if l.on {
		err = l.tell()
	}
	return l, err
}

// putLiesOn tells the programs which disks lie on which, and forgets what no longer does:
// numbers of devices are given again. Of more than the map holds, the rest is not known.
func putLiesOn(p *Probe, h *host.Host) error {
	devices, err := h.Devices()
	if err != nil {
		return err
	}
	m, all := p.Map("lies_on"), map[uint64]bool{}
	for _, on := range h.LiesOn(devices) {
		if len(all) < int(m.MaxEntries()) {
			all[uint64(on.Above)<<32|uint64(on.Below)] = true
		}
	}
	var over []uint64
	err = Each(m, func(on uint64, _ uint32) {
		if !all[on] {
			over = append(over, on)
		}
		delete(all, on)
	})
	for _, on := range over {
		err = errors.Join(err, m.Delete(on))
	}
	for on := range all {
		err = errors.Join(err, m.Put(on, uint32(1)))
	}
	if err != nil {
		return fmt.Errorf("telling which disks lie on others: %w", err)
	}
	return nil
}

// putStripes tells the programs how arrays with parity lay out their stripes.
func putStripes(p *Probe, h *host.Host) error {
	for dev, s := range h.Stripes() {
		row := struct {
			Offset      uint64
			Chunk, Data uint32
		}{s.Offset, s.Chunk, s.Data}
		if err := p.Map("stripes").Put(uint32(dev), row); err != nil {
			return fmt.Errorf("telling the stripes of arrays: %w", err)
		}
	}
	return nil
}

// putRequests tells the programs which layers have requests of their own: loop devices,
// and volumes of device-mapper.
func putRequests(p *Probe, h *host.Host) error {
	loops := uint32(0)
	if h.AnyDirectLoop() {
		loops = 1
	}
	return errors.Join(p.SetVariable("any_loops", loops), p.SetVariable("dm_requests", h.RequestsOfDM()))
}

// AttachLate detaches the programs of these names, of a probe that has just been
// opened, until they are needed.
func AttachLate(p *Probe, h *host.Host, needed func() bool, variable string, programs ...string) (*Late, error) {
	l := &Late{probe: p, clock: h.Now, needed: needed, variable: variable, programs: programs, every: lateEvery}
	for _, name := range programs {
		if err := p.Detach(name); err != nil {
			return nil, err
		}
	}
	return l, l.Look()
}

// On tells whether they are attached.
func (l *Late) On() bool { return l.on }

// Look looks whether they are, where it is time to.
func (l *Late) Look() error {
	now := l.clock()
	if l.on && l.tell == nil || now.Sub(l.asked) < l.every {
		return nil
	}
	l.asked = now
	if l.on {
		return l.tell()
	}
	if !l.needed() {
		return nil
	}
	for _, name := range l.programs {
		if err := l.probe.Attach(name); err != nil {
			return fmt.Errorf("attaching what this machine's devices need: %w", err)
		}
	}
	l.on = true
	if l.tell != nil {
		if err := l.tell(); err != nil {
			return err
		}
	}
	if l.variable != "" {
		if err := l.probe.SetVariable(l.variable, uint32(1)); err != nil {
			return err
		}
	}
	for _, name := range l.programs {
		if before, ok := strings.CutSuffix(name, forLayers); ok { // it leaves all events to that one since
			if err := errors.Join(l.probe.Detach(before), l.probe.putBehind(before)); err != nil {
				return err
			}
		}
	}
	return nil
}
