package view

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// What a cgroup did on a stack of devices counts once, and of one device as it is.
func TestCgroupsOnStacks(t *testing.T) {
	r := sample.NewRecorder(time.Unix(100, 0))
	r.Put(sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1, "/sys/block/dm-0/slaves")
	for device, bytes := range map[string]float64{"dm-0": 1000, "vda": 1200} {
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/a", Device: device}, bytes, "io.stat")
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/b", Device: device}, 7, "io.stat")
	}
	w := r.Window(time.Unix(110, 0))
	for device, want := range map[string]float64{"": 120, "dm-0": 100, "vda": 120} {
		rows := Cgroups(w, &Query{Device: device, Cgroup: "/a"})[0].Object()["rows"].([]map[string]any)
		if len(rows) != 1 || rows[0]["read_bytes_per_s"] != want {
			t.Errorf("device %q: %v, want %g", device, rows, want)
		}
	}
}
