package pagecache

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// TestMain lets the test binary be the process that is observed, so that its
// figures are its own.
func TestMain(m *testing.M) {
	if job := os.Getenv("PAGECACHE_JOB"); job != "" {
		if err := runJob(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 6 && os.Args[1] == "lab" && os.Args[2] == "disk" {
		if err := serve(os.Args[4], os.Args[6]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pageBytes is how large the pages are that the probe counts: the kernel's.
var pageBytes = os.Getpagesize()

// fileOf makes a file of n pages, not cached.
func fileOf(t *testing.T, n int) string {
	t.Helper()
	return bpftest.File(t, n*pageBytes/4096)
}

// figures are what the probe says of one process and of one file of its.
type figures struct {
	window *sample.Window
	usage  *syscall.Rusage // the kernel's own account
	pid    int
	file   sample.FileID
	ways   []sample.Way
}

// isWhole tells that calls are seen whose first page comes without an event of the
// tracepoint: from the read-ahead before it, or at the function.
func (f *figures) isWhole() bool {
	return slices.ContainsFunc(f.ways, func(w sample.Way) bool {
		return w.What == reads && w.By != bpf.ByTracepoint || w.What == demand && w.By != ""
	})
}

func (f *figures) get(m sample.Metric) float64 {
	v, _ := f.window.Sum(m, sample.Entity{PID: f.pid, File: f.file})
	return v
}

// observe runs jobs ("read PATH BLOCK", ...) in one process under the probe.
func observe(t *testing.T, path string, jobs ...string) *figures {
	t.Helper()
	p, r := opened(t)
	cmd := run(t, jobs...)
	bpftest.Collect(t, p, sample.Last, r)
	f := &figures{window: r.Window(time.Now()), ways: p.Ways(), pid: cmd.Process.Pid, usage: cmd.ProcessState.SysUsage().(*syscall.Rusage)}
	f.file = bpftest.ID(t, path)
	f.window.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
		t.Errorf("lost %s: %g", e.Class, s.Sum())
	})
	return f
}

// opened is the probe at the begin of a window.
func opened(t *testing.T) (*Probe, *sample.Recorder) {
	t.Helper()
	src, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	p := src.(*Probe)
	t.Cleanup(func() { p.Close() })
	p.sampler.pace.above = math.Inf(1) // figures are compared exactly
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(t, p, sample.First, r)
	return p, r
}

// run does jobs in one process, to their end.
func run(t *testing.T, jobs ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PAGECACHE_JOB="+strings.Join(jobs, "\n"),
		"GODEBUG=asyncpreemptoff=1") // a major fault that a signal cuts short is a minor one to the kernel
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// runJob is the observed process.
func runJob(jobs string) error {
	// one thread, so that calls that meet on a page are seen to
	runtime.LockOSThread()
	for _, job := range strings.Split(jobs, "\n") {
		var kind, path, other string
		var block, count int
		if n, _ := fmt.Sscanf(job, "pool %s %d %d", &path, &block, &count); n == 3 {
			if err := pool(path, count, time.Duration(block)*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "spin %s %d", &other, &block); n == 2 {
			if err := spin(block); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "crowded %s %s %d %d", &path, &other, &block, &count); n == 4 {
			if err := crowded(path, other, block, count); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "timed %s %s %d", &path, &other, &count); n == 3 {
			if err := timedCalls(path, other, count); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "flusher %s %d", &path, &count); n == 2 {
			if err := flusher(path, count); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "flock %s %d", &path, &count); n == 2 {
			if err := flock(path, time.Duration(count)*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "list %s", &path); n == 1 {
			if err := list(path); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "create %s %d", &path, &count); n == 2 {
			if err := create(path, count, false); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "commit %s %d", &path, &count); n == 2 {
			if err := create(path, count, true); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "steady %s %d", &path, &block); n == 2 {
			if err := steady(path, block); err != nil {
				return err
			}
			continue
		}
		if n, _ := fmt.Sscanf(job, "again %s %d %d %s", &path, &block, &count, &other); n == 4 {
			if err := again(path, other, block, time.Duration(count)*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Sscanf(job, "%s %s %d %d", &kind, &path, &block, &count); err != nil {
			return fmt.Errorf("job %q: %w", job, err)
		}
		if err := do(kind, path, block, count); err != nil {
			return fmt.Errorf("job %q: %w", job, err)
		}
	}
	return nil
}

func do(kind, path string, block, count int) error {
	flags := unix.O_RDWR
	if kind == "direct" {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Open(path, flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch kind {
	case "scan": // all of it, in blocks
		buf := make([]byte, block)
		for {
			n, err := unix.Read(fd, buf)
			if n == 0 || err != nil {
				return err
			}
		}
	case "both":
		return both(fd, block)
	case "save":
		return save(fd, block)
	case "direct": // count blocks from the start
		buf, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for i := range count {
			if _, err := unix.Pread(fd, buf, int64(i*block)); err != nil {
				return err
			}
		}
	case "random": // count distinct blocks, far from each other
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
		blocks := int(st.Size) / block
		buf := make([]byte, block)
		for i := range count {
			if _, err := unix.Pread(fd, buf, int64(i*7919%blocks*block)); err != nil {
				return err
			}
		}
	case "gaps": // count blocks, each a page behind the end of the one before
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
		buf := make([]byte, block)
		for i := range count {
			if _, err := unix.Pread(fd, buf, int64(i*(block+pageBytes))); err != nil {
				return err
			}
		}
	case "heads", "wholes": // count times, a block or eight, from where eight begin
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
		buf := make([]byte, 8*block)
		part := buf
		if kind == "heads" {
			part = buf[:block]
		}
		for i := range count {
			if _, err := unix.Pread(fd, part, int64(i*len(buf))); err != nil {
				return err
			}
		}
	case "map": // touch count pages, far from each other, without read-around
		m, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		if err := unix.Madvise(m, unix.MADV_RANDOM); err != nil {
			return err
		}
		pages := int(st.Size) / pageBytes
		var sum byte
		for i := range count {
			sum += m[i*7919%pages*pageBytes]
		}
		if sum != 0 { // the file holds zeros; a use, so that the loads stay
			return fmt.Errorf("the pages add up to %d", sum)
		}
		return unix.Munmap(m)
	case "beyond": // count times the first page, the last and as much behind it, and what is behind all
		page := int64(pageBytes)
		buf := make([]byte, 2*page)
		for range count {
			for _, r := range [...]struct{ at, length int64 }{{0, page}, {st.Size - page, 2 * page}, {st.Size, 2 * page}, {st.Size + 1<<20, page}} {
				if _, err := unix.Pread(fd, buf[:r.length], r.at); err != nil {
					return err
				}
			}
		}
	case "part": // count pages, and then the block of which they are the beginning, without waiting
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
		if _, err := unix.Pread(fd, make([]byte, count*pageBytes), 0); err != nil {
			return err
		}
		n, err := unix.Preadv2(fd, [][]byte{make([]byte, block)}, 0, unix.RWF_NOWAIT)
		if err != nil {
			return err
		}
		// A fast disk may answer before the read looks for what it asked for.
		return os.WriteFile(path+".read", []byte(strconv.Itoa(n)), 0o600)
	case "write": // count blocks over what is there
		buf := make([]byte, block)
		for i := range count {
			if _, err := unix.Pwrite(fd, buf, int64(i*block)); err != nil {
				return err
			}
		}
	case "ahead": // asks for count pages and uses none
		if _, _, errno := unix.Syscall(unix.SYS_READAHEAD, uintptr(fd), 0, uintptr(count*block)); errno != 0 {
			return errno
		}
		time.Sleep(100 * time.Millisecond) // until they are there
	case "drop":
		if err := unix.Fsync(fd); err != nil {
			return err
		}
		return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
	case "cut": // to count blocks
		return unix.Ftruncate(fd, int64(count*block))
	default:
		return fmt.Errorf("no kind %q", kind)
	}
	return nil
}

// A scan of a file that is not cached: every page is visited once and every
// one comes from disk, whatever the size of the reads.
func TestColdScan(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages = 20011 // prime
	path := fileOf(t, pages)
	for _, block := range []int{1000, 4096, 5000, 65536, 1 << 20, 16 << 20, 64 << 20} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			bpftest.Drop(t, path)
			f := observe(t, path, fmt.Sprintf("scan %s %d 0", path, block))
			if v, c := f.get(sample.CacheAccesses), f.get(sample.CacheMisses); v != pages || c != pages {
				t.Errorf("accesses %.0f, misses %.0f, want %d each", v, c, pages)
			}
			if got := f.window.Files[f.file].Path; got != path {
				t.Errorf("the file is %q, want %q", got, path)
			}
		})
	}
}

func TestSecondPassIsServedFromTheCache(t *testing.T) {
	const pages = 10007
	path := fileOf(t, pages)
	job := fmt.Sprintf("scan %s 65536 0", path)
	f := observe(t, path, job, job)
	if v, c := f.get(sample.CacheAccesses), f.get(sample.CacheMisses); v != 2*pages || c != pages {
		t.Errorf("accesses %.0f, misses %.0f, want %d and %d", v, c, 2*pages, pages)
	}
}

func TestRandomReads(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, count = 40009, 4001
	path := fileOf(t, 2*pages)
	f := observe(t, path, fmt.Sprintf("random %s %d %d", path, 2*pageBytes, count))
	v, c, n := f.get(sample.CacheAccesses), f.get(sample.CacheMisses), f.get(sample.CacheCalls)
	if !f.isWhole() {
		near(t, "accesses", v, 2*count)
		near(t, "cold pages", c, 2*count)
	} else if v != 2*count || c != 2*count || n != count {
		t.Errorf("accesses %.0f, misses %.0f, calls %.0f, want %d, %d, %d", v, c, n, 2*count, 2*count, count)
	}
	if w := f.get(sample.CacheWait); w <= 0 {
		t.Errorf("waited %g s for reads from disk, want more than nothing", w)
	}
}

// Calls of one length, each a page behind the end of the one before: what lies
// between is not taken for a part of the next, whether that comes from disk or not.
func TestReadsWithGaps(t *testing.T) {
	bpftest.ComparesFigures(t)
	const each, count = 3, 503
	path := fileOf(t, (each+1)*count)
	job := fmt.Sprintf("gaps %s %d %d", path, each*pageBytes, count)
	f := observe(t, path, job, job)
	if v, c := f.get(sample.CacheAccesses), f.get(sample.CacheMisses); v != 2*each*count || c != each*count {
		t.Errorf("accesses %.0f, misses %.0f, want %d and %d", v, c, 2*each*count, each*count)
	}
}

// Calls of which the beginning is cached, and the rest by turns nowhere on disk, where
// the kernel has it at once, and on disk: of pages before one that is still being read it
// makes no event.
func TestReadsOfWhatIsCachedInPart(t *testing.T) {
	bpftest.ComparesFigures(t)
	const head, count = 8, 101
	path := fileOf(t, 8*head*count)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 4 * count {
		if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64((2*i+1)*head*pageBytes), int64(head*pageBytes)); err != nil {
			t.Fatal(err)
		}
	}
	bpftest.Drop(t, path)
	is := observe(t, path, fmt.Sprintf("heads %s %d %d", path, head*pageBytes, count), fmt.Sprintf("wholes %s %d %d", path, head*pageBytes, count))
	if v, c := is.get(sample.CacheAccesses), is.get(sample.CacheMisses); v != 9*head*count || c != 8*head*count {
		t.Errorf("accesses %.0f, misses %.0f, want %d and %d", v, c, 9*head*count, 8*head*count)
	}
}

func TestMajorFaults(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, count = 40009, 1009
	path := fileOf(t, pages)
	f := observe(t, path, fmt.Sprintf("map %s 1 %d", path, count))
	// Linux 7.2 brings two pages with a fault, so that some of the pages are there already.
	if m, c := f.get(sample.CacheMajor), f.get(sample.CacheMappedMisses); m != c || m > count || m < 0.97*count {
		t.Errorf("major faults %.0f, cold pages %.0f, want the same, %d or some less", m, c, count)
	}
	if all, _ := f.window.Sum(sample.CacheMajor, sample.Entity{PID: f.pid}); all != float64(f.usage.Majflt) {
		t.Errorf("major faults of the process %.0f, its ru_majflt is %d", all, f.usage.Majflt)
	}
	if v := f.get(sample.CacheAccesses); v != 0 {
		t.Errorf("%.0f accesses by read calls, want none", v)
	}
	if s := f.window.Files[f.file].Size; s != int64(pages*pageBytes) {
		t.Errorf("the file has %d bytes, want %d", s, pages*pageBytes)
	}
}

func TestDirectReadsPassTheCache(t *testing.T) {
	bpftest.ComparesFigures(t)
	const count = 503
	path := fileOf(t, 4001)
	f := observe(t, path, fmt.Sprintf("direct %s 4096 %d", path, count))
	if n, b, v := f.get(sample.DirectReads), f.get(sample.DirectReadBytes), f.get(sample.CacheAccesses); n != count || b != count*4096 || v != 0 {
		t.Errorf("direct reads %.0f, bytes %.0f, accesses %.0f, want %d, %d, 0", n, b, v, count, count*4096)
	}
}

// Whole pages written over pages that are not cached are no misses.
func TestWritesAreNotMisses(t *testing.T) {
	bpftest.ComparesFigures(t)
	const count = 2003
	path := fileOf(t, 4001)
	f := observe(t, path, fmt.Sprintf("write %s %d %d", path, pageBytes, count))
	if in, wa, c := f.get(sample.CacheInserted), f.get(sample.CacheWriteAlloc), f.get(sample.CacheMisses); in != count || wa != count || c != 0 {
		t.Errorf("inserted %.0f, for writes %.0f, misses %.0f, want %d, %d, 0", in, wa, c, count, count)
	}
}

// Pages that somebody has dropped are told with who it was; those of a file that is cut
// short are gone, and nobody will read them again.
func TestDroppedByRequest(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages = 4001
	path := fileOf(t, pages)
	f := observe(t, path, fmt.Sprintf("scan %s %d 0", path, 16*pageBytes), fmt.Sprintf("drop %s 0 0", path))
	if d, e := f.get(sample.CacheDropped), f.get(sample.CacheEvicted); d != pages || e != 0 {
		t.Errorf("dropped %.0f, evicted %.0f, want %d and 0", d, e, pages)
	}
	f = observe(t, path, fmt.Sprintf("scan %s %d 0", path, 16*pageBytes), fmt.Sprintf("cut %s %d 7", path, pageBytes))
	if d := f.get(sample.CacheDropped); d != 0 {
		t.Errorf("dropped %.0f of what the file had no more, want 0", d)
	}
}

// Pages that are read ahead and dropped before use are wasted; pages that are
// dropped after use are not.
func TestWastedReadAhead(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages, count = 4001, 101
	path := fileOf(t, pages)
	f := observe(t, path, fmt.Sprintf("random %s %d %d", path, pageBytes, count), fmt.Sprintf("drop %s 0 0", path))
	if w := f.get(sample.CacheWasted); w != 0 {
		t.Errorf("wasted %.0f of pages that were all used, want 0", w)
	}
	ahead := min(count, 1280<<10/pageBytes) // no more than a request of the disk
	f = observe(t, path, fmt.Sprintf("ahead %s %d %d", path, pageBytes, ahead), fmt.Sprintf("drop %s 0 0", path))
	if in, w := f.get(sample.CacheInserted), f.get(sample.CacheWasted); in != float64(ahead) || w != float64(ahead) {
		t.Errorf("inserted %.0f, wasted %.0f of pages that nobody used, want %d each", in, w, ahead)
	}
}
