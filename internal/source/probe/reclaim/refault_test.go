package reclaim

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// ofCgroup is a figure of the kernel's own for this process's memory cgroup.
func ofCgroup(t *testing.T, names ...string) uint64 {
	t.Helper()
	dir := "/sys/fs/cgroup/memory"
	if _, err := os.Stat(filepath.Join(dir, "memory.stat")); err != nil {
		dir = "/sys/fs/cgroup"
	}
	f, err := os.Open(filepath.Join(dir, fmt.Sprintf("iocause-test-%d", os.Getpid()), "memory.stat"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if slices.Contains(names, name) {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("memory.stat has none of %q", names)
	return 0
}

// A file that is read over and over, and is larger than what its cgroup may cache,
// comes back from as far away as it is too large.
func TestRefaultDistance(t *testing.T) {
	const pages, limit = 32771, 16384 // enough to load the probe
	path := bpftest.File(t, pages)
	bpftest.Need(t, "cgroup", memoryCgroup(t, limit*os.Getpagesize()))
	read := func() {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		buf := make([]byte, 1<<16)
		for {
			if n, err := unix.Read(fd, buf); err != nil {
				t.Fatal(err)
			} else if n == 0 {
				return
			}
		}
	}
	read()
	var came, cached, left uint64
	w := bpftest.Observe(t, Open, func() {
		came, cached = ofCgroup(t, "workingset_refault_file"), ofCgroup(t, "cache", "file")/4096
		for range 3 {
			read()
		}
		came, left = ofCgroup(t, "workingset_refault_file")-came, ofCgroup(t, "cache", "file")/4096
	})
	for _, cgroup := range []string{fmt.Sprintf("/iocause-test-%d", os.Getpid()), "/"} {
		var sum, near float64
		w.Each(sample.RefaultPages, func(e sample.Entity, s *sample.Series) {
			if e.Cgroup != cgroup || e.PID != os.Getpid() {
				return
			}
			d, ok := sample.ParseDistance(e.Class)
			if !ok {
				t.Errorf("class %q", e.Class)
			}
			sum += s.Sum()
			if d.Low >= (pages-limit)*7/10 && d.High <= pages*12/10 {
				near += s.Sum()
			}
		})
		// of each page that was not there in the beginning it is not known where it had been
		if want := float64(came) - pages + float64(cached); math.Abs(sum-want) > 4*watched {
			t.Errorf("%s: %g pages came back from a known distance, want %g", cgroup, sum, want)
		}
		if near < 0.9*sum {
			t.Errorf("%s: %g of %g had been %d to %d pages away", cgroup, near, sum, (pages-limit)*7/10, pages*12/10)
		}
		e := sample.Entity{Cgroup: cgroup}
		evicted, _ := w.Sum(sample.RefaultEvicted, e)
		horizon, _ := w.Value(sample.RefaultHorizon, e)
		want := float64(came + cached - left)
		off := evicted - want // a run of which a part is evicted counts whole, or not
		if off < -4*watched || cgroup != "/" && off > 4*watched || horizon != evicted {
			t.Errorf("%s: %g pages were evicted, and %g can be looked back, want %g", cgroup, evicted, horizon, want)
		}
	}
}

// A bin begins where the one before ends, and none is wider than a quarter.
func TestBins(t *testing.T) {
	for i := range 119 {
		low, high := bin(i)
		next, _ := bin(i + 1)
		if high != next || i >= 4 && (high-low)*4 > low {
			t.Errorf("bin %d is %d to %d, the next begins at %d", i, low, high, next)
		}
		if d, ok := sample.ParseDistance(sample.Distance{Low: low, High: high}.String()); !ok || d.Low != low || d.High != high {
			t.Errorf("bin %d reads back as %+v", i, d)
		}
	}
}

// Distances are told in pages of 4 KiB, like what comes back from there and how far
// can be looked back: values alone are converted where they are taken in.
func TestDistancesOfLargePages(t *testing.T) {
	for each, want := range map[uint64]sample.Distance{1: {Low: 1024, High: 1280}, 4: {Low: 4096, High: 5120}, 16: {Low: 16384, High: 20480}} {
		if got := distance(36, each); got != want {
			t.Errorf("%d to a page: %+v, want %+v", each, got, want)
		}
	}
}
