package writeback

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// Every byte of a file that is overwritten and synced goes to the device once.
func TestBytesByFile(t *testing.T) {
	const pages = 1013 // prime
	t.Run("here", func(t *testing.T) { bytesByFile(t, bpftest.File(t, 2*pages), pages) })
	// btrfs names no device as its own.
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			_, at := labtest.LoopMount(t, kind)
			path := filepath.Join(at, "data")
			if err := os.WriteFile(path, make([]byte, 2*pages*4096), 0o600); err != nil {
				t.Fatal(err)
			}
			unix.Sync()
			bytesByFile(t, path, pages)
		})
	}
}

func bytesByFile(t *testing.T, path string, pages int) {
	t.Helper()
	w := bpftest.Observe(t, Open, func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, pages*4096)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	id := bpftest.ID(t, path)
	var file, device float64
	w.Each(sample.WritebackBytes, func(e sample.Entity, s *sample.Series) {
		switch {
		case e.File == id:
			file += s.Sum()
		case e.File == (sample.FileID{}) && e.Cgroup == "" && e.Device != "":
			device += s.Sum()
		}
	})
	if file != float64(pages*4096) {
		t.Errorf("%g bytes of the file written back, want %d", file, pages*4096)
	}
	if device < file {
		t.Errorf("%g bytes on all devices, less than the %g of one file", device, file)
	}
}

// Two writers in memory cgroups of their own: each cgroup has exactly what its
// writer wrote.
func TestBytesByCgroup(t *testing.T) {
	env, err := labtest.New(t, t.TempDir())
	if err != nil {
		bpftest.Need(t, "cgroup", err)
	}
	type writer struct {
		cgroup *lab.Cgroup
		path   string
		pages  int
	}
	writers := []*writer{{pages: 1013}, {pages: 2003}} // primes
	for i, w := range writers {
		w.path = bpftest.File(t, w.pages)
		if w.cgroup, err = env.Cgroup(fmt.Sprintf("writer%d", i), &lab.Limits{Memory: 128 << 20}); err != nil {
			bpftest.Need(t, "cgroup", err)
		}
	}
	window := bpftest.Observe(t, Open, func() {
		for _, w := range writers {
			p, err := env.Start([]string{"dd", "if=/dev/zero", "of=" + w.path, "bs=4096", fmt.Sprintf("count=%d", w.pages),
				"conv=notrunc,fsync", "status=none"}, w.cgroup, false)
			if err != nil {
				t.Fatal(err)
			}
			for !p.Ended() {
				time.Sleep(10 * time.Millisecond)
			}
			if err := p.Stop(0); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, w := range writers {
		got := 0.0
		window.Each(sample.WritebackBytes, func(e sample.Entity, s *sample.Series) {
			if e.Cgroup == w.cgroup.Path {
				got += s.Sum()
			}
		})
		if got != float64(w.pages)*4096 {
			t.Errorf("%g bytes of cgroup %s written back, want %d", got, w.cgroup.Path, w.pages*4096)
		}
	}
}
