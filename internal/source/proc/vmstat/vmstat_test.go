package vmstat

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/vmstat", "pgpgin 1000\npswpin 5\nthp_file_mapped 3\nallocstall_dma 1\nallocstall_normal 2\nnr_dirty_threshold 10\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	proctest.Want(t, w, sample.VMDirtyLimit, sample.Entity{}, 40960)
	proctest.WantAbsent(t, w, sample.VMPageIn, sample.Entity{})
	if len(w.Gaps) != 1 || len(w.Gaps[0].Metrics) != 14 {
		t.Errorf("gaps %+v", w.Gaps)
	}
	x.Write("proc/vmstat", "pgpgin 1003\npswpin 4\nthp_file_mapped 5\nallocstall_dma 2\nallocstall_normal 8\nnr_dirty_threshold 11\n")
	w = proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.VMPageIn, sample.Entity{}, 3072)
	proctest.Want(t, w, sample.VMAllocStall, sample.Entity{}, 7)
	proctest.Want(t, w, sample.VMHugeMapped, sample.Entity{}, 1024)
	proctest.Want(t, w, sample.VMDirtyLimit, sample.Entity{}, 45056)
	proctest.WantAbsent(t, w, sample.VMSwapIn, sample.Entity{})
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.VMSwapIn {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}
