package pagecache

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Shared memory in huge pages, as databases and virtual machines have it, is no cache of
// any file, though the kernel tells of it by the same event.
func TestHugePagesAreNoCache(t *testing.T) {
	h := host.Live()
	pool := h.Proc("sys/vm/nr_hugepages")
	before, err := os.ReadFile(pool)
	bpftest.Need(t, "hugetlb", err)
	had, err := strconv.Atoi(strings.TrimSpace(string(before)))
	if err != nil {
		t.Fatal(err)
	}
	const pages = 2
	bpftest.Need(t, "root", os.WriteFile(pool, []byte(strconv.Itoa(had+pages)), 0))
	t.Cleanup(func() {
		if err := os.WriteFile(pool, before, 0); err != nil {
			t.Error(err)
		}
	})
	info, err := os.ReadFile(h.Proc("meminfo"))
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(regexp.MustCompile(`Hugepagesize: +(\d+) kB`).FindStringSubmatch(string(info))[1])
	if err != nil {
		t.Fatal(err)
	}
	h.Self = 0 // here it is this process that is looked at
	src, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer src.Close()
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(t, src, sample.First, r)
	m, err := unix.Mmap(-1, 0, pages*kib<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(m); i += pageBytes {
		m[i] = 1
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	bpftest.Collect(t, src, sample.Last, r)
	w := r.Window(time.Now())
	for _, metric := range []sample.Metric{sample.CacheInserted, sample.CacheWasted, sample.CacheDropped} {
		n, _ := w.SumWhere(metric, func(e sample.Entity) bool { return e.PID == os.Getpid() })
		if n >= float64(kib<<10/pageBytes) {
			t.Errorf("%s is %g pages, want none of the %d huge pages", metric, n, pages)
		}
	}
}
