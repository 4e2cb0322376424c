package meminfo

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

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
