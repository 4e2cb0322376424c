package blockio

import (
	"errors"
	"fmt"
	"unsafe"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

const (
	fromBioDone = "tp:block_bio_complete"
	fromRemap   = "tp:block_bio_remap"

	mostLayers = 16 // on top of each other
)

// emitLayers emits what each layer did for the device that a file system lies on,
// and the bios below layers of which the origin is not known.
func (p *Probe) emitLayers(into sample.Sink) error {
	var flying map[layer]parts
	var err error
	if p.layers.On() {
		flying, err = p.inFlight()
	}
	err = errors.Join(err, bpf.Each(p.probe.Map("layers"), func(_ uint32, set blockioLayerSet) {
		for i := range set.Rows {
			if l := &set.Rows[i]; l.Ops > 0 {
				p.emitLayer(l, flying[layer{l.Top, l.Dev, l.Op}], into)
			}
		}
	}))
	err = errors.Join(err, bpf.Each(p.probe.Map("no_origin"), func(k blockioHistKey, b blockioBios) {
		into.PutTotal(sample.BlockNoOrigin, sample.Entity{Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}, float64(b.Ops), fromRemap)
	}))
	if err != nil {
		return fmt.Errorf("reading block I/O by layer: %w", err)
	}
	return nil
}

func (p *Probe) emitLayer(l *blockioLayer, flying parts, into sample.Sink) {
	class := sample.LayerClass{Op: opName(l.Op), Top: p.lookup.Disk(l.Top)}
	e := sample.Entity{Device: p.lookup.Disk(l.Dev), Class: class.String()}
	// parts that overlap one that is not complete are beside each other for less time in the end
	k := layer{l.Top, l.Dev, l.Op}
	told := p.told[k]
	told.below = max(told.below, l.BelowNs+flying.below)
	told.beside = max(told.beside, l.BesideNs+flying.beside)
	p.told[k] = told
	into.PutTotal(sample.LayerOps, e, float64(l.Ops), fromBioDone)
	into.PutTotal(sample.LayerBytes, e, float64(l.Bytes), fromBioDone)
	into.PutTotal(sample.LayerTime, e, float64(l.OwnNs+told.below)/1e9, fromBioDone)
	into.PutTotal(sample.LayerOwnTime, e, float64(l.OwnNs)/1e9, fromBioDone)
	into.PutTotal(sample.LayerBeside, e, float64(told.beside)/1e9, fromBioDone)
}

// layer is a device and an operation, in the stack of a first layer.
type layer struct{ top, dev, op uint32 }

// parts are those of bios of a layer in layers below: ns in which there were any, and in
// which there were more than one, for each more.
type parts struct{ below, beside uint64 }

// inFlight are the parts of bios in flight that are complete: layers below have counted
// them, and the first layer has not, which counts a bio when all of it is complete.
func (p *Probe) inFlight() (map[layer]parts, error) {
	type bio struct {
		layer
		above, below, parts uint64
	}
	var set blockioLayerBioSet
	bios := map[uint64]bio{}
	for i := range p.probe.Map("layer_bios").MaxEntries() {
		at := int64(i) * int64(unsafe.Sizeof(set))
		if _, err := p.bioSets.ReadAt(bytesOf(&set.Ids), at); err != nil {
			return nil, err
		}
		if set.Ids == [len(set.Ids)]uint64{} {
			continue
		}
		if _, err := p.bioSets.ReadAt(bytesOf(&set), at); err != nil {
			return nil, err
		}
		for way, id := range set.Ids {
			if b := &set.Rows[way]; id != 0 && b.Start != 0 {
				bios[id] = bio{layer{b.Top, b.Dev, b.Op}, b.Above, b.BelowNs, b.PartsNs}
			}
		}
	}
	all := map[layer]parts{}
	for _, b := range bios {
		first, there := b, true
		for n := 0; there && first.above != 0 && n < mostLayers; n++ {
			first, there = bios[first.above]
		}
		if b.parts == 0 || !there || first.above != 0 {
			continue
		}
		sum := all[first.layer]
		sum.beside += b.parts
		if b.above == 0 {
			sum.below += b.below
			sum.beside -= min(b.below, b.parts)
		}
		all[first.layer] = sum
	}
	return all, nil
}
