package parse

import (
	"fmt"

	"iocause/internal/sample"
)

// defaultBackground is vm.dirty_background_ratio where nobody has set it.
const defaultBackground = 10

// derive works out the dirty limits where the text gives what they follow
// from: a share of the memory that can be had (mm/page-writeback.c,
// domain_dirty_limits).
func (c *Case) derive(into *sample.Recorder) {
	w := c.Window
	if w.Has(sample.VMDirtyLimit) {
		return
	}
	note := func(s string) {
		if w.Has(sample.ProcWriteChars) || w.Has(sample.MemDirty) {
			c.Notes = append(c.Notes, s)
		}
	}
	get := func(name string) (float64, bool) { return w.Value(sample.Sysctl, sample.Entity{Class: name}) }
	ratio, ok := get("dirty_ratio")
	limit, isBytes := get("dirty_bytes")
	if isBytes = isBytes && limit > 0; !ok && !isBytes {
		return
	}
	memory, hasMemory := w.Value(sample.MemAvailable, sample.Entity{})
	from := w.Source(sample.MemAvailable)
	if !hasMemory {
		if memory, hasMemory = w.Value(sample.MemTotal, sample.Entity{}); !hasMemory && !isBytes {
			return
		}
		from = w.Source(sample.MemTotal)
		if !isBytes {
			note("the available memory is not in the text: the dirty limit is computed from all memory and is an upper bound")
		}
	}
	if !isBytes {
		limit = memory * ratio / 100
		note(fmt.Sprintf("dirty limit: %.0f %% (vm.dirty_ratio) of %.0f MiB is %.0f MiB", ratio, memory/(1<<20), limit/(1<<20)))
	} else {
		from = w.Source(sample.Sysctl)
	}
	background, ok := get("dirty_background_bytes")
	if !ok || background == 0 {
		share, ok := get("dirty_background_ratio")
		if !ok {
			share = defaultBackground
			note(fmt.Sprintf("vm.dirty_background_ratio is not in the text: %d, the kernel's default, is assumed", defaultBackground))
		}
		background = min(memory*share/100, limit/2)
		if !hasMemory {
			background = limit / 2
		}
	}
	into.Put(sample.VMDirtyLimit, sample.Entity{}, limit, from)
	into.Put(sample.VMDirtyBg, sample.Entity{}, background, from)
}
