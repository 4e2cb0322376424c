package pagecache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// The account against loads that know what they did. Within a thousandth of
// the truth, and mostly equal to it. IOCAUSE_PAGES makes the file smaller, for
// machines that are emulated.
func TestAccountAgainstTheTruth(t *testing.T) {
	bpftest.ComparesFigures(t)
	pages := filePages(t)
	path := fileOf(t, int(pages))
	for _, c := range []struct {
		name string
		spec load.Spec
	}{
		{"scan in 4 KiB", load.Spec{Kind: "read", BlockSize: 4096}},
		{"scan in 64 KiB", load.Spec{Kind: "read", BlockSize: 64 << 10}},
		{"scan in 1 MiB", load.Spec{Kind: "read", BlockSize: 1 << 20}},
		{"scan in 16 MiB", load.Spec{Kind: "read", BlockSize: 16 << 20}},
		{"scan in 64 MiB", load.Spec{Kind: "read", BlockSize: 64 << 20}},
		{"scan in 1000 bytes", load.Spec{Kind: "small", BlockSize: 1000}},
		{"scan in 5000 bytes", load.Spec{Kind: "small", BlockSize: 5000}},
		{"two passes", load.Spec{Kind: "read", BlockSize: 64 << 10, Passes: 2}},
		{"every block once", load.Spec{Kind: "randread", Order: load.Once}},
		{"random blocks", load.Spec{Kind: "randread", Count: pages * 2 / 5}},
		{"random blocks, advised", load.Spec{Kind: "randread", Count: pages * 2 / 5, Advice: "random"}},
		{"any offset", load.Spec{Kind: "randread", Order: load.Unaligned, Count: pages / 5}},
		{"clusters", load.Spec{Kind: "clustered", Count: pages * 2 / 5}},
		{"four threads", load.Spec{Kind: "randread", Count: pages * 4 / 5, Threads: 4}},
		{"200 threads", load.Spec{Kind: "randread", BlockSize: 4096, Count: pages * 2 / 5, Threads: 200}},
		{"preadv2", load.Spec{Kind: "preadv2", Count: pages / 5}},
		{"io_uring", load.Spec{Kind: "io_uring", Order: load.Once, Depth: 32}},
		{"sendfile", load.Spec{Kind: "sendfile"}},
		{"splice", load.Spec{Kind: "splice"}},
		{"copy_file_range", load.Spec{Kind: "copy_file_range"}},
		{"all of it cached", load.Spec{Kind: "randread", Count: pages * 2, Warm: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Path = path
			c.spec.To = path + ".copy"
			for try := 1; ; try++ {
				wrong := against(t, c.spec, float64(pages))
				if len(wrong) == 0 {
					return
				}
				if try == tries {
					t.Fatalf("wrong %d times:\n%s", tries, strings.Join(wrong, "\n"))
				}
				t.Logf("try %d:\n%s", try, strings.Join(wrong, "\n"))
			}
		})
	}
}

// tries is how often a load may be repeated: a host may hide a few events of
// any run, and the kernel may take pages back at any time. An account that is
// wrong by itself is wrong every time.
const tries = 3

// against runs a load on a file of so many pages that are not cached, and says
// where the account differs from it.
func against(t *testing.T, spec load.Spec, pages float64) (wrong []string) {
	t.Helper()
	bpftest.Drop(t, spec.Path)
	var truth *load.Result
	var ways []sample.Way
	w := bpftest.Observe(t, openTelling(&ways), func() {
		bpftest.Drop(t, spec.Path)
		var err error
		if truth, err = load.Run(context.Background(), spec, nil); err != nil {
			t.Fatal(err)
		}
	})
	e := sample.Entity{PID: os.Getpid(), File: bpftest.ID(t, spec.Path)}
	sum := func(m sample.Metric) float64 {
		v, _ := w.Sum(m, e)
		return v
	}
	accesses, misses := sum(sample.CacheAccesses), sum(sample.CacheMisses)
	want := float64(truth.AccessesDedup)
	first := float64(truth.Distinct - truth.DistinctResident)
	if spec.Warm { // the warming reads are ours too, and each a miss
		want += pages
		first = pages
	}
	tellFigure(t, ways, accesses, want, misses, first)
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if d := differs("accesses", accesses, want); d != "" {
		wrong = append(wrong, d)
	}
	if d := differs("cold pages", misses, first); d != "" {
		wrong = append(wrong, d)
	}
	if spec.Kind != "copy_file_range" { // it reads what its own writing side asks for
		touched, _ := w.Value(sample.CacheTouched, e)
		// Of a run that is read as a whole exactly one page is watched; of
		// others it is chance, as likely as the part that is read.
		read := float64(truth.Distinct)
		if spec.Warm {
			read = pages
		}
		if by := 64 + 4*64*math.Sqrt(read/64*(1-read/pages)); math.Abs(touched-read) > by {
			say("%.0f different pages, want %.0f within %.0f", touched, read, by)
		}
	}
	e.Class = cmp.Or(map[load.Kind]string{"sendfile": "splice", "splice": "splice", "copy_file_range": "copy"}[spec.Kind], "read")
	isAsync := spec.Kind == "io_uring" // it goes on where the thread returns from any call, as a futex's
	if by := sum(sample.CacheWayAccesses); by != accesses && !isAsync {
		say("%.0f accesses by %s, want all %.0f", by, e.Class, accesses)
	}
	if by := sum(sample.CacheWayMisses); by != misses && !isAsync {
		say("%.0f cold pages by %s, want all %.0f", by, e.Class, misses)
	}
	e.Class = ""
	if len(wrong) > 0 {
		say("%d resident before, %.0f evicted, %.0f read again", truth.ResidentBefore, sum(sample.CacheEvicted), sum(sample.CacheReread))
	}
	return wrong
}

// filePages is how long a file that is read has to be.
func filePages(t *testing.T) int64 {
	t.Helper()
	const usual = 50021 // prime
	text := os.Getenv("IOCAUSE_PAGES")
	if text == "" {
		return usual
	}
	pages, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// openTelling is openExact, and tells the ways.
func openTelling(ways *[]sample.Way) func(*host.Host) (sample.Source, error) {
	return func(h *host.Host) (sample.Source, error) {
		p, err := openExact(h)
		if err == nil {
			*ways = p.(*Probe).Ways()
		}
		return p, err
	}
}

// tellFigure writes what test/vm/matrix reads: the way, what was counted and the truth.
func tellFigure(t *testing.T, ways []sample.Way, accesses, want, misses, cold float64) {
	t.Helper()
	i := slices.IndexFunc(ways, func(w sample.Way) bool { return w.What == reads })
	t.Logf("figure: %s accesses %.0f %.0f misses %.0f %.0f", ways[i].Hooks[0], accesses, want, misses, cold)
}

// openExact is Open without sampling: a fast load is to be counted to the page.
func openExact(h *host.Host) (sample.Source, error) {
	p, err := open(h, Slow)
	if err != nil {
		return nil, err
	}
	p.sampler.pace.above = math.Inf(1)
	return p, nil
}

// differs says that a figure is more than a thousandth from the truth, or "".
func differs(what string, got, want float64) string {
	if math.Abs(got-want) <= want/1000 {
		return ""
	}
	return fmt.Sprintf("%s %.0f, the truth is %.0f (%+.3f %%)", what, got, want, 100*(got-want)/want)
}

// near fails the test where a figure differs.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if d := differs(what, got, want); d != "" {
		t.Error(d)
	}
}

// fio's asynchronous engines, which read by other ways than system calls. On a loop
// device pages of one request arrive one after the other: io_uring copies what is
// there, and goes on with the rest later, in any thread.
func TestAsynchronousReads(t *testing.T) {
	bpftest.ComparesFigures(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		bpftest.Need(t, "fio", err)
	}
	const pages = 16 * 2039 // whole requests of all sizes
	path := fileOf(t, pages)
	image, at := labtest.LoopMount(t, "ext4")
	looped := filepath.Join(at, "data")
	if err := os.WriteFile(looped, make([]byte, pages*4096), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, engine, size string
		path               []string // and what it is made of
	}{
		{"libaio", "libaio", "4k", []string{path}},
		{"io_uring", "io_uring", "4k", []string{path}},
		{"io_uring, loop, 16 KiB", "io_uring", "16k", []string{looped, image}},
		{"io_uring, loop, 64 KiB", "io_uring", "64k", []string{looped, image}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for try := 1; ; try++ {
				wrong := asynchronous(t, []string{fio, "--filename=" + c.path[0], "--bs=" + c.size, "--ioengine=" + c.engine}, c.path, pages)
				if len(wrong) == 0 {
					return
				}
				if try == tries {
					t.Fatalf("wrong %d times:\n%s", tries, strings.Join(wrong, "\n"))
				}
				t.Logf("try %d:\n%s", try, strings.Join(wrong, "\n"))
			}
		})
	}
}

// asynchronous lets fio read every page of a file once, and says where the
// account differs from that.
func asynchronous(t *testing.T, fio, path []string, pages float64) (wrong []string) {
	t.Helper()
	var out []byte
	w := bpftest.Observe(t, openExact, func() {
		for _, p := range path {
			bpftest.Drop(t, p)
		}
		var err error
		out, err = exec.Command(fio[0], append(fio[1:], "--name=a", "--rw=randread", "--iodepth=32", "--invalidate=0", "--thread",
			fmt.Sprintf("--size=%.0f", pages*4096))...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	var accesses, misses float64
	id := bpftest.ID(t, path[0])
	w.Each(sample.CacheAccesses, func(e sample.Entity, s *sample.Series) {
		if e.File == id {
			accesses += s.Sum()
		}
	})
	w.Each(sample.CacheMisses, func(e sample.Entity, s *sample.Series) {
		if e.File == id {
			misses += s.Sum()
		}
	})
	for what, got := range map[string]float64{"accesses": accesses, "cold pages": misses} {
		if got != pages {
			wrong = append(wrong, fmt.Sprintf("%s %.0f, the truth is %.0f", what, got, pages))
		}
	}
	way := "io_uring"
	if slices.Contains(fio, "--ioengine=libaio") {
		way = "aio"
	}
	w.Each(sample.CacheWayAccesses, func(e sample.Entity, s *sample.Series) {
		if e.File == id && e.Class != way {
			wrong = append(wrong, fmt.Sprintf("%.0f accesses by %s, want none but by %s", s.Sum(), e.Class, way))
		}
	})
	return wrong
}
