package iostat

import "slices"

// column is one that figures are taken from.
type column int

const (
	reads column = iota
	writes
	both
	readKB
	readMB
	readSectors
	readKBShort
	readMBShort
	readBlocks
	writtenKB
	writtenMB
	writtenSectors
	writtenKBShort
	writtenMBShort
	writtenBlocks
	writtenKBSums
	writtenMBSums
	flushes
	flushWait
	discards
	discardWait
	readWait
	writeWait
	wait
	queue
	queueOld
	busy
	busyJSON
	user
	nice
	system
	iowait
	steal
	idle
	columns        // how many there are
	other   column = -1
)

// names are what iostat calls them, without the % of processors' columns.
func names() [columns]string {
	return [columns]string{
		"r/s", "w/s", "kB/s",
		"rkB/s", "rMB/s", "rsec/s", "kB_read/s", "MB_read/s", "Blk_read/s",
		"wkB/s", "wMB/s", "wsec/s", "kB_wrtn/s", "MB_wrtn/s", "Blk_wrtn/s", "kB_w+d/s", "MB_w+d/s",
		"f/s", "f_await", "d/s", "d_await", "r_await", "w_await", "await", "aqu-sz", "avgqu-sz", "%util", "util",
		"user", "nice", "system", "iowait", "steal", "idle",
	}
}

// columnOf is the column of a name.
func columnOf(name string) column {
	all := names()
	return column(slices.Index(all[:], name)) // other is -1, too
}

func columnsOf(names []string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		all[i] = columnOf(name)
	}
	return all
}

// figures are those of a row, by column.
type figures struct {
	has   uint64 // a bit each
	value [columns]float64
}

func (f *figures) set(c column, v float64) {
	if c != other {
		f.has |= 1 << c
		f.value[c] = v
	}
}

func (f *figures) get(c column) (v float64, ok bool) { return f.value[c], f.has&(1<<c) != 0 }

// add takes over those that another row of the same device has.
func (f *figures) add(more *figures) {
	for c := range columns {
		if v, ok := more.get(c); ok {
			f.set(c, v)
		}
	}
}

// idleDevice is the figures of one that did nothing.
func idleDevice() (f figures) {
	for _, c := range []column{reads, writes, readKB, writtenKB, readWait, writeWait, queue, busy} {
		f.set(c, 0)
	}
	return f
}

// percent is a share of the processors' time, 0 for one that iostat does not print.
func (f *figures) percent(name string) float64 {
	switch name {
	case "user":
		return f.value[user]
	case "nice":
		return f.value[nice]
	case "system":
		return f.value[system]
	case "iowait":
		return f.value[iowait]
	case "steal":
		return f.value[steal]
	case "idle":
		return f.value[idle]
	}
	return 0
}

// unit is the bytes that a column counts in, 1 for those that do not count bytes.
func (c column) unit() float64 {
	switch c {
	case readKB, readKBShort, writtenKB, writtenKBShort, writtenKBSums:
		return 1 << 10
	case readMB, readMBShort, writtenMB, writtenMBShort, writtenMBSums:
		return 1 << 20
	case readSectors, readBlocks, writtenSectors, writtenBlocks:
		return 512
	}
	return 1
}
