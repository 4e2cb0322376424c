package procfile

import (
	"testing"

	"iocause/internal/host"
	"iocause/internal/source/proc/proctest"
)

func TestDiskstats(t *testing.T) {
	old := Disk{Dev: host.MakeDev(8, 0), Name: "sda", Fields: 11,
		Reads: 11, ReadsMerged: 12, ReadSectors: 13, ReadTime: 14, Writes: 15, WritesMerged: 16, WriteSectors: 17, WriteTime: 18,
		InFlight: 19, Busy: 20, Weighted: 21}
	d, err := ParseDiskstats(proctest.Fixture(t, "diskstats-4.4"), nil)
	if err != nil || len(d) != 2 || d[0] != old {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = ParseDiskstats(proctest.Fixture(t, "diskstats-4.19"), d)
	old.Dev, old.Name, old.Fields = host.MakeDev(259, 0), "nvme0n1", 15
	if err != nil || len(d) != 2 || d[0] != old || d[1].Name != "cciss!c0d0" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = ParseDiskstats(proctest.Fixture(t, "diskstats-6.18"), d)
	if err != nil || len(d) != 10 || d[8].Name != "vda" || d[8].Fields != 17 || d[8].Flushes == 0 || !d[9].Idle() {
		t.Errorf("%+v, %v", d, err)
	}
	for _, s := range []string{"8 0", "8 0 sda", "x 0 sda 1 2 3 4 5 6 7 8 9 10 11", "8 0 sda 1 2 3 4 5 6 7 8 9 10", "8 0 sda 1 2 3 4 5 6 7 8 9 10 -1"} {
		_, err := ParseDiskstats([]byte("\n"+s), nil)
		proctest.WantLine(t, err, 2)
	}
}

func FuzzDiskstats(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _ := ParseDiskstats(b, nil)
		for _, x := range d {
			if x.Name == "" || x.Fields < leastDisk {
				t.Errorf("%+v", x)
			}
		}
	})
}

func TestPartitionOf(t *testing.T) {
	for _, c := range []struct {
		name, disk string
		want       bool
	}{
		{"sda1", "sda", true}, {"sda", "sda", false}, {"sdaa", "sda", false}, {"nvme0n1p2", "nvme0n1", true}, {"nvme0n12", "nvme0n1", false},
		{"nvme0n1", "nvme0n", true}, {"md127p1", "md127", true}, {"dm-10", "dm-1", false}, {"x", "", false},
	} {
		if got := PartitionOf(c.name, c.disk); got != c.want {
			t.Errorf("%q of %q: %v", c.name, c.disk, got)
		}
	}
}
