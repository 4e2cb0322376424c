package trace

import (
	"slices"
	"time"

	"iocause/internal/sample"
)

const (
	binLength    = 10 * time.Millisecond
	binsOfSecond = 100     // in a second
	mostRows     = 1 << 14 // processes or files; the rest are summed up
	mostBins     = 360_000 // of a disk: an hour; then the older half is forgotten
	others       = "(others)"
)

// tally sums up a trace.
type tally struct {
	n         uint64
	processes map[process]*sums
	files     map[string]*sums
	disks     map[string]*disk
	owners    map[owner]uint32
	ownerOf   []owner
}

type process struct {
	pid  int
	comm string
}

type owner struct {
	process
	cgroup string
}

// sums are the I/Os of somebody.
type sums struct {
	reads, writes, others, errors uint64
	read, written                 uint64 // bytes
	queue, device                 time.Duration
	queued                        uint64 // of which the queue time is known
	times                         sample.Times
}

func (s *sums) add(x *sample.IO) {
	switch x.Flags.Op() {
	case "read":
		s.reads++
		s.read += x.Bytes
	case "write":
		s.writes++
		s.written += x.Bytes
	default:
		s.others++
	}
	if x.Status != 0 {
		s.errors++
	}
	if x.Queue >= 0 {
		s.queue += x.Queue
		s.device += x.Device
		s.queued++
	}
	s.times.Add(x.Latency())
}

func (s *sums) ios() uint64 { return s.reads + s.writes + s.others }

// disk is what a disk completed in every 10 ms, and whose it was.
type disk struct {
	first int64 // number of the first bin that is kept
	bins  []bin
}

type bin struct {
	ops, bytes uint64
	owners     []share
}

type share struct {
	owner uint32
	ops   uint32
}

func newTally() *tally {
	return &tally{processes: map[process]*sums{}, files: map[string]*sums{}, disks: map[string]*disk{}, owners: map[owner]uint32{}}
}

// sumsOf is the row of a key, and that of the rest when there are too many.
func sumsOf[K comparable](rows map[K]*sums, key, others K) *sums {
	s := rows[key]
	if s == nil {
		if len(rows) >= mostRows {
			key = others
			if s = rows[key]; s != nil {
				return s
			}
		}
		s = &sums{times: sample.Times{Scale: sample.Scale{First: 4, Bits: 4, Powers: 60}}} // right to 6 %
		rows[key] = s
	}
	return s
}

// add counts one I/O.
func (t *tally) add(x *sample.IO) {
	t.n++
	by := process{x.PID, x.Comm}
	sumsOf(t.processes, by, process{0, others}).add(x)
	if x.File != "" {
		sumsOf(t.files, x.File, others).add(x)
	}
	d := t.disks[x.Disk]
	if d == nil {
		d = &disk{}
		t.disks[x.Disk] = d
	}
	if b := d.bin(int64(max(x.End(), 0) / binLength)); b != nil {
		b.ops++
		if op := x.Flags.Op(); op == "read" || op == "write" { // discards move nothing
			b.bytes += x.Bytes
		}
		b.share(t.owner(owner{by, x.Cgroup}))
	}
}

func (t *tally) owner(o owner) uint32 {
	n, ok := t.owners[o]
	if !ok {
		if len(t.ownerOf) >= mostRows {
			o = owner{process: process{0, others}}
			if n, ok = t.owners[o]; ok {
				return n
			}
		}
		n = uint32(len(t.ownerOf))
		t.owners[o] = n
		t.ownerOf = append(t.ownerOf, o)
	}
	return n
}

func (b *bin) share(owner uint32) {
	for i := range b.owners {
		if b.owners[i].owner == owner {
			b.owners[i].ops++
			return
		}
	}
	b.owners = append(b.owners, share{owner, 1})
}

// bin is the bin of a number, nil for one that is forgotten.
func (d *disk) bin(n int64) *bin {
	if n-d.first >= mostBins*10 || n < d.first {
		return nil // a clock that jumped, or late by half an hour
	}
	for n-d.first >= mostBins {
		drop := min(len(d.bins), mostBins/2)
		if drop == 0 {
			d.first = n
			break
		}
		d.bins = slices.Clone(d.bins[drop:])
		d.first += int64(drop)
	}
	for int64(len(d.bins)) <= n-d.first {
		d.bins = append(d.bins, bin{})
	}
	return &d.bins[n-d.first]
}

// names of the disks, in order.
func (t *tally) names() []string {
	var names []string
	for name := range t.disks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// series is what a disk completed in each bin, idle ones included.
func (d *disk) series(length time.Duration, of func(*bin) uint64) []uint64 {
	n := max(int64(len(d.bins)), int64(length/binLength)-d.first)
	v := make([]uint64, min(n, mostBins))
	for i := range min(len(d.bins), len(v)) {
		v[i] = of(&d.bins[i])
	}
	return v
}
