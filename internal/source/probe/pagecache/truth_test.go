package pagecache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// The account against loads that know what they did. Within a thousandth of
// the truth, and mostly equal to it.
func TestAccountAgainstTheTruth(t *testing.T) {
	bpftest.ComparesFigures(t)
	const pages = 50021 // prime
	path := bpftest.File(t, pages)
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
		{"random blocks", load.Spec{Kind: "randread", Count: 20011}},
		{"random blocks, advised", load.Spec{Kind: "randread", Count: 20011, Advice: "random"}},
		{"any offset", load.Spec{Kind: "randread", Order: load.Unaligned, Count: 10007}},
		{"clusters", load.Spec{Kind: "clustered", Count: 20011}},
		{"four threads", load.Spec{Kind: "randread", Count: 40009, Threads: 4}},
		{"preadv2", load.Spec{Kind: "preadv2", Count: 10007}},
		{"sendfile", load.Spec{Kind: "sendfile"}},
		{"splice", load.Spec{Kind: "splice"}},
		{"copy_file_range", load.Spec{Kind: "copy_file_range"}},
		{"all of it cached", load.Spec{Kind: "randread", Count: 100003, Warm: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Path = path
			c.spec.To = path + ".copy"
			for try := 1; ; try++ {
				wrong := against(t, c.spec, pages)
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
	w := bpftest.Observe(t, openExact, func() {
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
	visits, cold := sum(sample.CacheVisits), sum(sample.CacheCold)
	want := float64(truth.VisitsDedup)
	first := float64(truth.Distinct - truth.DistinctResident)
	if spec.Warm { // the warming reads are ours too, and all of them cold
		want += pages
		first = pages
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if d := differs("visits", visits, want); d != "" {
		wrong = append(wrong, d)
	}
	if d := differs("cold pages", cold, first); d != "" {
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
	if by := sum(sample.CacheWayVisits); by != visits {
		say("%.0f visits by %s, want all %.0f", by, e.Class, visits)
	}
	if by := sum(sample.CacheWayCold); by != cold {
		say("%.0f cold pages by %s, want all %.0f", by, e.Class, cold)
	}
	e.Class = ""
	if len(wrong) > 0 {
		say("%d resident before, %.0f evicted, %.0f read again", truth.ResidentBefore, sum(sample.CacheEvicted), sum(sample.CacheReread))
	}
	return wrong
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

// fio's asynchronous engines, which read by other ways than system calls.
func TestAsynchronousReads(t *testing.T) {
	bpftest.ComparesFigures(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		bpftest.Need(t, "fio", err)
	}
	const pages = 32771
	path := bpftest.File(t, pages)
	for _, engine := range []string{"libaio", "io_uring"} {
		t.Run(engine, func(t *testing.T) {
			for try := 1; ; try++ {
				wrong := asynchronous(t, fio, engine, path, pages)
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
func asynchronous(t *testing.T, fio, engine, path string, pages float64) (wrong []string) {
	t.Helper()
	var out []byte
	w := bpftest.Observe(t, openExact, func() {
		bpftest.Drop(t, path)
		var err error
		out, err = exec.Command(fio, "--name=a", "--filename="+path, "--rw=randread", "--bs=4k", "--ioengine="+engine,
			"--iodepth=16", "--invalidate=0", "--thread", fmt.Sprintf("--size=%.0f", pages*4096)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	var visits, cold float64
	id := bpftest.ID(t, path)
	w.Each(sample.CacheVisits, func(e sample.Entity, s *sample.Series) {
		if e.File == id {
			visits += s.Sum()
		}
	})
	w.Each(sample.CacheCold, func(e sample.Entity, s *sample.Series) {
		if e.File == id {
			cold += s.Sum()
		}
	})
	// io_uring looks a page up a second time when it tries a request again that
	// could not be served at once. Nearly all of these are known for what they are;
	// on a busy machine 35 of 32,771 were counted. Reads counted twice would double
	// the figure.
	again := map[string]float64{"io_uring": pages / 100}[engine]
	if d := differs("visits", visits, pages); d != "" && (visits < pages || visits > pages+again) {
		wrong = append(wrong, d)
	}
	if d := differs("cold pages", cold, pages); d != "" {
		wrong = append(wrong, d)
	}
	way := map[string]string{"libaio": "aio", "io_uring": "io_uring"}[engine]
	w.Each(sample.CacheWayVisits, func(e sample.Entity, s *sample.Series) {
		if e.File == id && e.Class != way {
			wrong = append(wrong, fmt.Sprintf("%.0f visits by %s, want none but by %s", s.Sum(), e.Class, way))
		}
	})
	return wrong
}
