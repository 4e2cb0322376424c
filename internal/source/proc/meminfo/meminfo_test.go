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

// Of huge pages that are set aside nobody uses those that are free and not reserved.
func TestHugePages(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/meminfo", "MemTotal: 100 kB\nHugePages_Free: 6\nHugetlb: 3158016 kB\n")
	for size, pages := range map[string][2]string{"2048kB": {"11", "4"}, "1048576kB": {"2", "0"}} {
		x.Write("sys/kernel/mm/hugepages/hugepages-"+size+"/free_hugepages", pages[0]+"\n")
		x.Write("sys/kernel/mm/hugepages/hugepages-"+size+"/resv_hugepages", pages[1]+"\n")
	}
	s := x.Open(Open)
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.First), sample.MemHugeFree, sample.Entity{})
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.MemHuge, sample.Entity{}, 3158016<<10)
	proctest.Want(t, w, sample.MemHugeFree, sample.Entity{}, 7*2048<<10+2<<30)
}
