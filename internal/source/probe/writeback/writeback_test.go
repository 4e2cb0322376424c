package writeback

import (
	"os"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// Every byte of a file that is overwritten and synced goes to the device once.
func TestBytesByFile(t *testing.T) {
	const pages = 1013 // prime
	path := bpftest.File(t, 2*pages)
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
	if file != pages*4096 {
		t.Errorf("%g bytes of the file written back, want %d", file, pages*4096)
	}
	if device < file {
		t.Errorf("%g bytes on all devices, less than the %g of one file", device, file)
	}
}
