package bpf

import (
	"fmt"
	"time"

	"iocause/internal/host"
)

// Layers attaches the programs that follow bios through stacked devices
// (layers.bpf.h) when there is such a device for the first time, so that nobody
// pays for them on a machine without one. It is used by one goroutine.
type Layers struct {
	probe    *Probe
	host     *host.Host
	programs []string
	asked    time.Time
	follows  bool
}

// layersEvery is how long a device may lie on another one unnoticed.
const layersEvery = 5 * time.Second

// LayerPrograms are the programs at the tracepoints that a layer's bios pass.
// block_bio_remap has its three arguments since e8a676d61c07 (5.11); before that
// nothing is followed.
func LayerPrograms() []Program {
	return []Program{
		{Name: "on_remap", Tracepoint: "block_bio_remap", Arguments: 3, Optional: true},
		{Name: "on_split", Tracepoint: "block_split", Arguments: 2, Optional: true},
		{Name: "on_bio_done", Tracepoint: "block_bio_complete", Arguments: 2, Optional: true},
	}
}

// FollowLayers detaches the programs of these names, of a probe that has just been
// opened, until a device of the host lies on another.
func FollowLayers(p *Probe, h *host.Host, programs ...string) (*Layers, error) {
	l := &Layers{probe: p, host: h, programs: programs}
	for _, name := range programs {
		if err := p.Detach(name); err != nil {
			return nil, err
		}
	}
	return l, l.Look()
}

// Look looks for such a device, where it is time to.
func (l *Layers) Look() error {
	now := l.host.Now()
	if l.follows || now.Sub(l.asked) < layersEvery || !l.probe.has("on_remap") {
		return nil
	}
	l.asked = now
	if !l.host.Stacked() {
		return nil
	}
	for _, name := range l.programs {
		if err := l.probe.Attach(name); err != nil {
			return fmt.Errorf("following I/O through layers: %w", err)
		}
	}
	l.follows = true
	return l.probe.SetVariable("follow", uint32(1))
}

// has tells whether a program was loaded.
func (p *Probe) has(program string) bool { return p.collection.Programs[program] != nil }
