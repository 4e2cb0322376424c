package residency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// File is one regular file, or a block device, and what the cache holds of it.
type File struct {
	Path    string // as it was found; of the files of a process as /proc names it
	ID      ID
	Links   uint64 // names that it has; 0: it is deleted
	Size    int64  // bytes
	Pages   Pages
	Err     error // why Pages could not be measured
	PID     int   // a process that holds it, 0 for files found by their path
	Open    bool  // by that process
	Mapped  bool
	Deleted bool
	Memory  bool // on tmpfs; known of the files of processes only
	Device  bool // a block device, with what is read past its file system
	Overlay bool // on overlayfs, and measured by mincore(2) for that
}

// OfSame measures the regular file at a path, unless that is another one by
// now than the one with this inode number. It fails when the context ends.
func OfSame(ctx context.Context, path string, ino uint64) (Pages, error) {
	fd, err := host.OpenKind(path, unix.O_NOFOLLOW, unix.S_IFREG)
	if err != nil {
		return Pages{}, fmt.Errorf("looking for its cached pages: %w", err)
	}
	defer unix.Close(fd)
	f, err := describe(fd, path)
	if err != nil {
		return Pages{}, fmt.Errorf("looking at %q: %w", path, err)
	}
	if f.ID.Ino != ino {
		return Pages{}, fmt.Errorf("looking at %q: it was replaced by another file", path)
	}
	f.measure(ctx, fd)
	return f.Pages, f.Err
}

// ID tells files apart, as stat(2) does.
type ID struct{ Dev, Ino uint64 }

// Number is the device number as the kernel's own, which stat(2) encodes.
func (id ID) Number() host.DevNumber { return host.MakeDev(unix.Major(id.Dev), unix.Minor(id.Dev)) }

// flags open a directory, or a file in it that is one by the directory's own account. By
// now the name may stand for a link or a pipe: opening it neither follows nor waits. A
// device cannot have come there without the right to make one.
const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY

// describe fills in what fstat(2) knows; it does not measure yet.
func describe(fd int, path string) (File, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return File{}, fmt.Errorf("reading the size of %q: %w", path, err)
	}
	f := File{Path: path, ID: ID{st.Dev, st.Ino}, Links: uint64(st.Nlink), Size: st.Size, Deleted: st.Nlink == 0}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return f, nil
	case unix.S_IFBLK:
		end, err := unix.Seek(fd, 0, io.SeekEnd) // fstat(2) does not know it
		if err != nil {
			return File{}, fmt.Errorf("reading the size of %q: %w", path, err)
		}
		f.Size, f.Device = end, true
		return f, nil
	}
	return File{}, host.ErrNotRegular
}

// measure counts the pages of a described file, until the context ends.
func (f *File) measure(ctx context.Context, fd int) {
	page := int64(os.Getpagesize())
	total := (f.Size + page - 1) / page
	f.Pages, f.Err = count(ctx, fd, f.Size)
	f.Overlay = f.Err == nil && f.Pages.Cached == 0 && keptElsewhere(fd)
	if errors.Is(f.Err, unix.ENOSYS) || f.Overlay {
		var open *os.File
		if open, f.Err = reopen(fd, f.Path); f.Err == nil {
			f.Pages, f.Err = byMincore(ctx, open, f.Size, total)
			open.Close()
		}
	}
	if errors.Is(f.Err, unix.EPERM) { // since 6.13 it asks what mincore asks
		f.Err = ErrHidden
	}
	f.Pages.Total = total
}

// keptElsewhere tells of a file on overlayfs, whose pages are those of a file of another
// file system. cachestat(2) counts none; mincore(2) sees them, for a mapping is of that file.
func keptElsewhere(fd int) bool {
	var fs unix.Statfs_t
	return ignoringEINTR(func() error { return unix.Fstatfs(fd, &fs) }) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// reopen makes an os.File of a descriptor that stays its owner's.
func reopen(fd int, path string) (*os.File, error) {
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("holding %q: %w", path, err)
	}
	return os.NewFile(uintptr(again), path), nil
}

const (
	large     = 256 << 20 // bytes from which on a file is counted in parts at a time
	leastPart = 64 << 20
	mostParts = 4096 // a sparse file may have 8 EiB, and each part is a system call
)

// count adds up cachestat(2) of a whole file. It takes about 50 ns a page
// where the cache holds single pages, so large files are shared out.
func count(ctx context.Context, fd int, size int64) (Pages, error) {
	workers := min(runtime.GOMAXPROCS(0), 8)
	if size < large || workers < 2 {
		return stat(fd, 0, 0)
	}
	var sum Pages
	var first error
	var mu sync.Mutex
	var done sync.WaitGroup
	part := (size/mostParts/leastPart + 1) * leastPart
	parts := (size-1)/part + 1
	var next atomic.Int64
	for range workers {
		done.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= parts || ctx.Err() != nil {
					return
				}
				length := part
				if n == parts-1 {
					length = 0 // to the end, wherever that is by now
				}
				p, err := stat(fd, n*part, length)
				mu.Lock()
				sum.Add(p)
				if first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	done.Wait()
	return sum, cmp.Or(first, ctx.Err())
}

// stat is one call of cachestat(2); a length of 0 is to the end.
func stat(fd int, offset, length int64) (Pages, error) {
	span := unix.CachestatRange{Off: uint64(offset), Len: uint64(length)}
	var c unix.Cachestat_t
	err := ignoringEINTR(func() error { return unix.Cachestat(uint(fd), &span, &c, 0) })
	return Pages{
		Cached: int64(c.Cache), Dirty: int64(c.Dirty), Writeback: int64(c.Writeback),
		Evicted: int64(c.Evicted), RecentlyEvicted: int64(c.Recently_evicted), Source: "cachestat(2)",
	}, err
}

// Add sums up; what one of them does not know, the sum does not know.
func (p *Pages) Add(o Pages) {
	sum := func(a *int64, b int64) {
		if *a < 0 || b < 0 {
			*a = -1
			return
		}
		*a += b
	}
	p.Total += o.Total
	p.Cached += o.Cached
	sum(&p.Dirty, o.Dirty)
	sum(&p.Writeback, o.Writeback)
	sum(&p.Evicted, o.Evicted)
	sum(&p.RecentlyEvicted, o.RecentlyEvicted)
	p.Source = o.Source
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
