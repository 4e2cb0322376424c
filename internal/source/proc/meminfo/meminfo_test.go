package meminfo

import (
	"testing"

	"iocause/internal/sample"
)

func TestParse(t *testing.T) {
	m, err := parse([]byte("MemTotal:       24684100 kB\nHugePages_Total:       0\nVmallocChunk: x\nSlab: 3 kB\nSwapTotal: 0 kB\n"))
	if err != nil || *m.Total != 24684100*1024 || *m.Slab != 3072 || m.Free != nil || *m.SwapTotal != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = parse(fixture(t, "6.18")); err != nil || *m.Total != 24684100*1024 || m.Available == nil || m.Writeback == nil {
		t.Errorf("%+v, %v", m, err)
	}
	for _, s := range []string{"MemFree: x kB", "MemFree: 1 MB", "MemFree: 1", "MemFree:", "MemFree: 18014398509481984 kB", "MemFree: -4 kB"} {
		_, err = parse([]byte("MemTotal: 1 kB\n" + s))
		wantLine(t, err, 2)
	}
}

func TestCollect(t *testing.T) {
	x := newTree(t)
	x.write("proc/meminfo", "MemTotal: 100 kB\nBuffers: 3 kB\nCached: 4 kB\nDirty: 5 kB\nAnonPages: 6 kB\n")
	s := x.open(Open)
	w := collect(t, s, sample.First)
	want(t, w, sample.MemCache, sample.Entity{}, 7*1024)
	want(t, w, sample.MemDirty, sample.Entity{}, 5*1024)
	want(t, w, sample.MemAnon, sample.Entity{}, 6*1024)
	wantAbsent(t, w, sample.MemFree, sample.Entity{})
	if len(w.Gaps) != 1 || len(w.Gaps[0].Metrics) != 7 {
		t.Errorf("gaps %+v", w.Gaps)
	}
	if w = collect(t, s, sample.Tick); len(w.Gaps) != 0 {
		t.Error("the gap is told at every tick")
	}
	want(t, w, sample.MemTotal, sample.Entity{}, 100*1024)
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b) })
}
