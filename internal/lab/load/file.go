package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrStillCached says that a file did not leave the page cache.
var ErrStillCached = errors.New("pages are still in the page cache")

// Create makes a file of size bytes that holds data everywhere (no holes, no
// two equal blocks) and has reached the device. A file that is already like
// that is left as it is.
func Create(path string, size int64) (err error) {
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil && st.Size == size && st.Blocks*512 >= size {
		return nil
	}
	f, err := createDirect(path, size)
	if err != nil {
		return fmt.Errorf("make a test file: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close the test file: %w", closeErr)
		}
	}()
	// From mmap, the buffer is aligned for O_DIRECT.
	buf, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("map a buffer: %w", err)
	}
	defer func() { _ = unix.Munmap(buf) }()
	rand.NewChaCha8([32]byte{1}).Read(buf)
	for at := int64(0); at < size; {
		chunk := buf[:min(int64(len(buf)), size-at)]
		for i := 0; i+8 <= len(chunk); i += pageSize {
			binary.LittleEndian.PutUint64(chunk[i:], uint64(at)+uint64(i)+1)
		}
		n, err := f.Write(chunk)
		if err != nil {
			return fmt.Errorf("fill %s: %w", path, err)
		}
		at += int64(n)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("bring %s to the device: %w", path, err)
	}
	return nil
}

// createDirect opens a new file past the page cache where that is possible: a
// test file of gigabytes should not push out what is cached.
func createDirect(path string, size int64) (*os.File, error) {
	const mode = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	if size%pageSize == 0 {
		if f, err := os.OpenFile(path, mode|unix.O_DIRECT, 0o644); err == nil {
			return f, nil
		}
	}
	return os.OpenFile(path, mode, 0o644)
}

// Drop writes a file back, drops it from the page cache and makes sure that
// nothing of it is left there.
func Drop(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s to drop it from the cache: %w", path, err)
	}
	defer unix.Close(fd)
	size, err := fileSize(fd)
	if err != nil {
		return fmt.Errorf("size of %s: %w", path, err)
	}
	var left int64
	// Pages that another CPU still holds in a batch are let go a little later.
	for try := range 20 {
		if try > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if err := unix.Fsync(fd); err != nil {
			return fmt.Errorf("write %s back: %w", path, err)
		}
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop %s from the cache: %w", path, err)
		}
		resident, err := residency(fd, size)
		if err != nil {
			return err
		}
		if left = resident.count(); left == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %d %w", path, left, ErrStillCached)
}

// Warm reads a file into the page cache.
func Warm(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open %s to warm the cache: %w", path, err)
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for at := int64(0); at < size; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			return fmt.Errorf("read %s into the cache: %w", path, err)
		}
		at += int64(n)
	}
	return nil
}

// ResidentPages is how many pages of a file are in the page cache. The file
// is opened for writing, because mincore calls everything resident for those
// who may only read (since Linux 5.2, mm/mincore.c can_do_mincore).
func ResidentPages(path string) (int64, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s to look at its pages: %w", path, err)
	}
	defer unix.Close(fd)
	size, err := fileSize(fd)
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", path, err)
	}
	b, err := residency(fd, size)
	return b.count(), err
}

// residency asks mincore about the first size bytes; fd must be open for writing.
func residency(fd int, size int64) (bitmap, error) {
	pages := (size + pageSize - 1) / pageSize
	found := newBitmap(pages)
	const chunk = 1 << 18 // pages a call: 1 GiB
	vec := make([]byte, min(pages, chunk))
	for at := int64(0); at < pages; at += chunk {
		n := min(pages-at, chunk)
		mem, err := unix.Mmap(fd, at*pageSize, int(n*pageSize), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return nil, fmt.Errorf("map a file to look at its pages: %w", err)
		}
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&vec[0])))
		if err := unix.Munmap(mem); err != nil {
			return nil, fmt.Errorf("unmap a file: %w", err)
		}
		if errno != 0 {
			return nil, fmt.Errorf("ask which pages are resident (mincore): %w", errno)
		}
		for i, v := range vec[:n] {
			if v&1 != 0 {
				found.set(at + int64(i))
			}
		}
	}
	return found, nil
}

// fileSize is the size of a file or of a block device.
func fileSize(fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("stat: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return st.Size, nil
	}
	end, err := unix.Seek(fd, 0, unix.SEEK_END)
	if err != nil {
		return 0, fmt.Errorf("find the end of the device: %w", err)
	}
	return end, nil
}
