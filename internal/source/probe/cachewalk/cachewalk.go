// Package cachewalk finds every file that has pages in the page cache, closed
// and deleted ones included, by a walk over the kernel's own lists of inodes.
package cachewalk

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// File is an inode with pages in the cache.
type File struct {
	Dev    host.DevNumber // of its super block
	Ino    uint64
	Size   uint64 // bytes
	Pages  uint64 // of the page cache, in the machine's page size
	Kind   Kind
	Device host.DevNumber // that a block device's inode stands for
	Links  uint32         // names that it has left; 0: it is deleted
	Mapped bool           // into the memory of a process
	PID    int            // a process that has it open, 0 for none

	// Path is filled by Names: where the file is seen from our mount name
	// space. "" is a file whose name the kernel holds no longer.
	Path    string
	Partial bool // Path lacks its beginning

	address uint64 // of the kernel's struct inode
}

// Kind says to which part of the cache a file's pages belong.
type Kind int

// The kinds.
const (
	Regular Kind = iota
	Other        // directories, links and what file systems keep for themselves
	Memory       // tmpfs, shared memory, memfd: has no other place but swap
	Block        // the cache of a block device: "buffers"
	Huge         // hugetlbfs: not in the page cache's counters
)

func (k Kind) String() string {
	return [...]string{"file", "file system", "tmpfs", "block device", "huge pages"}[k]
}

// Values of i_mode and s_magic (uapi/linux/stat.h, uapi/linux/magic.h).
const (
	typeMask       = 0o170000
	blockFile      = 0o060000
	regularFile    = 0o100000
	tmpfsMagic     = 0x01021994
	hugetlbfsMagic = 0x958458f6
)

func kindOf(r *cachewalkRecord) Kind {
	switch {
	case r.Magic == hugetlbfsMagic:
		return Huge
	case r.Magic == tmpfsMagic:
		return Memory
	case r.Mode&typeMask == blockFile:
		return Block
	case r.Mode&typeMask == regularFile:
		return Regular
	}
	return Other
}

// Result is one walk.
type Result struct {
	Files  []File
	Inodes uint64 // looked at
	Supers uint32 // file systems looked at
	// Restarts is how often the walk lost its place, because what it stood on
	// was freed, and began a file system again.
	Restarts int
	// Incomplete says what is missing, "" when nothing is.
	Incomplete string
	Took       time.Duration
	Longest    time.Duration // of one call, which keeps one processor to itself
}

// Walker is the loaded program. It is used by one goroutine.
type Walker struct {
	host    *host.Host
	probe   *bpf.Probe
	records *ebpf.Memory
	names   *ebpf.Memory
	paths   *paths
}

const (
	chunk    = 2048 // inodes a call
	batch    = 64   // names a call
	patience = 64   // times that a place may be lost
)

// Outcomes of a call, as the program has them.
const (
	more = iota
	all
	lostInode
	lostSuper
)

// Open loads the programs. It needs root, or CAP_BPF and CAP_PERFMON, and
// Linux 6.2.
func Open(h *host.Host) (*Walker, error) {
	spec, err := loadCachewalk()
	if err != nil {
		return nil, fmt.Errorf("reading the cachewalk object: %w", err)
	}
	delete(spec.Variables, "lacks") // it has no other way: what it calls is younger
	p, err := bpf.Open(spec, []bpf.Program{{Name: "on_file"}}, nil)
	if errors.Is(err, ebpf.ErrNotSupported) { // bpf_rcu_read_lock
		return nil, fmt.Errorf("opening the walk of the page cache: %w: it needs Linux 6.2 (%w)", bpf.ErrNotSupported, err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the walk of the page cache: %w", err)
	}
	w := &Walker{host: h, probe: p, paths: newPaths(h)}
	for name, to := range map[string]**ebpf.Memory{"records": &w.records, "names": &w.names} {
		if *to, err = p.Map(name).Memory(); err != nil {
			p.Close()
			return nil, fmt.Errorf("mapping the %s of the page cache's walk: %w", name, err)
		}
	}
	return w, nil
}

// Close unloads the programs.
func (w *Walker) Close() error { return w.probe.Close() }

// Walk looks at every inode. progress, which may be nil, is told now and then
// how many it has seen. A walk that the context ends is an error.
func (w *Walker) Walk(ctx context.Context, progress func(inodes uint64)) (*Result, error) {
	began := time.Now()
	if err := w.open(); err != nil {
		return nil, err
	}
	r := &Result{}
	err := w.each(ctx, r, progress, func(x *cachewalkRecord) { r.Files = append(r.Files, fileOf(x)) })
	if err != nil {
		return nil, err
	}
	r.finish(began)
	return r, nil
}

// Pages counts the pages of some files, whoever they belong to and wherever
// they are: no path is opened. One that has none is 0, as is one that is not
// there.
func (w *Walker) Pages(ctx context.Context, files []sample.FileID) (map[sample.FileID]uint64, error) {
	pages := map[sample.FileID]uint64{}
	for _, id := range files {
		pages[id] = 0
	}
	r := &Result{}
	err := w.each(ctx, r, nil, func(x *cachewalkRecord) {
		id := sample.FileID{Dev: x.Dev, Ino: x.Ino}
		if _, ok := pages[id]; ok {
			pages[id] = x.Pages
		}
	})
	if err == nil && r.Incomplete != "" {
		err = fmt.Errorf("walking the page cache: %s", r.Incomplete)
	}
	return pages, err
}

// each lets see look at every inode with pages, and adds to r what it met.
func (w *Walker) each(ctx context.Context, r *Result, progress func(inodes uint64), see func(*cachewalkRecord)) error {
	if err := w.probe.SetVariable("at", cachewalkPlace{}); err != nil {
		return err
	}
	buf := make([]cachewalkRecord, chunk)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("walking the page cache: %w", context.Cause(ctx))
		}
		if err := w.probe.Run("walk"); err != nil {
			return err
		}
		var at cachewalkPlace
		if err := w.probe.Variable("at", &at); err != nil {
			return err
		}
		r.Longest = max(r.Longest, time.Duration(at.Ns))
		if err := readRecords(w.records, buf[:at.Found]); err != nil {
			return err
		}
		for i := range buf[:at.Found] {
			see(&buf[i])
		}
		r.Inodes += at.Inodes
		r.Supers += at.Supers
		if progress != nil {
			progress(r.Inodes)
		}
		switch at.Outcome {
		case all:
			return nil
		case lostInode:
			at.Inode = 0
		case lostSuper:
			at = cachewalkPlace{}
		default:
			continue
		}
		if r.Restarts++; r.Restarts > patience {
			r.Incomplete = fmt.Sprintf("inodes are freed so fast that the walk had to restart %s: files are missing", sample.Counted(r.Restarts, "time"))
			return nil
		}
		if err := w.probe.SetVariable("at", at); err != nil {
			return err
		}
	}
}

// open notes who has which file open.
func (w *Walker) open() error {
	m := w.probe.Map("openers")
	var stale []uint64
	if err := bpf.Each(m, func(address uint64, _ uint32) { stale = append(stale, address) }); err != nil {
		return fmt.Errorf("reading the open files: %w", err)
	}
	for _, address := range stale {
		_ = m.Delete(address) // of the walk before
	}
	return w.probe.RunIterator("on_file")
}

// Unopened is how many open files could not be noted for want of room.
func (w *Walker) Unopened() (uint64, error) { return w.probe.Counter("lost_openers") }

func readRecords(m *ebpf.Memory, into []cachewalkRecord) error {
	if len(into) == 0 {
		return nil
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&into[0])), len(into)*int(unsafe.Sizeof(into[0])))
	if _, err := m.ReadAt(raw, 0); err != nil {
		return fmt.Errorf("reading what the walk found: %w", err)
	}
	return nil
}

func fileOf(r *cachewalkRecord) File {
	return File{
		Dev: host.DevNumber(r.Dev), Ino: r.Ino, Size: r.Size, Pages: r.Pages, Kind: kindOf(r),
		Device: deviceOf(r), Links: r.Links, Mapped: r.Mapped != 0, PID: int(r.Pid), address: r.Address,
	}
}

func deviceOf(r *cachewalkRecord) host.DevNumber {
	if kindOf(r) != Block {
		return 0
	}
	return host.DevNumber(r.Rdev)
}

// finish drops what was met twice, which only happens when a place was lost.
func (r *Result) finish(began time.Time) {
	if r.Restarts > 0 {
		seen := make(map[uint64]bool, len(r.Files))
		kept := r.Files[:0]
		for _, f := range r.Files {
			if !seen[f.address] {
				seen[f.address] = true
				kept = append(kept, f)
			}
		}
		r.Files = kept
	}
	r.Took = time.Since(began)
}
