package vmstat

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
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

func parse(b []byte) (Vmstat, error) {
	var v Vmstat
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		to, part := v.field(key)
		if to == nil {
			continue
		}
		f, _ := host.Field(rest)
		x, ok := host.Uint(f)
		if !ok {
			return v, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
		if part && *to != nil {
			x += **to
		}
		*to = &x
	}
	return v, nil
}
