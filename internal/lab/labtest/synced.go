package labtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/host"
)

// Synced is a file on ext4 on a loop device of its own, whose kernel name is disk. Write
// appends pages to it, each synced before the next: the last block of each commit is
// written with a flush before it and, as a loop device has nothing better, one after it.
func Synced(t testing.TB) (disk string, write func(pages int)) {
	t.Helper()
	_, at := LoopMount(t, "ext4")
	mounts, err := host.Live().Mounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if m.Point == at {
			disk = filepath.Base(m.Source)
		}
	}
	f, err := os.Create(filepath.Join(at, "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return disk, func(pages int) {
		t.Helper()
		for range pages {
			if _, err := f.Write(make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Writes is the kernel's own account of what is written to a disk. A flush without data
// is a write without bytes. Seconds are from the start of each to its end, to the millisecond.
type Writes struct{ Ops, Bytes, Seconds float64 }

// WritesOf reads it (/sys/class/block/DISK/stat).
func WritesOf(t testing.TB, disk string) Writes {
	t.Helper()
	b, err := os.ReadFile("/sys/class/block/" + disk + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b))
	var counters [3]float64
	for i, at := range []int{4, 6, 7} {
		if counters[i], err = strconv.ParseFloat(f[at], 64); err != nil {
			t.Fatal(err)
		}
	}
	return Writes{Ops: counters[0], Bytes: 512 * counters[1], Seconds: counters[2] / 1000}
}

// Since is what has come since before.
func (w Writes) Since(before Writes) Writes {
	return Writes{w.Ops - before.Ops, w.Bytes - before.Bytes, w.Seconds - before.Seconds}
}

// Took tells whether writes took as long as another account has.
func (w Writes) Took(seconds float64) bool {
	return seconds > 0.95*w.Seconds-0.002 && seconds < 1.05*w.Seconds+0.002
}

// Unaccounted switches the kernel's account of a disk off until the test ends.
func Unaccounted(t testing.TB, disk string) {
	t.Helper()
	file := "/sys/block/" + disk + "/queue/iostats"
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a loop device outlives what it is a loop over
		if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
			t.Error(err)
		}
	})
}
