package procfile

import (
	"testing"

	"iocause/internal/source/proc/proctest"
)

func TestVmstat(t *testing.T) {
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
		v, err := ParseVmstat(proctest.Fixture(t, "vmstat-"+c.file))
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
	_, err := ParseVmstat([]byte("x y\npgpgin -1\n"))
	proctest.WantLine(t, err, 2)
	if v, err := ParseVmstat([]byte("pgscan_direct_throttle 5\npgscan_direct_future 6\npgpgin_x 7")); err != nil || v != (Vmstat{}) {
		t.Errorf("%+v, %v", v, err)
	}
}

func FuzzVmstat(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { ParseVmstat(b) })
}
