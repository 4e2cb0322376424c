package load

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/require"
)

// testFile makes a file on a disk, whose pages can leave the page cache.
func testFile(t *testing.T, size int64) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // the usual place may be in memory
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "data")
	require.NoError(t, Create(path, size))
	return path
}

func run(t *testing.T, spec Spec) *Result {
	t.Helper()
	r, err := Run(context.Background(), spec, nil)
	if err != nil {
		t.Fatalf("%v: %v", spec.Args(), err)
	}
	return r
}

func TestExactAccounts(t *testing.T) {
	const size = 4 << 20 // 1024 pages
	path := testFile(t, size)
	tests := []struct {
		name                              string
		spec                              Spec
		calls, bytes                      int64
		accesses, dedup, writes, distinct int64
	}{
		{"one pass", Spec{Kind: "read", BlockSize: 64 << 10}, 64, size, 1024, 1024, 0, 1024},
		{"two passes", Spec{Kind: "read", BlockSize: 64 << 10, Passes: 2}, 128, 2 * size, 2048, 2048, 0, 1024},
		{"two threads, two passes each", Spec{Kind: "read", BlockSize: 1 << 20, Passes: 2, Threads: 2}, 16, 4 * size, 4096, 4096, 0, 1024},
		// 4195 calls of 1000 bytes: 1024 pages, and each edge inside a page is accessed twice.
		{"1000 bytes a call", Spec{Kind: "small", BlockSize: 1000}, 4195, size, 1024 + 4194 - 8, 1024, 0, 1024},
		{"1000 bytes, 41 calls", Spec{Kind: "small", BlockSize: 1000, Count: 41}, 41, 41000, 51, 11, 0, 11},
		// 839 calls of 5000 bytes; every 512th starts on a page edge (5000*512 = 625*4096).
		{"5000 bytes a call", Spec{Kind: "small", BlockSize: 5000}, 839, size, 1024 + 838 - 1, 1024, 0, 1024},
		{"prime number of random reads", Spec{Kind: "randread", Count: 997}, 997, 997 * 8192, 1994, -1, 0, -1},
		{"random reads by three threads", Spec{Kind: "randread", Count: 997, Threads: 3}, 997, 997 * 8192, 1994, -1, 0, -1},
		{"every block once", Spec{Kind: "randread", Order: Once}, 512, size, 1024, -1, 0, 1024},
		{"every block once by three threads", Spec{Kind: "randread", Order: Once, Threads: 3}, 512, size, 1024, -1, 0, 1024},
		{"preadv2", Spec{Kind: "preadv2", Count: 101, BlockSize: 4096}, 101, 101 * 4096, 101, -1, 0, -1},
		{"clustered", Spec{Kind: "clustered", Count: 100, Run: 5}, 100, 100 * 4096, 100, -1, 0, -1},
		{"sendfile", Spec{Kind: "sendfile"}, 32, size, 1024, 1024, 0, 1024},
		{"splice", Spec{Kind: "splice"}, -1, size, 1024, 1024, 0, 1024},
		{"copy_file_range", Spec{Kind: "copy_file_range"}, 4, size, 1024, 1024, 0, 1024},
		{"direct", Spec{Kind: "direct", Count: 97}, 97, 97 * 4096, 0, 0, 0, -1},
		{"direct in sequence", Spec{Kind: "direct", Order: Sequential, BlockSize: 1 << 20}, 4, size, 0, 0, 0, 1024},
		{"mmap-seq", Spec{Kind: "mmap-seq"}, 1024, size, 1024, 1024, 0, 1024},
		{"mmap-seq, 16k a touch", Spec{Kind: "mmap-seq", BlockSize: 16 << 10}, 256, size, 1024, 1024, 0, 1024},
		{"mmap-rand", Spec{Kind: "mmap-rand", Count: 499, Advice: "random"}, 499, 499 * 4096, 499, -1, 0, -1},
		{"mmap-write", Spec{Kind: "mmap-write", Count: 499}, 499, 499 * 4096, 499, -1, 0, -1},
		{"remap", Spec{Kind: "remap"}, 64, size, 1024, 1024, 0, 1024},
		{"remap, 5000 bytes a call", Spec{Kind: "remap", BlockSize: 5000}, 839, size, 1024 + 838 - 1, 1024, 0, 1024},
		{"write", Spec{Kind: "write", SyncEvery: 8}, 32, size, 0, 0, 1024, 1024},
		{"randwrite", Spec{Kind: "randwrite", Count: 31}, 31, 31 * 8192, 0, 0, 62, -1},
		{"rmw", Spec{Kind: "rmw", Count: 31}, 31, 31 * 8192, 62, -1, 62, -1},
		{"direct-write", Spec{Kind: "direct-write", Count: 13}, 13, 13 * 4096, 0, 0, 0, -1},
		{"io_uring", Spec{Kind: "io_uring", Count: 997, Depth: 7}, 997, 997 * 4096, 997, -1, 0, -1},
		{"io_uring, every block once by two threads", Spec{Kind: "io_uring", Order: Once, Threads: 2, Passes: 2}, 2048, 2 * size, 2048, -1, 0, 1024},
		{"io_uring, direct", Spec{Kind: "io_uring", Order: Sequential, BlockSize: 64 << 10, Direct: true, Depth: 1}, 64, size, 0, 0, 0, 1024},
		{"randread, direct", Spec{Kind: "randread", Count: 11, Direct: true}, 11, 11 * 8192, 0, 0, 0, -1},
		{"zipf", Spec{Kind: "randread", Order: Zipf, Count: 997}, 997, 997 * 8192, 1994, -1, 0, -1},
		{"part of the file", Spec{Kind: "read", Size: 1 << 20}, 8, 1 << 20, 256, 256, 0, 256},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Path = path
			r := run(t, tt.spec)
			check := func(what string, got, want int64) {
				t.Helper()
				if want >= 0 && got != want {
					t.Errorf("%s: %d, want %d", what, got, want)
				}
			}
			check("calls", r.Calls, tt.calls)
			check("bytes", r.Bytes, tt.bytes)
			check("accesses", r.Accesses, tt.accesses)
			check("accesses without shared edges", r.AccessesDedup, tt.dedup)
			check("accesses by writes", r.WriteAccesses, tt.writes)
			check("distinct pages", r.Distinct, tt.distinct)
		})
	}
}

func TestDropAndResidency(t *testing.T) {
	const size = 8 << 20
	path := testFile(t, size)
	require.NoError(t, Drop(path))
	cold := run(t, Spec{Kind: "read", Path: path})
	if cold.ResidentBefore != 0 || cold.DistinctResident != 0 {
		t.Errorf("after the drop %d pages were resident", cold.ResidentBefore)
	}
	if cold.InBlock*512 < size {
		t.Errorf("a cold pass read %d bytes from the device, want %d", cold.InBlock*512, size)
	}
	warm := run(t, Spec{Kind: "read", Path: path, Size: size / 2})
	if warm.ResidentBefore != size/2/pageSize || warm.DistinctResident != size/2/pageSize {
		t.Errorf("resident in the first half: %d, %d of them read", warm.ResidentBefore, warm.DistinctResident)
	}
	if warm.InBlock != 0 {
		t.Errorf("a warm pass read %d blocks", warm.InBlock)
	}
	if n, err := ResidentPages(path); err != nil || n != size/pageSize {
		t.Errorf("resident: %d, %v", n, err)
	}
	again := run(t, Spec{Kind: "mmap-seq", Path: path, Drop: true, Advice: "random"})
	if again.ResidentBefore != 0 || again.MajorFaults == 0 {
		t.Errorf("mapped and dropped: %d resident, %d major faults", again.ResidentBefore, again.MajorFaults)
	}
}

func TestCreateFillsTheFile(t *testing.T) {
	path := testFile(t, 3<<20+1)
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Size != 3<<20+1 || st.Blocks*512 < st.Size {
		t.Errorf("size %d, %d blocks, %v", st.Size, st.Blocks, err)
	}
	before := st.Mtim
	require.NoError(t, Create(path, 3<<20+1))
	if err := unix.Stat(path, &st); err != nil || st.Mtim != before {
		t.Errorf("a file that was right was made again (%v)", err)
	}
}

func TestRatePassesAndStop(t *testing.T) {
	path := testFile(t, 1<<20)
	r := run(t, Spec{Kind: "randread", Path: path, Rate: 200, Duration: 500 * time.Millisecond})
	if r.Calls < 60 || r.Calls > 110 {
		t.Errorf("%d calls in half a second at 200 a second", r.Calls)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	started := false
	r, err := Run(ctx, Spec{Kind: "randread", Path: path, Duration: time.Hour, Think: time.Minute}, func() { started = true })
	if err != nil || !started || r.Calls != 1 || r.Seconds > 5 {
		t.Errorf("stopped from outside: %+v, %v, started %v", r, err, started)
	}
}

func TestDelay(t *testing.T) {
	path := testFile(t, 1<<20)
	began := time.Now()
	var ready time.Duration
	r, err := Run(t.Context(), Spec{Kind: "randread", Path: path, Count: 7, Delay: 300 * time.Millisecond}, func() { ready = time.Since(began) })
	if err != nil || r.Calls != 7 || ready >= 300*time.Millisecond || time.Since(began) < 300*time.Millisecond {
		t.Errorf("%+v, %v, ready after %v, all over after %v", r, err, ready, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err = Run(ctx, Spec{Kind: "eat", Size: 1 << 20, Delay: time.Hour}, cancel)
	if err != nil || r.Bytes != 0 {
		t.Errorf("ended while it waits: %+v, %v", r, err)
	}
}

func TestRamp(t *testing.T) {
	spec := Spec{Threads: 16, ThreadsFrom: 2, Ramp: 8 * time.Second}
	start := time.Unix(100, 0)
	p := newPace(&spec, 0, start, nil)
	for at, want := range map[time.Duration]int{0: 2, 4 * time.Second: 9, 8 * time.Second: 16, 12 * time.Second: 9, 16 * time.Second: 2} {
		if got := p.threads(start.Add(at)); got != want {
			t.Errorf("after %v %d threads, want %d", at, got, want)
		}
	}
}

// A writer that empties its file leaves what its last pass wrote.
func TestWriteTruncates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	run(t, Spec{Kind: "write", Path: path, Size: 1 << 20, BlockSize: 4096, Count: 256 + 3, Truncate: true})
	if info, err := os.Stat(path); err != nil || info.Size() != 3*4096 {
		t.Errorf("%v: %d bytes, not those of 3 calls", err, info.Size())
	}
}

func TestMemoryAndSpin(t *testing.T) {
	r := run(t, Spec{Kind: "anon", Size: 4 << 20, Passes: 2})
	if r.Calls != 2048 || r.MinorFaults < 1024 {
		t.Errorf("anon: %d calls, %d faults", r.Calls, r.MinorFaults)
	}
	if r := run(t, Spec{Kind: "spin", Duration: 50 * time.Millisecond, Threads: 2}); r.Calls < 4 {
		t.Errorf("spin: %d steps", r.Calls)
	}
	for _, tmpfs := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		before, held := rss(t), int64(0)
		r, err := Run(ctx, Spec{Kind: "eat", Size: 64 << 20, BlockSize: 1 << 20, Tmpfs: tmpfs}, func() { held = rss(t) - before; cancel() })
		if err != nil || r.Bytes != 64<<20 {
			t.Errorf("eat: %+v, %v", r, err)
		}
		if left := rss(t) - before; held < 63<<20 || held > 66<<20 || left > 1<<20 {
			t.Errorf("eat, tmpfs %v: held %d bytes, %d are left", tmpfs, held, left)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, spec := range []Spec{
		{Kind: "nonsense"},
		{Kind: "read"},
		{Kind: "anon"},
		{Kind: "direct", Path: "x", BlockSize: 1000, Count: 1},
		{Kind: "read", Path: "x", Advice: "nonsense"},
		{Kind: "read", Path: "x", Rate: -1},
		{Kind: "randread", Path: "x", Passes: 1},
		{Kind: "read", Path: "x", Burst: 8},
		{Kind: "read", Path: "x", Burst: 8, Rate: 80, Threads: 3},
		{Kind: "randread", Path: "x", Order: Zipf, Zipf: -1, Count: 1},
		{Kind: "io_uring", Path: "x", Rate: 7, Count: 1},
		{Kind: "io_uring", Path: "x", Depth: 5000, Count: 1},
		{Kind: "mixed", Path: "x", Writes: 100, Count: 1},
		{Kind: "mmap-rand", Path: "x", Direct: true, Count: 1},
		{Kind: "write", Path: "x", Size: 1 << 20, Truncate: true, Threads: 2},
		{Kind: "randwrite", Path: "x", Truncate: true, Count: 1},
		{Kind: "permit", Path: "x", Threads: 2},
		{Kind: "spin", Comm: "more than fifteen bytes", Count: 1},
	} {
		if _, err := Run(context.Background(), spec, nil); !errors.Is(err, ErrSpec) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	if _, err := Run(context.Background(), Spec{Kind: "read", Path: "/nonexistent/x"}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestResultIsJSON(t *testing.T) {
	b, err := json.Marshal(run(t, Spec{Kind: "spin", Count: 1}))
	if err != nil || !json.Valid(b) {
		t.Errorf("%s, %v", b, err)
	}
}

// Threads that take turns never hold the lock at once.
func TestTurns(t *testing.T) {
	r := run(t, Spec{Kind: "turns", Threads: 4, Count: 100})
	if r.Calls != 100 || r.Bytes != 0 {
		t.Errorf("%d calls of %d bytes, want 100 of none", r.Calls, r.Bytes)
	}
	if r.Seconds < 0.1 {
		t.Errorf("100 turns of a millisecond took %g s", r.Seconds)
	}
	if r.Max < 0.002 {
		t.Errorf("the longest turn took %g s, want the wait for another in it", r.Max)
	}
}
