package procfile

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Vmstat is what is read of /proc/vmstat (mm/vmstat.c): counts since boot, in
// pages unless the comment says otherwise. Nil figures are not in the file of
// this kernel.
type Vmstat struct {
	PageIn, PageOut          *uint64 // pgpgin, pgpgout: KiB
	SwapIn, SwapOut          *uint64
	MajorFaults              *uint64 // count
	RefaultFile, RefaultAnon *uint64
	ScanDirect, StealDirect  *uint64
	ScanKswapd, StealKswapd  *uint64
	AllocStall, CompactStall *uint64 // count
	Killed                   *uint64 // count
	HugeMapped               *uint64 // thp_file_mapped: count of huge pages
	Dirtied, Written         *uint64
	DirtyLimit, DirtyBg      *uint64 // thresholds, not counts
	Dirty, Writeback, Free   *uint64 // held now, not counts
}

// Counter is a figure that rises from boot on; a nil Value is not in the
// kernel's file. Value times Unit is in the metric's unit.
type Counter struct {
	Metric sample.Metric
	Value  *uint64
	Unit   float64
}

// Counters are the file's counters, on a machine whose pages have so many bytes.
func (v *Vmstat) Counters(page float64) []Counter {
	all := []Counter{
		{sample.VMPageIn, v.PageIn, 1024}, {sample.VMPageOut, v.PageOut, 1024},
		{sample.VMSwapIn, v.SwapIn, 1}, {sample.VMSwapOut, v.SwapOut, 1},
		{sample.VMMajorFault, v.MajorFaults, 1},
		{sample.VMRefaultFile, v.RefaultFile, 1}, {sample.VMRefaultAnon, v.RefaultAnon, 1},
		{sample.VMScanDirect, v.ScanDirect, 1}, {sample.VMStealDirect, v.StealDirect, 1},
		{sample.VMScanKswapd, v.ScanKswapd, 1}, {sample.VMStealKswapd, v.StealKswapd, 1},
		{sample.VMAllocStall, v.AllocStall, 1}, {sample.VMCompact, v.CompactStall, 1},
		{sample.VMKilled, v.Killed, 1}, {sample.VMDirtied, v.Dirtied, 1}, {sample.VMWritten, v.Written, 1},
	}
	if v.HugeMapped != nil { // else this kernel maps none
		// a table of the lowest level maps a huge page: one entry of 8 bytes a page
		all = append(all, Counter{sample.VMHugeMapped, v.HugeMapped, page / 8})
	}
	return all
}

// Thresholds are the limits of dirty memory, in pages.
func (v *Vmstat) Thresholds() []Gauge {
	return []Gauge{{sample.VMDirtyLimit, v.DirtyLimit}, {sample.VMDirtyBg, v.DirtyBg}}
}

// Held is what /proc/meminfo tells as well, in pages.
func (v *Vmstat) Held() []Gauge {
	return []Gauge{{sample.MemDirty, v.Dirty}, {sample.MemWriteback, v.Writeback}, {sample.MemFree, v.Free}}
}

// zones end the names of figures that a kernel keeps for each zone.
var zones = [...]string{"_dma", "_dma32", "_normal", "_high", "_movable", "_device"}

// zoned are figures that are summed over the zones: allocstall since 4.10,
// the others before 4.8.
var zoned = [...]string{"allocstall", "pgscan_direct", "pgscan_kswapd", "pgsteal_direct", "pgsteal_kswapd"}

// field finds where a key goes and whether it is one zone's part of a sum.
func (v *Vmstat) field(key []byte) (to **uint64, part bool) {
	switch string(key) {
	case "pgpgin":
		return &v.PageIn, false
	case "pgpgout":
		return &v.PageOut, false
	case "pswpin":
		return &v.SwapIn, false
	case "pswpout":
		return &v.SwapOut, false
	case "pgmajfault":
		return &v.MajorFaults, false
	case "workingset_refault_file":
		return &v.RefaultFile, false
	case "workingset_refault": // before 5.9 only files were counted
		return &v.RefaultFile, false
	case "workingset_refault_anon":
		return &v.RefaultAnon, false
	case "compact_stall":
		return &v.CompactStall, false
	case "thp_file_mapped":
		return &v.HugeMapped, false
	case "oom_kill":
		return &v.Killed, false
	case "nr_dirtied":
		return &v.Dirtied, false
	case "nr_written":
		return &v.Written, false
	case "nr_dirty_threshold":
		return &v.DirtyLimit, false
	case "nr_dirty_background_threshold":
		return &v.DirtyBg, false
	case "nr_dirty":
		return &v.Dirty, false
	case "nr_writeback":
		return &v.Writeback, false
	case "nr_free_pages":
		return &v.Free, false
	}
	for _, name := range zoned {
		rest, ok := bytes.CutPrefix(key, []byte(name))
		if !ok {
			continue
		}
		part := false
		for _, z := range zones {
			part = part || string(rest) == z
		}
		if len(rest) > 0 && !part {
			return nil, false // pgscan_direct_throttle and what is to come
		}
		switch name {
		case "allocstall":
			return &v.AllocStall, part
		case "pgscan_direct":
			return &v.ScanDirect, part
		case "pgscan_kswapd":
			return &v.ScanKswapd, part
		case "pgsteal_direct":
			return &v.StealDirect, part
		case "pgsteal_kswapd":
			return &v.StealKswapd, part
		}
	}
	return nil, false
}

// Set takes the figure of one line. It is false for lines that are not read.
func (v *Vmstat) Set(key []byte, x uint64) bool {
	to, part := v.field(key)
	if to == nil {
		return false
	}
	if part && *to != nil {
		x += **to
	}
	*to = &x
	return true
}

// VmstatHas tells whether a line of this name is read.
func VmstatHas(name string) bool {
	to, _ := new(Vmstat).field([]byte(name))
	return to != nil
}

// ParseVmstat parses /proc/vmstat.
func ParseVmstat(b []byte) (Vmstat, error) {
	var v Vmstat
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		f, _ := host.Field(rest)
		x, ok := host.Uint(f)
		if to, _ := v.field(key); to != nil && !ok {
			return v, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
		v.Set(key, x)
	}
	return v, nil
}
