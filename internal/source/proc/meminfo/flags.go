package meminfo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"iocause/internal/host"
)

// FilePages are the pages of the page cache by what would become of them when
// the cache is dropped, tmpfs and shared memory left out. In bytes.
type FilePages struct {
	Clean     uint64 // nobody maps or changes it: drop_caches frees it
	Mapped    uint64 // into the memory of a process
	Dirty     uint64 // must be written first
	Writeback uint64 // is being written
	Pinned    uint64 // locked by mlock(2), or in a memory file system
	Every     int    // one page in so many was looked at; 1: all of them
}

// Sum is all of them.
func (f FilePages) Sum() uint64 { return f.Clean + f.Mapped + f.Dirty + f.Writeback + f.Pinned }

// Bits of /proc/kpageflags: uapi/linux/kernel-page-flags.h.
const (
	flagDirty      = 1 << 4
	flagLRU        = 1 << 5
	flagWriteback  = 1 << 8
	flagMapped     = 1 << 11
	flagAnon       = 1 << 12
	flagSwapBacked = 1 << 14
	flagHead       = 1 << 15
	flagTail       = 1 << 16
	flagPinned     = 1 << 18 // unevictable
	flagNoPage     = 1 << 20
	entry          = 8
)

// block is how many pages are read at a time when not all are; each costs the
// kernel about 100 ns.
const (
	block    = 64
	allBlock = 16384
)

// largestFolio is how many pages a folio of the page cache may have: those that one
// entry of the table of huge pages maps, 8,192 where pages have 64 KiB.
const largestFolio = 8192

// ReadFilePages looks at the flags of pages: all, or at about most of them,
// evenly spread. It needs root; os.ErrPermission else.
func ReadFilePages(h *host.Host, total uint64, most int) (FilePages, error) {
	page := uint64(os.Getpagesize())
	f, err := os.Open(h.Proc("kpageflags"))
	if err != nil {
		return FilePages{}, fmt.Errorf("reading the flags of pages: %w", err)
	}
	defer f.Close()
	every := 1
	if n := total / page; most > 0 && n > uint64(most) {
		every = int((n + uint64(most) - 1) / uint64(most))
	}
	size := int64(allBlock)
	if every > 1 {
		size = block
	}
	buf := make([]byte, size*entry)
	sum := FilePages{Every: every}
	for at := int64(0); ; at += size * int64(every) {
		n, err := f.ReadAt(buf, at*entry)
		sum.count(buf[:n/entry*entry], page*uint64(every), headBefore(f, at, buf[:n]))
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return sum, nil
		}
		if err != nil {
			return FilePages{}, fmt.Errorf("reading the flags of pages: %w", err)
		}
	}
}

// headBefore are the flags of the folio's first page where a block, read at a page's
// number, begins inside a folio whose pages are shown without its flags; else 0. A
// folio begins at a multiple of its size: what is nearest is inside of it, too.
func headBefore(f io.ReaderAt, at int64, raw []byte) uint64 {
	if len(raw) < entry || !bareTail(binary.NativeEndian.Uint64(raw)) {
		return 0
	}
	var one [entry]byte
	for size := int64(2 * block); size <= largestFolio; size *= 2 {
		if _, err := f.ReadAt(one[:], at&^(size-1)*entry); err != nil {
			return 0
		}
		if flags := binary.NativeEndian.Uint64(one[:]); flags&flagHead != 0 {
			return flags
		}
	}
	return 0
}

// bareTail tells whether a page behind the first one of a folio has none of its flags.
func bareTail(flags uint64) bool { return flags&flagTail != 0 && flags&flagLRU == 0 }

// count adds pages of a block. The pages behind the first one of a folio have
// the folio's flags; kernels before 6.9 show them without. head are those of the
// folio that the block begins in.
func (f *FilePages) count(raw []byte, bytes, head uint64) {
	for ; len(raw) >= entry; raw = raw[entry:] {
		flags := binary.NativeEndian.Uint64(raw)
		switch {
		case flags&flagHead != 0:
			head = flags
		case bareTail(flags):
			flags |= head &^ flagHead
		case flags&flagTail == 0:
			head = 0
		}
		if flags&flagLRU == 0 || flags&(flagAnon|flagSwapBacked|flagNoPage) != 0 {
			continue
		}
		switch {
		case flags&flagWriteback != 0:
			f.Writeback += bytes
		case flags&flagPinned != 0:
			f.Pinned += bytes
		case flags&flagDirty != 0:
			f.Dirty += bytes
		case flags&flagMapped != 0:
			f.Mapped += bytes
		default:
			f.Clean += bytes
		}
	}
}
