package figure

import (
	"maps"
	"testing"
	"time"

	"iocause/internal/sample"
)

// What a cgroup did is not counted again below, and nothing is lost where it is charged
// to the top alone.
func TestCgroupIO(t *testing.T) {
	type did map[string]float64 // by device
	lvm := [][2]string{{"dm-0", "vda"}, {"dm-1", "vda"}}
	for name, c := range map[string]struct {
		on   [][2]string
		did  did
		want float64
	}{
		"two disks":                 {nil, did{"vda": 1000, "vdb": 1}, 1001},
		"LVM":                       {lvm, did{"dm-0": 1000, "vda": 1000}, 1000},
		"two volumes":               {lvm, did{"dm-0": 1000, "dm-1": 500, "vda": 1500}, 1500},
		"LVM and a partition":       {lvm, did{"dm-0": 1000, "vda": 1300}, 1300},
		"LUKS on LVM, reads":        {[][2]string{{"dm-1", "dm-0"}, {"dm-0", "vda"}}, did{"dm-1": 1000, "dm-0": 1000, "vda": 1000}, 1000},
		"LUKS, writes of its own":   {[][2]string{{"dm-0", "vda"}}, did{"dm-0": 1000}, 1000},
		"RAID 0 hands on the bytes": {[][2]string{{"md0", "vda"}, {"md0", "vdb"}}, did{"md0": 1000, "vda": 0, "vdb": 0, "vdc": 7}, 1007},
		"RAID 1 writes to both":     {[][2]string{{"md0", "vda"}, {"md0", "vdb"}}, did{"md0": 1000, "vda": 1000, "vdb": 1000}, 2000},
		"LVM beside a disk":         {lvm, did{"dm-0": 1000, "vda": 1000, "nvme0n1": 300}, 1300},
		"nothing":                   {lvm, did{"dm-0": 0, "vda": 0}, 0},
	} {
		r := sample.NewRecorder(time.Unix(0, 0))
		for _, x := range c.on {
			r.Put(sample.CgroupDeviceOn, sample.Entity{Device: x[0], Class: x[1]}, 1, "test")
		}
		for device, bytes := range c.did {
			r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/a", Device: device}, bytes, "test")
		}
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/b", Device: "vda"}, 5, "test")
		w := r.Window(time.Unix(10, 0))
		if got, want := CgroupIO(w, sample.CgroupReadBytes), map[string]float64{"/a": c.want, "/b": 5}; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
