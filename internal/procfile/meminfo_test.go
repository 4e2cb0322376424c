package procfile

import (
	"maps"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestMeminfo(t *testing.T) {
	m, err := ParseMeminfo([]byte("MemTotal:       24684100 kB\nHugePages_Total:       0\nVmallocChunk: x\nSlab: 3 kB\nSwapTotal: 0 kB\n"))
	if err != nil || *m.Total != 24684100*1024 || *m.Slab != 3072 || m.Free != nil || *m.SwapTotal != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = ParseMeminfo(proctest.Fixture(t, "meminfo-6.18")); err != nil || *m.Total != 24684100*1024 || m.Available == nil || m.Writeback == nil {
		t.Errorf("%+v, %v", m, err)
	}
	for _, s := range []string{"MemFree: x kB", "MemFree: 1 MB", "MemFree: 1", "MemFree:", "MemFree: 18014398509481984 kB", "MemFree: -4 kB"} {
		_, err = ParseMeminfo([]byte("MemTotal: 1 kB\n" + s))
		proctest.WantLine(t, err, 2)
	}
}

func FuzzMeminfo(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { ParseMeminfo(b) })
}

func TestGauges(t *testing.T) {
	m, err := ParseMeminfo([]byte("Buffers: 3 kB\nCached: 4 kB\nDirty: 0 kB\n"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[sample.Metric]uint64{}
	for _, g := range m.Gauges() {
		if _, twice := known[g.Metric]; twice {
			t.Errorf("%s is there twice", g.Metric)
		}
		if g.Value != nil {
			known[g.Metric] = *g.Value
		}
	}
	if want := map[sample.Metric]uint64{sample.MemCache: 7 << 10, sample.MemDirty: 0}; !maps.Equal(known, want) {
		t.Errorf("%v, want %v", known, want)
	}
	m.Cached = nil // half of a sum is not known
	if g := m.Gauges()[3]; g.Metric != sample.MemCache || g.Value != nil {
		t.Errorf("%+v", g)
	}
}
