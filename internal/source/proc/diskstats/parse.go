package diskstats

import (
	"fmt"

	"iocause/internal/host"
)

// Disk is one line of /proc/diskstats (Documentation/admin-guide/iostats.rst).
// Times are milliseconds, kept in 32 bits; all but InFlight count since the
// device came to be.
type Disk struct {
	Dev                                           host.DevNumber
	Name                                          string
	Reads, ReadsMerged, ReadSectors, ReadTime     uint64
	Writes, WritesMerged, WriteSectors, WriteTime uint64
	InFlight, Busy, Weighted                      uint64
	// Fields is how many figures the kernel has: 11, 15 with discards (since
	// 4.18), 17 with flushes (since 5.5).
	Fields             int
	Flushes, FlushTime uint64
}

const (
	least     = 11
	withFlush = 17
)

// idle tells whether the device never did anything.
func (d *Disk) idle() bool {
	return d.Reads|d.Writes|d.ReadSectors|d.WriteSectors|d.InFlight|d.Busy|d.Flushes == 0
}

// parse appends the disks to into. Partitions of kernels before 2.6.25 have
// four figures only; such lines are left out.
func parse(b []byte, into []Disk) ([]Disk, error) {
	into = into[:0]
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		major, rest := host.Field(line)
		if len(major) == 0 {
			continue
		}
		minor, rest := host.Field(rest)
		name, rest := host.Field(rest)
		dev, ok := host.ParseDev(append(append(append(make([]byte, 0, 16), major...), ':'), minor...))
		if !ok || len(name) == 0 {
			return into, &host.LineError{Line: n, What: fmt.Sprintf("%.40q is not a device", line)}
		}
		var v [withFlush]uint64
		fields := 0
		for fields < len(v) {
			var f []byte
			if f, rest = host.Field(rest); len(f) == 0 {
				break
			}
			if v[fields], ok = host.Uint(f); !ok {
				return into, &host.LineError{Line: n, What: fmt.Sprintf("figure %d of %q, %.40q, is not a number", fields+1, name, f)}
			}
			fields++
		}
		if fields == 4 {
			continue
		}
		if fields < least {
			return into, &host.LineError{Line: n, What: fmt.Sprintf("%q has %d figures, not %d or more", name, fields, least)}
		}
		into = append(into, Disk{
			Dev: dev, Name: string(name), Fields: fields,
			Reads: v[0], ReadsMerged: v[1], ReadSectors: v[2], ReadTime: v[3],
			Writes: v[4], WritesMerged: v[5], WriteSectors: v[6], WriteTime: v[7],
			InFlight: v[8], Busy: v[9], Weighted: v[10],
			Flushes: v[15], FlushTime: v[16],
		})
	}
	return into, nil
}
