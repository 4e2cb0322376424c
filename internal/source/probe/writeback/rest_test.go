package writeback

import (
	"os"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// The row of a file that is not written to any more is given up; when it is
// written to again, that counts, and nothing of what came before.
func TestFilesThatRest(t *testing.T) {
	const pages = 211
	path := bpftest.File(t, pages)
	id := bpftest.ID(t, path)
	h := host.Live()
	h.Self = 0
	source, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer source.Close()
	p := source.(*Probe)
	r := sample.NewRecorder(time.Now())
	write := func(n int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, n*4096)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	observe := func(phase sample.Phase) (bytes float64, rows int) {
		t.Helper()
		bpftest.Collect(t, p, phase, r)
		w := r.NextWindow(time.Now())
		w.Each(sample.WritebackBytes, func(e sample.Entity, s *sample.Series) {
			if e.File == id {
				bytes += s.Sum()
			}
			if s.Sum() < 0 {
				t.Errorf("%+v fell by %g", e, s.Sum())
			}
		})
		for k := range p.known {
			if k.Ino == id.Ino && k.Sdev == id.Dev {
				rows++
			}
		}
		return bytes, rows
	}
	observe(sample.First)
	for i, c := range []struct{ write, rows int }{
		{pages, 1}, {0, 1}, {0, 0}, {0, 0}, {17, 1}, {pages, 1}, {0, 1}, {0, 0},
	} {
		if c.write > 0 {
			write(c.write)
		}
		if bytes, rows := observe(sample.IntervalEnd); bytes != float64(c.write*4096) || rows != c.rows {
			t.Errorf("window %d: %g bytes of %d rows, want %d of %d", i, bytes, rows, c.write*4096, c.rows)
		}
	}
}
