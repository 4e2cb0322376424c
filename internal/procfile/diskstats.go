package procfile

import (
	"fmt"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Disk is one line of /proc/diskstats (Documentation/admin-guide/iostats.rst).
// Times are milliseconds, kept in 32 bits; all but InFlight count since the
// device came to be.
type Disk struct {
	Dev                                           host.DevNumber
	Name                                          string // as in /sys: "etherd!e0.0"
	Reads, ReadsMerged, ReadSectors, ReadTime     uint64
	Writes, WritesMerged, WriteSectors, WriteTime uint64
	InFlight, Busy, Weighted                      uint64
	// Fields is how many figures the kernel has: 11, 15 with discards (since
	// 4.18), 17 with flushes (since 5.5).
	Fields             int
	Flushes, FlushTime uint64
}

const (
	leastDisk = 11
	withFlush = 17
	// sector is the unit of the kernel's figures in bytes, whatever the
	// device's is.
	sector = 512
)

// DiskCounter is a figure of a disk that rises. Value times Unit is in the
// metric's unit.
type DiskCounter struct {
	Metric sample.Metric
	Value  uint64
	Unit   float64
	Wraps  bool // it is kept in 32 bits
}

// Counters are the disk's counters that all kernels have.
func (d *Disk) Counters() [8]DiskCounter {
	return [...]DiskCounter{
		{sample.DiskReads, d.Reads, 1, false}, {sample.DiskWrites, d.Writes, 1, false},
		{sample.DiskReadBytes, d.ReadSectors, sector, false}, {sample.DiskWriteBytes, d.WriteSectors, sector, false},
		{sample.DiskReadTime, d.ReadTime, 1e-3, true}, {sample.DiskWriteTime, d.WriteTime, 1e-3, true},
		{sample.DiskBusy, d.Busy, 1e-3, true}, {sample.DiskWeighted, d.Weighted, 1e-3, true},
	}
}

// HasFlushes tells whether the kernel counts flushes.
func (d *Disk) HasFlushes() bool { return d.Fields >= withFlush }

// Idle tells whether the device never did anything.
func (d *Disk) Idle() bool {
	return d.Reads|d.Writes|d.ReadSectors|d.WriteSectors|d.InFlight|d.Busy|d.Flushes == 0
}

// PartitionOf goes by the kernel's naming: "sda" and "sda1", "nvme0n1" and
// "nvme0n1p1".
func PartitionOf(name, disk string) bool {
	rest, ok := strings.CutPrefix(name, disk)
	if !ok || disk == "" {
		return false
	}
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		if rest, ok = strings.CutPrefix(rest, "p"); !ok {
			return false
		}
	}
	_, ok = host.Uint([]byte(rest))
	return ok
}

// ParseDiskstats parses /proc/diskstats; it appends the disks to into, whose
// memory it takes. Partitions of kernels before 2.6.25 have four figures only;
// such lines are left out.
func ParseDiskstats(b []byte, into []Disk) ([]Disk, error) {
	into = into[:0]
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		if first, _ := host.Field(line); len(first) == 0 {
			continue
		}
		d, err := ParseDisk(line)
		switch {
		case err != nil:
			return into, &host.LineError{Line: n, What: err.Error()}
		case d.Fields != 4:
			into = append(into, d)
		}
	}
	return into, nil
}

// ParseDisk parses one line of the file. A line of four figures, of a partition
// of an old kernel, gives a Disk without any.
func ParseDisk(line []byte) (Disk, error) {
	major, rest := host.Field(line)
	minor, rest := host.Field(rest)
	name, rest := host.Field(rest)
	dev, ok := host.ParseDev(append(append(append(make([]byte, 0, 16), major...), ':'), minor...))
	if !ok || len(name) == 0 {
		return Disk{}, fmt.Errorf("%.40q is not a device", line)
	}
	d, err := parseFigures(rest)
	if err != nil {
		return Disk{}, fmt.Errorf("%q: %w", name, err)
	}
	d.Dev, d.Name = dev, host.SysName(string(name))
	return d, nil
}

// ParseDiskFile parses /sys/block/DEVICE/stat: the figures of one line alone.
func ParseDiskFile(b []byte) (Disk, error) {
	line, _ := host.Line(b)
	d, err := parseFigures(line)
	if err == nil && d.Fields < leastDisk {
		err = fmt.Errorf("%d figures, not %d or more", d.Fields, leastDisk)
	}
	return d, err
}

func parseFigures(rest []byte) (Disk, error) {
	var v [withFlush]uint64
	fields := 0
	for fields < len(v) {
		var f []byte
		if f, rest = host.Field(rest); len(f) == 0 {
			break
		}
		var ok bool
		if v[fields], ok = host.Uint(f); !ok {
			return Disk{}, fmt.Errorf("figure %d, %.40q, is not a number", fields+1, f)
		}
		fields++
	}
	switch {
	case fields == 4:
		return Disk{Fields: fields}, nil
	case fields < leastDisk:
		return Disk{}, fmt.Errorf("%d figures, not %d or more", fields, leastDisk)
	}
	return Disk{
		Fields: fields,
		Reads:  v[0], ReadsMerged: v[1], ReadSectors: v[2], ReadTime: v[3],
		Writes: v[4], WritesMerged: v[5], WriteSectors: v[6], WriteTime: v[7],
		InFlight: v[8], Busy: v[9], Weighted: v[10],
		Flushes: v[15], FlushTime: v[16],
	}, nil
}
