package tasks

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
	"unsafe"

	"iocause/internal/host"
)

// Flags of a row, as in tasks.bpf.c.
const (
	hasChars = 1 << iota
	hasBytes
	hasRunDelay
	hasBlkioDelay
	kernelThread
	running
	blocked
	forIO
)

// ran is how much the threads of a process that live have run. Another set of
// threads has another sum of starts, as those that are new began last; and in the
// same set, each that ran has run longer. Two that are equal, and of nobody who
// is running, say that none ran in between.
type ran struct {
	threads, running uint32
	first            uint64 // start of the first thread, ns since boot
	starts, runtime  uint64 // sums, in ns
}

// ranBy is that of each process, in a map's memory.
func ranBy(all map[uint32]ran, rows []tasksRow) {
	clear(all)
	for i := range rows {
		r := &rows[i]
		x := all[r.Tgid]
		x.threads++
		x.starts += r.Start
		x.runtime += r.Runtime
		if r.Flags&running != 0 {
			x.running++
		}
		if r.Tid == r.Tgid {
			x.first = r.Start
		}
		all[r.Tgid] = x
	}
}

// rise is by how much what the kernel counts for each thread alone has risen:
// the sum over a process's threads, in nanoseconds. And how many of them are
// blocked now, for I/O or for something else.
type rise struct {
	run, blkio uint64
	io, other  uint32
}

const rowSize = int(unsafe.Sizeof(tasksRow{}))

// rowsIn are the rows in what the iterator wrote, in the same memory, in the
// order of thread ids. buf begins on a multiple of 8 bytes, as all that is made
// with a length that is one does, and so does each row.
func rowsIn(buf []byte) ([]tasksRow, error) {
	if len(buf) == 0 {
		return nil, errors.New("running iterator look: it found no thread, not even our own")
	}
	rows := unsafe.Slice((*tasksRow)(unsafe.Pointer(&buf[0])), len(buf)/rowSize)
	if !slices.IsSortedFunc(rows, byThread) { // the kernel goes by number
		slices.SortFunc(rows, byThread)
	}
	return rows, nil
}

func byThread(a, b tasksRow) int { return cmp.Compare(a.Tid, b.Tid) }

// find is the place of a thread's row, -1 when there is none.
func find(rows []tasksRow, tid uint32) int {
	i, ok := slices.BinarySearchFunc(rows, tid, func(r tasksRow, tid uint32) int { return cmp.Compare(r.Tid, tid) })
	if !ok {
		return -1
	}
	return i
}

// sum adds what the other threads of each process did to the row of its first,
// but for the delays: of these it returns the rises since before, by the place
// of the first thread's row. A thread that began at the time began or later
// counts from zero; what an older one that before lacks did in between is not
// known.
func sum(rows, before []tasksRow, began uint64, rises []rise) []rise {
	rises = slices.Grow(rises[:0], len(rows))[:len(rows)]
	clear(rises)
	old := 0
	for i := range rows {
		r := &rows[i]
		first := i
		if r.Tid != r.Tgid {
			if first = find(rows, r.Tgid); first < 0 {
				continue // its process began after the pass was at the number of the first thread
			}
			p := &rows[first]
			p.ReadChars += r.ReadChars
			p.WriteChars += r.WriteChars
			p.ReadBytes += r.ReadBytes
			p.WriteBytes += r.WriteBytes
			p.User += r.User
			p.System += r.System
			p.Runtime += r.Runtime
			p.MajorFaults += r.MajorFaults
		}
		switch {
		case r.Flags&forIO != 0:
			rises[first].io++
		case r.Flags&blocked != 0:
			rises[first].other++
		}
		for old < len(before) && before[old].Tid < r.Tid {
			old++
		}
		var was rise
		switch {
		case old < len(before) && before[old].Tid == r.Tid && before[old].Start == r.Start:
			was.run, was.blkio = before[old].RunDelay, before[old].BlkioDelay
		case r.Start < began:
			continue
		}
		rises[first].run += above(r.RunDelay, was.run)
		rises[first].blkio += above(r.BlkioDelay, was.blkio)
	}
	return rises
}

// above is by how much now is more than before.
func above(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}

// share shares out the exact run time among user and system as the timer's
// ticks fell, as the kernel does for /proc/PID/stat (cputime_adjust): neither
// part falls below what it was.
func (r *tasksRow) share(was *tasksRow) {
	if r.Runtime <= was.User+was.System {
		r.User, r.System = was.User, was.System
		return
	}
	system := uint64(0)
	switch {
	case r.System == 0:
	case r.User == 0:
		system = r.Runtime
	default:
		hi, lo := bits.Mul64(r.System, r.Runtime)
		system, _ = bits.Div64(hi, lo, r.User+r.System)
	}
	system = max(system, was.System)
	user := r.Runtime - min(system, r.Runtime)
	if user < was.User {
		user = was.User
		system = r.Runtime - user
	}
	r.User, r.System = user, system
}

// hold keeps the counters from falling. A thread that ends while the pass is
// between it and the first thread's row is counted for neither, or for both: in
// the next pass it is among those that ended, and the sum of both is right.
func (r *tasksRow) hold(was *tasksRow) {
	r.ReadChars = max(r.ReadChars, was.ReadChars)
	r.WriteChars = max(r.WriteChars, was.WriteChars)
	r.ReadBytes = max(r.ReadBytes, was.ReadBytes)
	r.WriteBytes = max(r.WriteBytes, was.WriteBytes)
	r.MajorFaults = max(r.MajorFaults, was.MajorFaults)
}

// inherited is what processes took over from those that ended since before. Both
// are in the order of thread ids.
func inherited(rows, before []tasksRow) map[int]host.IO {
	var ended map[int]host.Ended
	i := 0
	for j := range before {
		b := &before[j]
		if b.Tid != b.Tgid {
			continue
		}
		for i < len(rows) && rows[i].Tid < b.Tid {
			i++
		}
		if i < len(rows) && rows[i].Tid == b.Tid && rows[i].Start == b.Start {
			continue
		}
		if ended == nil {
			ended = map[int]host.Ended{}
		}
		ended[int(b.Tgid)] = host.Ended{Parent: int(b.Parent), IO: b.io()}
	}
	return host.Inherited(ended)
}

func (r *tasksRow) io() host.IO {
	return host.IO{ReadChars: r.ReadChars, WriteChars: r.WriteChars, ReadBytes: r.ReadBytes, WriteBytes: r.WriteBytes}
}

// with is r, of the pass before, with what its process took over by now.
func (r *tasksRow) with(took host.IO, now *tasksRow) *tasksRow {
	sum, io := *r, r.io().With(took, now.io())
	sum.ReadChars, sum.WriteChars, sum.ReadBytes, sum.WriteBytes = io.ReadChars, io.WriteChars, io.ReadBytes, io.WriteBytes
	return &sum
}
