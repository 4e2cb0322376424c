package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// ProbeStep is one pattern of access. Depth is how many threads have one
// request each under way, all of them in one sequence.
type ProbeStep struct {
	Write, Random, Direct bool
	Block                 int64 // bytes a request
	Depth                 int
}

// String names the step: "random read, direct, 4k, depth 8".
func (s ProbeStep) String() string {
	size := Size(s.Block)
	return fmt.Sprintf("%s, %s, %s, depth %d", s.Pattern(), s.Mode(), size.String(), s.Depth)
}

// Pattern is what is done: "random read".
func (s ProbeStep) Pattern() string {
	return map[bool]string{false: "sequential", true: "random"}[s.Random] + map[bool]string{false: " read", true: " write"}[s.Write]
}

// Mode is "direct" or "buffered".
func (s ProbeStep) Mode() string { return map[bool]string{false: "buffered", true: "direct"}[s.Direct] }

// ProbeResult is what one step reached. Times are in seconds. Sync is how
// long the fsync behind buffered writes took, which Seconds does not hold.
type ProbeResult struct {
	Requests, Bytes           int64
	Seconds, Sync             float64
	P50, P90, P99, P999, Most float64
}

// Probe is a file or device under test. Close it to be rid of the file.
type Probe struct {
	path string // opens the same file again, though it has no name
	file *os.File
	size int64
}

// ErrInUse says that a device is mounted or otherwise in use.
var ErrInUse = errors.New("the device is mounted or in use by another program; unmount it, or name a file or a directory on it")

// NewProbeFile makes a file without a name in dir, so that nothing is left of
// it whatever happens, fills it with size bytes that do not compress and
// writes them out. progress is told how many bytes are written.
func NewProbeFile(ctx context.Context, dir string, size int64, progress func(done int64)) (*Probe, error) {
	file, err := unnamed(dir)
	if err != nil {
		return nil, err
	}
	p := &Probe{path: "/proc/self/fd/" + strconv.Itoa(int(file.Fd())), file: file, size: size}
	buf := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	for at := int64(0); at < size; at += int64(len(buf)) {
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), p.Close())
		}
		_, _ = random.Read(buf) // never fails
		if _, err := file.WriteAt(buf[:min(int64(len(buf)), size-at)], at); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the test file: %w", err), p.Close())
		}
		progress(at)
	}
	if err := file.Sync(); err != nil {
		return nil, errors.Join(fmt.Errorf("write the test file out: %w", err), p.Close())
	}
	return p, nil
}

// unnamed makes a file that has no name, or loses it at once where the file
// system cannot do that (open(2), O_TMPFILE).
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), "test file"), nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("make a test file in %s: %w", dir, err)
	}
	fresh, err := os.MkdirTemp(dir, "iocause-lab-probe-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the test file: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(fresh, "test"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err := errors.Join(err, os.RemoveAll(fresh)); err != nil {
		return nil, fmt.Errorf("make a test file in %s: %w", dir, err)
	}
	return file, nil
}

// OpenProbeDevice opens a block device: to read, or else exclusively, so that
// what is mounted is refused. size 0 is all of it.
func OpenProbeDevice(path string, write bool, size int64) (*Probe, error) {
	mode := unix.O_RDONLY
	if write {
		mode = unix.O_RDWR | unix.O_EXCL
	}
	fd, err := unix.Open(path, mode|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("open %s to write: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	p := &Probe{path: path, file: os.NewFile(uintptr(fd), path)}
	end, err := fileSize(fd)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if p.size = end; size > 0 {
		p.size = min(size, end)
	}
	return p, nil
}

// Close ends the probe; a test file goes with it.
func (p *Probe) Close() error { return p.file.Close() }

// Size is how many bytes are under test.
func (p *Probe) Size() int64 { return p.size }

// Run makes one kind of request for the given time, or until ctx ends.
// Before every step the file leaves the page cache; buffered reads in
// sequence end with the file, as they would find it there again.
func (p *Probe) Run(ctx context.Context, s ProbeStep, length time.Duration) (*ProbeResult, error) {
	blocks := p.size / s.Block
	if blocks < 1 {
		return nil, fmt.Errorf("%w: blocks of %d bytes do not fit into %d", ErrSpec, s.Block, p.size)
	}
	mode := unix.O_RDONLY
	if s.Write {
		mode = unix.O_RDWR
	}
	if s.Direct {
		mode |= unix.O_DIRECT
	}
	fd, err := unix.Open(p.path, mode|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the test file for %v: %w", s, err)
	}
	defer unix.Close(fd)
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return nil, fmt.Errorf("drop the test file from the page cache: %w", err)
	}
	var next atomic.Int64
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	timer := time.AfterFunc(length, func() { stop.Store(true) })
	defer timer.Stop()
	// As in Run: no thread shall wait for a processor of the Go scheduler.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.Depth + 2))
	all := make([]sample.Times, s.Depth)
	errs := make([]error, s.Depth)
	var wait sync.WaitGroup
	start := time.Now()
	for i := range s.Depth {
		all[i] = latencies()
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(start.UnixNano()), uint64(i)))
			errs[i] = probeThread(fd, s, &all[i], &stop, func() int64 {
				if s.Random {
					return random.Int64N(blocks) * s.Block
				}
				n := next.Add(1) - 1
				if n >= blocks && !s.Direct && !s.Write {
					stop.Store(true) // a second pass would read the page cache
				}
				return n % blocks * s.Block
			})
			if errs[i] != nil {
				stop.Store(true)
			}
		})
	}
	wait.Wait()
	r := &ProbeResult{Seconds: time.Since(start).Seconds()}
	if s.Write && !s.Direct {
		start := time.Now()
		errs = append(errs, unix.Fsync(fd))
		r.Sync = time.Since(start).Seconds()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	for i := range all[1:] {
		all[0].Merge(&all[i+1])
	}
	l := &all[0]
	r.Requests = int64(l.N())
	r.Bytes = r.Requests * s.Block
	r.P50, r.P90, r.P99 = l.Quantile(0.5).Seconds(), l.Quantile(0.9).Seconds(), l.Quantile(0.99).Seconds()
	r.P999, r.Most = l.Quantile(0.999).Seconds(), l.Most().Seconds()
	return r, nil
}

// probeThread makes requests, one after the other.
func probeThread(fd int, s ProbeStep, l *sample.Times, stop *atomic.Bool, where func() int64) error {
	// From mmap, the buffer is aligned for O_DIRECT.
	buf, err := unix.Mmap(-1, 0, int(s.Block), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("map a buffer: %w", err)
	}
	defer func() { _ = unix.Munmap(buf) }() // nothing depends on it
	random := rand.NewChaCha8([32]byte{2})
	_, _ = random.Read(buf) // never fails
	for !stop.Load() {
		at := where()
		if stop.Load() {
			return nil
		}
		start := time.Now()
		n, err := retry(func() (int, error) {
			if s.Write {
				return unix.Pwrite(fd, buf, at)
			}
			return unix.Pread(fd, buf, at)
		})
		if err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		if int64(n) != s.Block {
			return fmt.Errorf("at byte %d: %d bytes instead of %d", at, n, s.Block)
		}
		l.Add(time.Since(start))
	}
	return nil
}
