// Package residency tells how much of a file is in the page cache: by
// cachestat(2), and by mincore(2) on kernels before 6.5 and on overlayfs.
package residency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Pages is what the cache holds of one file, in pages of the machine's size.
// What mincore cannot tell is -1.
type Pages struct {
	Total           int64 // the file's length
	Cached          int64
	Dirty           int64
	Writeback       int64
	Evicted         int64
	RecentlyEvicted int64
	Source          string // "cachestat(2)" or "mincore(2)"
}

// ErrHidden says that the kernel does not tell this user: mincore(2) reports
// every page as cached to those who may not write the file.
var ErrHidden = errors.New("the kernel hides which pages are cached from users who may not write the file: run as its owner or as root")

// window is how much is mapped at a time: the vector has one byte a page.
const window = 1 << 30

// byMincore maps the file and asks for each page.
func byMincore(ctx context.Context, f *os.File, size, total int64) (Pages, error) {
	p := Pages{Total: total, Dirty: -1, Writeback: -1, Evicted: -1, RecentlyEvicted: -1, Source: "mincore(2)"}
	err := eachPage(ctx, f, size, func(_ int64, cached bool) {
		if cached {
			p.Cached++
		}
	})
	if err != nil {
		return Pages{}, err
	}
	return p, nil
}

// longest is the largest file, in bytes, that each page of is asked for: at some 30 ns a
// page that takes minutes. ext4 has no larger ones, and elsewhere such are sparse.
const longest = 16 << 40

// eachPage calls see for every page of a file, in order, until the context ends:
// mincore(2). Only who may write the file is told the truth.
func eachPage(ctx context.Context, f *os.File, size int64, see func(page int64, cached bool)) error {
	if size > longest {
		return fmt.Errorf("it has %d bytes, too many to ask for each page: Linux 6.5 can tell without that, of the file itself where this is one of an overlay", size)
	}
	if err := mayKnow(f, size); err != nil {
		return err
	}
	page := int64(os.Getpagesize())
	for at := int64(0); at < size; at += window {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("asking for each page: %w", err)
		}
		vec, err := inCore(f, at, min(window, size-at))
		if err != nil {
			return err
		}
		for i, b := range vec {
			see(at/page+int64(i), b&1 != 0)
		}
	}
	return nil
}

// mayKnow tells whether the kernel says which pages are cached: to the owner, or to who may
// write the file, by rights that depend on capabilities and user namespaces (mm/mincore.c,
// can_do_mincore). To others it calls every page cached, so one is asked for where the file
// has none: so far behind its end that no folio of its last page reaches there.
func mayKnow(f *os.File, size int64) error {
	behind, err := inCore(f, (size/window+1)*window, 1)
	if err != nil {
		return err
	}
	if behind[0]&1 != 0 {
		return ErrHidden
	}
	return nil
}

// inCore has a byte for each page of a part of a file.
func inCore(f *os.File, at, n int64) ([]byte, error) {
	m, err := unix.Mmap(int(f.Fd()), at, int(n), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping: %w", err)
	}
	page := int64(os.Getpagesize())
	vec := make([]byte, (n+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(n), uintptr(unsafe.Pointer(&vec[0])))
	if err := unix.Munmap(m); err != nil {
		return nil, fmt.Errorf("unmapping: %w", err)
	}
	if errno != 0 {
		return nil, fmt.Errorf("mincore: %w", errno)
	}
	return vec, nil
}

// busiest is how many files of a window are measured.
const busiest = 8

// Busiest emits cache.resident for the files of a window that had most put
// into the cache. It returns those that it may not open, that are no longer where they
// were, for which the context left no time, or whose server or daemon would have to
// answer: they are there, but this way does not lead to them.
func Busiest(ctx context.Context, mounts host.Mounts, w *sample.Window, into sample.Sink) (unopened []sample.FileID) {
	inserted := map[sample.FileID]float64{}
	w.Each(sample.CacheInserted, func(e sample.Entity, s *sample.Series) {
		if f, ok := w.Files[e.File]; ok && f.Path != "" && !f.Deleted && !f.Partial {
			inserted[e.File] += s.Sum()
		}
	})
	var ids []sample.FileID
	for id := range inserted {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b sample.FileID) int {
		return cmp.Or(cmp.Compare(inserted[b], inserted[a]), cmp.Compare(a.Ino, b.Ino))
	})
	for _, id := range ids[:min(busiest, len(ids))] {
		path := w.Files[id].Path
		if mounts.MayWait(host.DevNumber(id.Dev), path) {
			unopened = append(unopened, id)
			continue
		}
		p, err := OfSame(ctx, path, id.Ino)
		if err != nil {
			unopened = append(unopened, id)
			continue
		}
		into.Put(sample.CacheResident, sample.Entity{File: id}, float64(p.Cached), p.Source)
	}
	return unopened
}
