package view

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

func TestDiskHealth(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	r := sample.NewRecorder(start)
	put := func(m sample.Metric, device, class string, v float64) {
		r.Put(m, sample.Entity{Device: device, Class: class}, v, "test")
	}
	put(sample.HealthAsleep, "", "", 0)
	put(sample.DeviceScheduler, "sda", "mq-deadline", 1)
	put(sample.HealthAsleep, "sda", "", 0)
	put(sample.HealthWarnings, "sda", "", 1)
	put(sample.HealthWarnings, "sda", "failing", 1)
	put(sample.HealthErrors, "sda", "pending sectors", 8)
	put(sample.HealthErrors, "sda", "reallocated sectors", 0)
	put(sample.DeviceCacheThere, "sda", "", 1)
	put(sample.DeviceCacheOn, "sda", "", 0)
	put(sample.DeviceMisaligned, "sda", "sda1", 512)
	put(sample.HealthAsleep, "sdb", "", 1)
	put(sample.DeviceScheduler, "vda", "none", 1)
	put(sample.DeviceWriteCache, "vda", "", 1)
	put(sample.DeviceReadAhead, "md0", "", 4096)
	put(sample.RaidAction, "md0", "resync", 1)
	put(sample.RaidDone, "md0", "", 0.25)
	put(sample.RaidMembers, "md0", "", 2)
	put(sample.RaidDegraded, "md0", "", 1)
	put(sample.DeviceReadAhead, "dm-0", "", 4096)
	put(sample.PathState, "dm-0", "sda active", 1)
	put(sample.PathState, "dm-0", "sdb failed", 1)
	put(sample.DeviceScheduler, "nvme0n1", "none", 1)
	put(sample.HealthAsleep, "nvme0n1", "", 0)
	put(sample.HealthWarnings, "nvme0n1", "", 0)
	put(sample.HealthErrors, "nvme0n1", "media errors", 0)
	put(sample.DeviceCacheThere, "nvme0n1", "", 0)
	put(sample.CloudExceeded, "nvme0n1", "volume bytes", 1)
	put(sample.CloudExceeded, "nvme0n1", "volume bytes", 2)
	w := r.Window(start.Add(time.Second))
	tables := Disk(w, &Query{By: "health"})
	got := map[string]map[string]any{}
	for _, row := range tables[0].Object()["rows"].([]map[string]any) {
		got[row["device"].(string)] = row
	}
	for device, want := range map[string]map[string]any{
		"sda":     {"health": "failing", "errors": "pending sectors 8", "write_cache": "OFF", "layout": "sda1 off a sector by 512 B", "array": nil},
		"sdb":     {"health": "asleep", "errors": nil, "write_cache": nil},
		"vda":     {"health": nil, "errors": nil, "write_cache": "write back"},
		"md0":     {"array": "resync 25 %, 1 of 2 disks missing"},
		"dm-0":    {"array": "sdb failed"},
		"nvme0n1": {"health": "ok", "errors": "none", "write_cache": "none", "exceeded": "volume bytes 3 s"},
	} {
		for key, v := range want {
			if got[device][key] != v {
				t.Errorf("%s of %s is %v, want %v", key, device, got[device][key], v)
			}
		}
	}
	if len(got) != 6 {
		t.Errorf("%d devices, want 6", len(got))
	}
	if one := Disk(w, &Query{By: "health", Device: "sda"})[0]; len(one.Rows) != 1 {
		t.Errorf("%d rows of one device", len(one.Rows))
	}
}
