package vmstat

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	at := func(p *uint64) int64 {
		if p == nil {
			return -1
		}
		return int64(*p)
	}
	for _, c := range []struct {
		file string
		want [17]int64 // in the order of the struct; -1 is absent
	}{
		{"6.18", [17]int64{}},
		{"5.10", [17]int64{123456, 654321, 10, 20, 77, 8000, 7, 60, 50, 500, 400, 6, 4, 1000, 900, 390000, 195000}},
		{"4.4", [17]int64{15, 16, 17, 18, 19, 321, -1, 18, 30, 30, 7, 44, 45, 11, 12, 13, 14}},
	} {
		v, err := parse(proctest.Fixture(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		got := [17]int64{
			at(v.PageIn), at(v.PageOut), at(v.SwapIn), at(v.SwapOut), at(v.MajorFaults), at(v.RefaultFile), at(v.RefaultAnon),
			at(v.ScanDirect), at(v.StealDirect), at(v.ScanKswapd), at(v.StealKswapd), at(v.AllocStall), at(v.CompactStall),
			at(v.Dirtied), at(v.Written), at(v.DirtyLimit), at(v.DirtyBg),
		}
		if c.file == "6.18" { // a capture: everything is there
			for i, x := range got {
				if x < 0 {
					t.Errorf("%s: figure %d is absent", c.file, i)
				}
			}
		} else if got != c.want {
			t.Errorf("%s: %v, want %v", c.file, got, c.want)
		}
	}
	_, err := parse([]byte("x y\npgpgin -1\n"))
	proctest.WantLine(t, err, 2)
	if v, err := parse([]byte("pgscan_direct_throttle 5\npgscan_direct_future 6\npgpgin_x 7")); err != nil || v != (Vmstat{}) {
		t.Errorf("%+v, %v", v, err)
	}
}

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

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b) })
}
