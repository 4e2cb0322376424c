package meminfo

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	m, err := parse([]byte("MemTotal:       24684100 kB\nHugePages_Total:       0\nVmallocChunk: x\nSlab: 3 kB\nSwapTotal: 0 kB\n"))
	if err != nil || *m.Total != 24684100*1024 || *m.Slab != 3072 || m.Free != nil || *m.SwapTotal != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = parse(proctest.Fixture(t, "6.18")); err != nil || *m.Total != 24684100*1024 || m.Available == nil || m.Writeback == nil {
		t.Errorf("%+v, %v", m, err)
	}
	for _, s := range []string{"MemFree: x kB", "MemFree: 1 MB", "MemFree: 1", "MemFree:", "MemFree: 18014398509481984 kB", "MemFree: -4 kB"} {
		_, err = parse([]byte("MemTotal: 1 kB\n" + s))
		proctest.WantLine(t, err, 2)
	}
}

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/meminfo", "MemTotal: 100 kB\nBuffers: 3 kB\nCached: 4 kB\nDirty: 5 kB\nAnonPages: 6 kB\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	proctest.Want(t, w, sample.MemCache, sample.Entity{}, 7*1024)
	proctest.Want(t, w, sample.MemDirty, sample.Entity{}, 5*1024)
	proctest.Want(t, w, sample.MemAnon, sample.Entity{}, 6*1024)
	proctest.WantAbsent(t, w, sample.MemFree, sample.Entity{})
	if len(w.Gaps) != 1 || len(w.Gaps[0].Metrics) != 7 {
		t.Errorf("gaps %+v", w.Gaps)
	}
	if w = proctest.Collect(t, s, sample.Tick); len(w.Gaps) != 0 {
		t.Error("the gap is told at every tick")
	}
	proctest.Want(t, w, sample.MemTotal, sample.Entity{}, 100*1024)
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b) })
}
