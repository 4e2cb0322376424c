package reclaim

import (
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

const (
	fromReturn = "tp:mm_filemap_add_to_page_cache"
	fromEvict  = "tp:mm_filemap_delete_from_page_cache"
)

// One page in watched is watched by the programs, and so many at most that are away.
const (
	watched = 16
	held    = 65536
)

// bin is the part of the distances, in the kernel's pages, that a bin of the program counts:
// from low to below high.
func bin(i int) (low, high uint64) {
	if i < 4 {
		return uint64(i), uint64(i) + 1
	}
	shift := i/4 - 1
	low = uint64(4+i%4) << shift
	return low, low + 1<<shift
}

// distance is a bin in pages of 4 KiB, of each of the kernel's so many.
func distance(i int, each uint64) sample.Distance {
	low, high := bin(i)
	return sample.Distance{Low: low * each, High: high * each}
}

// cgroup is the path of a row's cgroup, "/" for all; "" where it is gone. Within a
// cgroup namespace "/" is the cgroup of that, and of all nothing is told.
func (p *Probe) cgroup(id uint64) string {
	if id == 0 {
		if p.within {
			return ""
		}
		return "/"
	}
	if path := p.lookup.MemoryCgroup(id); path != "/" || p.within { // else it has no limit of its own
		return path
	}
	return ""
}

// refaults emits what has come back, by whom it was brought back and how far away it
// had been.
func (p *Probe) refaults(phase sample.Phase, into sample.Sink) error {
	ended := p.lookup.Ended()
	err := bpf.Totals(p.probe.Map("refaults"), phase, into, func(k *reclaimRefaultKey, _ *reclaimRefaults) bool { return ended(k.Tgid) },
		func(k *reclaimRefaultKey, r *reclaimRefaults, put bpf.Total) {
			e := sample.Entity{PID: int(k.Tgid), Cgroup: p.cgroup(k.Cgroup)}
			if e.Cgroup == "" || e.PID == p.host.Self {
				return
			}
			for i, pages := range r.Pages {
				if pages > 0 {
					e.Class = distance(i, p.each).String()
					put(sample.RefaultPages, e, float64(pages*watched), fromReturn)
				}
			}
		})
	if err != nil {
		return fmt.Errorf("reading the pages that came back: %w", err)
	}
	if !phase.Closes() {
		return nil
	}
	into.Put(sample.RefaultPages, sample.Entity{}, 0, fromReturn) // that nothing came back is a measurement too
	return p.evictions(into)
}

// evictions emits how much was evicted, in this window and since the programs look,
// which is how far away a page can have been that they see come back; pages are
// forgotten when too many others are away. Rows of cgroups that are gone are taken
// out.
func (p *Probe) evictions(into sample.Sink) error {
	var gone []uint64
	err := bpf.Each(p.probe.Map("evictions"), func(id, pages uint64) {
		e := sample.Entity{Cgroup: p.cgroup(id)}
		if e.Cgroup == "" {
			if id != 0 {
				gone = append(gone, id)
			}
			return
		}
		into.PutTotal(sample.RefaultEvicted, e, float64(pages), fromEvict)
		into.Put(sample.RefaultHorizon, e, float64(min(pages, held*watched)), fromEvict)
	})
	if err != nil {
		return fmt.Errorf("reading what was evicted: %w", err)
	}
	for _, id := range gone {
		if _, _, err := bpf.Take[uint64, uint64](p.probe.Map("evictions"), id); err != nil {
			return err
		}
	}
	return nil
}
