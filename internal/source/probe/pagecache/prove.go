package pagecache

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
)

// provePages is how long a file must be at least to prove a way with; its first
// pages are read, and its last.
const provePages = 8

// proveTries is how often a proof is begun again: other threads of this program
// may read a file meanwhile.
const proveTries = 3

// errUnproved: there is nothing to prove a way with.
var errUnproved = errors.New("not tested: there is no file on a disk to read")

// proveReads reads pages that are cached, one whole, two of which only the bytes
// between them are asked for, and the last one beyond its end: four accesses by three
// calls.
func proveReads(p *bpf.Probe) (string, error) {
	return prove(p, func(f *os.File, size int64) error {
		page := int64(os.Getpagesize())
		for _, r := range [...]struct{ at, length int64 }{{0, page}, {2*page - 1, 2}, {(size - 1) / page * page, 2 * page}} {
			if _, err := unix.Pread(int(f.Fd()), make([]byte, r.length), r.at); err != nil {
				return err
			}
		}
		return nil
	}, func(a *pagecacheAccount, _ map[string]uint64) (string, error) {
		const accesses, calls = 4, 3
		if a.Accesses != accesses || a.Calls != calls {
			return "", fmt.Errorf("of %d pages read by %d calls it counted %d by %d", accesses, calls, a.Accesses, a.Calls)
		}
		return fmt.Sprintf("counted %d pages read by %d calls", accesses, calls), nil
	})
}

// proveMapped faults two cached pages of a mapping in: one by a write to a private
// copy, which is one filemap_fault, and one by a read, which maps what is around it.
func proveMapped(p *bpf.Probe) (string, error) {
	return prove(p, func(f *os.File, size int64) (err error) {
		page := os.Getpagesize()
		m, err := unix.Mmap(int(f.Fd()), 0, provePages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		m[0] = 1
		m[2*page] += m[page] // a use, so that the load stays
		return unix.Munmap(m)
	}, func(a *pagecacheAccount, runs map[string]uint64) (string, error) {
		switch {
		case a.Faults == 0 || a.Faults > provePages:
			return "", fmt.Errorf("of three faults of a mapping it counted %d", a.Faults)
		case runs != nil && runs["map_pages"]+runs["map_pages_returned"] == 0:
			return "", errors.New("the kernel does not call it when a mapping is read")
		}
		return "counted faults of a mapping", nil
	})
}

// proveDirect reads one page past the cache.
func proveDirect(p *bpf.Probe) (string, error) {
	page := os.Getpagesize()
	buf, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return "", fmt.Errorf("making a buffer: %w", err)
	}
	defer unix.Munmap(buf) //nolint:errcheck // it is the program's own
	passed := false
	return prove(p, func(f *os.File, _ int64) error {
		past, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil //nolint:nilerr // a file system without it
		}
		_, err = unix.Pread(past, buf, 0)
		passed = err == nil
		return unix.Close(past)
	}, func(a *pagecacheAccount, _ map[string]uint64) (string, error) {
		switch {
		case !passed, a.DirectReads == 0: // or one that does it by functions of its own
			return "not tested: the test file's file system does not use them", nil
		case a.DirectReads != 1 || a.DirectReadBytes != uint64(page):
			return "", fmt.Errorf("of one direct read of %d bytes it counted %d of %d bytes", page, a.DirectReads, a.DirectReadBytes)
		}
		return "counted one direct read", nil
	})
}

// prove lets the programs count while act acts on a file, and asks whether the
// account of this process is right. All that was counted is forgotten.
func prove(p *bpf.Probe, act func(f *os.File, size int64) error, isRight func(a *pagecacheAccount, runs map[string]uint64) (string, error)) (proof string, err error) {
	f, size, err := proveFile()
	if errors.Is(err, errUnproved) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range proveTries {
		// what is read is cached: then nothing has to be waited for
		page := int64(os.Getpagesize())
		for _, at := range [...]int64{0, page, 2 * page, (size - 1) / page * page} {
			if _, err := f.ReadAt(make([]byte, 1), at); err != nil {
				return "", fmt.Errorf("reading a file to test with: %w", err)
			}
		}
		var a pagecacheAccount
		var runs map[string]uint64
		if a, runs, err = counted(p, func() error { return act(f, size) }); err != nil {
			return "", err
		}
		if proof, err = isRight(&a, runs); err == nil {
			return proof, nil
		}
	}
	return "", err
}

// counted is what the programs count of this process while act runs.
func counted(p *bpf.Probe, act func() error) (all pagecacheAccount, runs map[string]uint64, err error) {
	runs, err = p.Runs(func() error {
		err := p.SetVariable("enabled", uint32(1))
		return errors.Join(err, act(), p.SetVariable("enabled", uint32(0)))
	})
	settle := func(mode uint32) error {
		return errors.Join(p.SetVariable("settle_mode", mode), p.RunIterator("settle"))
	}
	self := uint32(os.Getpid())
	err = errors.Join(err, settle(settleEnd), bpf.Each(p.Map("accounts"), func(k pagecacheFileKey, a pagecacheAccount) {
		if k.Tgid == self {
			add(&all, &a)
		}
	}), settle(settleForget), forgetCounts(p))
	if err != nil {
		return all, nil, fmt.Errorf("testing what the programs count: %w", err)
	}
	return all, runs, nil
}

// forgetCounts empties the maps, as they were before anything was counted.
func forgetCounts(p *bpf.Probe) error {
	_, err := forget(p)
	err = errors.Join(err, empty(p.Map("waits"), func(uint32, pagecacheWaitTimes) {}), empty(p.Map("touched"), func(pagecacheTouchKey, uint64) {}))
	var sums []pagecacheSums
	if e := p.Map("totals").Lookup(uint32(0), &sums); e != nil {
		return errors.Join(err, e)
	}
	clear(sums)
	return errors.Join(err, p.Map("totals").Put(uint32(0), sums))
}

// proveFile is this program's own file, if it is on a disk, else one that is made
// without a name. Files in memory are read by other functions.
func proveFile() (f *os.File, size int64, err error) {
	if f, err = os.Open("/proc/self/exe"); err == nil {
		if size, err = onDisk(f); err == nil {
			return f, size, nil
		}
		f.Close()
	}
	for _, dir := range [...]string{os.TempDir(), "/var/tmp"} {
		fd, err := unix.Open(dir, unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
		if err != nil {
			continue
		}
		f := os.NewFile(uintptr(fd), dir)
		if _, err := f.Write(make([]byte, (provePages+1)*os.Getpagesize()-1)); err == nil {
			if size, err = onDisk(f); err == nil {
				return f, size, nil
			}
		}
		f.Close()
	}
	return nil, 0, errUnproved
}

// onDisk is the size of a file that is long enough and not in memory.
func onDisk(f *os.File) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	switch fs.Type {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.HUGETLBFS_MAGIC:
		return 0, errUnproved
	}
	if st.Size() < provePages*int64(os.Getpagesize()) {
		return 0, errUnproved
	}
	return st.Size(), nil
}
