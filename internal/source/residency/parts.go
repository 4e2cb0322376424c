package residency

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// Range is a part of a file that is in the cache as a whole, in bytes. The
// last one may end beyond the file's length, with its last page.
type Range struct{ Offset, Length int64 }

// Shares divides a file into n parts of the same length, fewer when it has
// fewer pages, and tells how much of each is in the cache, 0 to 1.
func Shares(path string, same ID, n int) ([]float64, error) {
	f, size, err := openSame(path, same)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	total := (size + page - 1) / page
	cells := min(int64(n), total)
	shares := make([]float64, cells)
	if keptElsewhere(int(f.Fd())) {
		return sharesByMincore(f, size, shares)
	}
	for i := range shares {
		first, end := total*int64(i)/cells, total*int64(i+1)/cells
		p, err := stat(int(f.Fd()), first*page, (end-first)*page)
		if errors.Is(err, unix.ENOSYS) {
			return sharesByMincore(f, size, shares)
		}
		if err != nil {
			return nil, hidden(path, err)
		}
		shares[i] = float64(p.Cached) / float64(end-first)
	}
	return shares, nil
}

func sharesByMincore(f *os.File, size int64, shares []float64) ([]float64, error) {
	page := int64(os.Getpagesize())
	total, cells := (size+page-1)/page, int64(len(shares))
	i := int64(0)
	err := eachPage(context.Background(), f, size, func(n int64, cached bool) {
		for n >= total*(i+1)/cells {
			i++
		}
		if cached {
			shares[i] += 1 / float64(total*(i+1)/cells-total*i/cells)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("finding the cached parts of %q: %w", f.Name(), err)
	}
	return shares, nil
}

// Ranges are the parts of a file that are in the cache, in order; same is as
// for Shares. They are
// found by halving what is cached in part; once that has taken as many system
// calls as mincore(2) takes time, mincore finishes it where it is permitted.
func Ranges(path string, same ID) ([]Range, error) {
	f, size, err := openSame(path, same)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	h := &halving{fd: int(f.Fd()), page: page, calls: 1000}
	if size > longest || mayKnow(f, size) != nil {
		h.calls = math.MaxInt // there is no other way
	}
	elsewhere := keptElsewhere(h.fd)
	if !elsewhere {
		err = h.look(0, (size+page-1)/page)
	}
	if elsewhere || errors.Is(err, unix.ENOSYS) || errors.Is(err, errTooMany) {
		h.out = nil
		err = eachPage(context.Background(), f, size, func(n int64, cached bool) {
			if cached {
				h.add(n, 1)
			}
		})
	}
	if err != nil {
		return nil, hidden(path, err)
	}
	return h.out, nil
}

var errTooMany = errors.New("too many parts")

type halving struct {
	fd    int
	page  int64
	calls int
	out   []Range
}

func (h *halving) look(first, end int64) error {
	if first >= end {
		return nil
	}
	if h.calls--; h.calls < 0 {
		return errTooMany
	}
	p, err := stat(h.fd, first*h.page, (end-first)*h.page)
	switch {
	case err != nil:
		return err
	case p.Cached <= 0:
		return nil
	case p.Cached >= end-first:
		h.add(first, end-first)
		return nil
	}
	middle := first + (end-first)/2
	if err := h.look(first, middle); err != nil {
		return err
	}
	return h.look(middle, end)
}

// add appends pages, to the last range when they follow it.
func (h *halving) add(first, pages int64) {
	offset, length := first*h.page, pages*h.page
	if n := len(h.out); n > 0 && h.out[n-1].Offset+h.out[n-1].Length == offset {
		h.out[n-1].Length += length
		return
	}
	h.out = append(h.out, Range{offset, length})
}

// openSame opens a file whose data is not read, unless it is another one by now.
func openSame(path string, same ID) (*os.File, int64, error) {
	fd, err := host.OpenKind(path, 0, unix.S_IFREG, unix.S_IFBLK)
	if err != nil {
		return nil, 0, fmt.Errorf("looking for its cached parts: %w", err)
	}
	f := os.NewFile(uintptr(fd), path)
	d, err := describe(fd, path)
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("looking at %q: %w", path, err)
	}
	if same != (ID{}) && d.ID != same {
		f.Close()
		return nil, 0, fmt.Errorf("looking at %q: it is not the file that was measured, or not visible from here", path)
	}
	return f, d.Size, nil
}

func hidden(path string, err error) error {
	if errors.Is(err, unix.EPERM) {
		err = ErrHidden
	}
	return fmt.Errorf("finding the cached parts of %q: %w", path, err)
}
