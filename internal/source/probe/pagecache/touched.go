package pagecache

import (
	"fmt"

	"iocause/internal/sample"
)

// touchShift makes one page in 64 a watched one.
const touchShift = 6

// touched is how many watched pages were asked for, and of these how many by
// one call and by two.
type touched struct{ pages, once, twice float64 }

func (t *touched) add(calls uint64) {
	t.pages++
	switch calls {
	case 1:
		t.once++
	case 2:
		t.twice++
	}
}

func (t *touched) emit(e sample.Entity, from string, into sample.Sink) {
	const each = 1 << touchShift
	into.Put(sample.CacheTouched, e, t.pages*each, from)
	into.Put(sample.CacheTouchOnce, e, t.once*each, from)
	into.Put(sample.CacheTouchTwice, e, t.twice*each, from)
}

// touchedFile is a file as the kernel program names it, read by one process or,
// with 0, by any.
type touchedFile struct {
	file uint64
	tgid uint32
}

type touches struct {
	from      string // where they were counted
	processes map[uint32]*touched
	files     map[touchedFile]*touched
	emitted   map[uint64]bool // files for all processes
}

// fileHash is file_hash in account.bpf.h.
func fileHash(ino uint64, dev uint32) uint64 { return ino + uint64(dev)*0x9E3779B97F4A7C15 }

// touches takes the watched pages of the window out of the kernel: the next
// window begins with none.
func (p *Probe) touches() (*touches, error) {
	t := &touches{from: p.from.reads, processes: map[uint32]*touched{}, files: map[touchedFile]*touched{}, emitted: map[uint64]bool{}}
	all := map[pagecacheTouchKey]uint64{} // calls for a page, of whatever process
	self := uint32(p.host.Self)
	err := empty(p.probe.Map("touched"), func(k pagecacheTouchKey, calls uint64) {
		if k.Tgid == self {
			return
		}
		at(t.processes, k.Tgid).add(calls)
		at(t.files, touchedFile{k.File, k.Tgid}).add(calls)
		k.Tgid = 0
		all[k] += calls
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pages asked for: %w", err)
	}
	for k, calls := range all {
		at(t.files, touchedFile{k.File, 0}).add(calls)
	}
	return t, nil
}

// at is the count of a key, made on first sight.
func at[K comparable](m map[K]*touched, k K) *touched {
	t := m[k]
	if t == nil {
		t = &touched{}
		m[k] = t
	}
	return t
}

// emitProcesses also emits the host's, so that none at all is a measurement.
func (t *touches) emitProcesses(into sample.Sink) {
	into.Put(sample.CacheTouched, sample.Entity{}, 0, t.from)
	for tgid, n := range t.processes {
		n.emit(sample.Entity{PID: int(tgid)}, t.from, into)
	}
}

// emitFile emits a file for one process, and for all of them once.
func (t *touches) emitFile(k pagecacheFileKey, into sample.Sink) {
	file := fileHash(k.Ino, k.Dev)
	id := sample.FileID{Dev: k.Dev, Ino: k.Ino}
	if n := t.files[touchedFile{file, k.Tgid}]; n != nil {
		n.emit(sample.Entity{PID: int(k.Tgid), File: id}, t.from, into)
	}
	if n := t.files[touchedFile{file, 0}]; n != nil && !t.emitted[file] {
		t.emitted[file] = true
		n.emit(sample.Entity{File: id}, t.from, into)
	}
}
