package pagecache

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// openSampled is Open on a machine whose readers are never too slow to be
// sampled and where others may read what they like.
func openSampled(h *host.Host) (sample.Source, error) {
	p, err := open(h, Slow)
	if err != nil {
		return nil, err
	}
	p.sampler.pace = pace{above: 1000, miss: 1e9}
	return p, nil
}

// reader starts a process of one thread that reads cached pages for so long,
// some pages of a and some of b in turn, and gives how often it read.
func reader(t *testing.T, a, b string, pages int, length time.Duration) (wait func() (pid int, reads float64)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("PAGECACHE_JOB=again %s %d %d %s", a, pages, length.Milliseconds(), b))
	cmd.Stderr = os.Stderr
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (int, float64) {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		var reads float64
		if _, err := fmt.Sscan(out.String(), &reads); err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
		return cmd.Process.Pid, reads
	}
}

// again is what the process of reader does.
func again(path, other string, pages int, length time.Duration) error {
	var fds [2]int
	for i, name := range []string{path, other} {
		fd, err := unix.Open(name, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(zero)
	b := make([]byte, pageBytes)
	reads := 0
	for end := time.Now().Add(length); time.Now().Before(end); {
		for i := range 1009 {
			if _, err := unix.Pread(fds[i/7%2], b, int64(i*7%pages*pageBytes)); err != nil {
				return err
			}
			reads++
			if i%5 < 2 { // a read call, but none of the page cache
				if _, err := unix.Read(zero, b[:1]); err != nil {
					return err
				}
			}
		}
	}
	_, err = fmt.Println(reads)
	return err
}

// What reads of cached data are estimated at is the kernel's count of the read
// calls, however busy the machine is, and that it is an estimate is said.
func TestManyCachedReadsAreSampled(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages = 211
	const length = 3 * time.Second
	a, b := fileOf(t, pages), bpftest.File(t, pages)
	var pids [4]int
	var truths [4]float64
	w := bpftest.Observe(t, openSampled, func() {
		var waits [4]func() (int, float64)
		for i := range waits { // more than there are processors, so that each is kept waiting
			waits[i] = reader(t, a, b, pages, length)
		}
		for i, wait := range waits {
			pids[i], truths[i] = wait()
		}
	})
	for i, pid := range pids {
		got, _ := w.Sum(sample.CacheAccesses, sample.Entity{PID: pid})
		if got < 0.97*truths[i] || got > 1.03*truths[i] {
			t.Errorf("%.0f accesses, %.4f of the %.0f", got, got/truths[i], truths[i])
		}
		t.Logf("%.5f of the %.0f reads", got/truths[i], truths[i])
		for _, path := range []string{a, b} { // half each
			got, _ := w.Sum(sample.CacheAccesses, sample.Entity{PID: pid, File: bpftest.ID(t, path)})
			if got < 0.4*truths[i] || got > 0.6*truths[i] {
				t.Errorf("%.0f accesses of one of two files, %.3f of the truth", got, got/truths[i])
			}
		}
	}
	told := false
	for _, g := range w.Gaps {
		told = told || strings.Contains(g.Why, "scaled")
	}
	if !told {
		t.Errorf("nothing says that reads were sampled: %v", w.Gaps)
	}
}
