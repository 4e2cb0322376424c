package blockio

import (
	"errors"
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

const (
	fromBioDone = "tp:block_bio_complete"
	fromRemap   = "tp:block_bio_remap"
)

// emitLayers emits what each layer did for the device that a file system lies on,
// and the bios below layers of which the origin is not known.
func (p *Probe) emitLayers(into sample.Sink) error {
	err := bpf.Each(p.probe.Map("layers"), func(_ uint32, set blockioLayerSet) {
		for i := range set.Rows {
			if l := &set.Rows[i]; l.Ops > 0 {
				p.emitLayer(l, into)
			}
		}
	})
	err = errors.Join(err, bpf.Each(p.probe.Map("no_origin"), func(k blockioHistKey, b blockioBios) {
		into.PutTotal(sample.BlockNoOrigin, sample.Entity{Device: p.lookup.Disk(k.Dev), Class: opName(k.Op)}, float64(b.Ops), fromRemap)
	}))
	if err != nil {
		return fmt.Errorf("reading block I/O by layer: %w", err)
	}
	return nil
}

func (p *Probe) emitLayer(l *blockioLayer, into sample.Sink) {
	class := sample.LayerClass{Op: opName(l.Op), Top: p.lookup.Disk(l.Top)}
	e := sample.Entity{Device: p.lookup.Disk(l.Dev), Class: class.String()}
	into.PutTotal(sample.LayerOps, e, float64(l.Ops), fromBioDone)
	into.PutTotal(sample.LayerBytes, e, float64(l.Bytes), fromBioDone)
	into.PutTotal(sample.LayerTime, e, float64(l.OwnNs+l.BelowNs)/1e9, fromBioDone)
	into.PutTotal(sample.LayerOwnTime, e, float64(l.OwnNs)/1e9, fromBioDone)
	into.PutTotal(sample.LayerBeside, e, float64(l.BesideNs)/1e9, fromBioDone)
}
