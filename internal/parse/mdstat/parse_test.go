package mdstat

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestArrays(t *testing.T) {
	g := linestest.Fixture(t, tool(), "check.txt")
	g.WantNote("1 disk of array md127 failed")
	g.WantNote("md127 works with 3 of 4 disks")
	g.WantNote("a check of array md1 is running (21.5 %, 132 MB/s)")
	md127 := sample.Entity{Device: "md127"}
	g.Want(sample.RaidMembers, md127, 4)
	g.Want(sample.RaidDegraded, md127, 1)
	g.Want(sample.DeviceKind, sample.Entity{Device: "md127", Class: "raid5"}, 1)
	g.Want(sample.RaidAction, sample.Entity{Device: "md1", Class: "check"}, 1)
	g.Want(sample.RaidSpeed, sample.Entity{Device: "md1"}, 128511*1024)
	g.Want(sample.DeviceOn, sample.Entity{Device: "md1", Class: "sdf"}, 1)
	if _, ok := g.Values[linestest.Key{Metric: sample.DeviceOn, Entity: sample.Entity{Device: "md127", Class: "sdd"}}]; ok {
		t.Error("a disk that failed is counted as a part of its array")
	}
	if len(g.Notes) != 3 || g.Uses[lines.Foreign] > 0 || !g.IsState {
		t.Errorf("notes %q, uses %v", g.Notes, g.Uses)
	}
}

// An array that is whole has nothing to tell, and an array alone is enough.
func TestWhole(t *testing.T) {
	g := linestest.Read(t, tool(), "md2 : active raid1 sda3[2] sdb3[1]\n      2927641919 blocks super 1.2 [2/2] [UU]\n")
	g.WantNote("1 array of md, healthy")
	for _, other := range []string{"the service is active and [2] shows", "md5sum : active", "Personalities differ"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for an array", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
