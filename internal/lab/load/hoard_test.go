package load

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/require"
)

// rss is RssAnon and RssShmem of this process, in bytes (proc_pid_status(5)).
func rss(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	var sum int64
	for line := range strings.Lines(string(b)) {
		var size Size
		fields := strings.Fields(line)
		if (fields[0] == "RssAnon:" || fields[0] == "RssShmem:") && size.Set(fields[1]+"k") == nil {
			sum += int64(size)
		}
	}
	return sum
}

func TestHoardHoldsWhatItSays(t *testing.T) {
	const size = 67<<20 + 3*pageSize
	const noise = size / 20 // the runtime's own, more of it with the race detector
	for _, tmpfs := range []bool{false, true} {
		before := rss(t)
		h, err := Take(context.Background(), HoardSpec{Size: size, Tmpfs: tmpfs}, nil)
		require.NoError(t, err)
		resident, err := h.Resident()
		if err != nil || h.Held() != size || resident != size {
			t.Errorf("tmpfs %v: holds %d, %d resident, not %d: %v", tmpfs, h.Held(), resident, size, err)
		}
		if rise := rss(t) - before; math.Abs(float64(rise-size)) > noise {
			t.Errorf("tmpfs %v: the process grew by %d bytes, not %d", tmpfs, rise, size)
		}
		if err := errors.Join(h.Release(), h.Release()); err != nil {
			t.Error(err)
		}
		if rise := rss(t) - before; rise > noise {
			t.Errorf("tmpfs %v: %d bytes were not given back", tmpfs, rise)
		}
	}
}

func TestHoardLocks(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit))
	const size = 1 << 20
	h, err := Take(context.Background(), HoardSpec{Size: size, Lock: true}, nil)
	if err != nil {
		if limit.Cur < size && errors.Is(err, unix.ENOMEM) {
			t.Skipf("not allowed to lock %d bytes: %v", size, err)
		}
		t.Fatal(err)
	}
	defer func() { _ = h.Release() }()
	b, err := os.ReadFile(filepath.Join("/proc/self/status"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(b), " ", ""), "VmLck:\t1024kB") {
		t.Errorf("1024 kB are not locked: %v\n%s", err, b)
	}
}

func TestHoardGivesUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ended, HoardSpec{Size: 1 << 30}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	if _, err := Take(context.Background(), HoardSpec{Size: 1 << 30, Floor: math.MaxInt64}, nil); !errors.Is(err, ErrScarce) {
		t.Errorf("no memory to spare: %v", err)
	}
}
