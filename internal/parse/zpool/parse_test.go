package zpool

import (
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestFailing(t *testing.T) {
	g := linestest.Fixture(t, tool(), "failing.txt")
	g.Want(sample.DeviceFaults, sample.Entity{Device: "ata-MAKER_ONE_1", Class: failedReads}, 312)
	g.Want(sample.DeviceFaults, sample.Entity{Device: "ata-MAKER_ONE_1", Class: failedWrites}, 1536)
	g.Want(sample.DeviceFaults, sample.Entity{Device: "nvme0n1p2", Class: failedReads}, 0)
	tank := sample.Entity{Device: "tank"}
	g.Want(sample.RaidAction, sample.Entity{Device: "tank", Class: "recover"}, 1)
	g.Want(sample.RaidDone, tank, 0.6646)
	g.Want(sample.RaidSpeed, tank, 444<<20)
	g.Want(sample.DeviceOn, sample.Entity{Device: "tank", Class: "nvme0n1"}, 1)
	if len(g.Values) != 2*4+5+4 { // two for each disk, none for the pool and its mirrors; the resilver, and its disks
		t.Errorf("values %v", g.Values)
	}
	g.WantNote("pool tank is DEGRADED")
	g.WantNote("a resilver of pool tank is running (66.46 %)")
	g.WantNote("disk ata-MAKER_ONE_1 of pool tank is FAULTED")
	g.WantNote("2 blocks have checksum errors")
}

func TestWell(t *testing.T) {
	g := linestest.Fixture(t, tool(), "well.txt")
	g.Want(sample.DeviceFaults, sample.Entity{Device: "sda3", Class: failedWrites}, 0)
	g.WantNote("pool rpool of ZFS is healthy and idle")
}

func TestOthers(t *testing.T) {
	g := linestest.Read(t, tool(), "NAME STATE READ WRITE CKSUM\nsda ONLINE 0 x 0\nand then it hung for a while, see above\n")
	if g.Uses[lines.Broken] != 1 || len(g.Values) != 0 {
		t.Errorf("uses %v, values %v", g.Uses, g.Values)
	}
	for _, other := range []string{"state: running", "pool: default", "NAME STATE PVC", "the state: ONLINE"} {
		if Find(other) >= 0 {
			t.Errorf("%q is taken for zpool status", other)
		}
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
