package diagnose

import (
	"strings"
	"testing"

	"iocause/internal/sample"
)

// slow adds a program that waits for eight of ten seconds in calls of a class, for
// requests of an operation to a device, of which there are so many that took so long.
func (m machine) slow(device, call, op string, requests, each float64) {
	m.process(10, "worker", call, thread{wait: 8, cpu: 0.5})
	m.requests(10, device, op, requests, each)
	m.put(sample.PSISome, sample.Entity{Class: "io"}, 8)
	m.put(sample.DiskBusy, sample.Entity{Device: device}, 8)
}

// requests adds those of a process, and to the device's own.
func (m machine) requests(pid int, device, op string, n, each float64) {
	for _, e := range []sample.Entity{{PID: pid, Device: device, Class: op}, {Device: device, Class: op}} {
		m.put(sample.BlockOps, e, n)
		m.put(sample.BlockBytes, e, n*pageSize)
		m.put(sample.BlockDeviceTime, e, n*each)
		m.put(sample.BlockQueueTime, e, 0)
	}
}

// is adds a figure of a device.
func (m machine) is(metric sample.Metric, device, class string, values ...float64) {
	for _, v := range values {
		m.put(metric, sample.Entity{Device: device, Class: class}, v)
	}
}

// answer is what one cause answered.
func answer(r *Report, id ID) (Answer, string) {
	for _, f := range r.Findings {
		if f.Cause == id {
			return Yes, f.Title
		}
	}
	for _, x := range r.CannotTell {
		if x.Cause == id {
			return CannotTell, x.Missing
		}
	}
	for _, x := range r.Excluded {
		if x.Cause == id {
			return No, x.Why
		}
	}
	return "", "was not asked"
}

// Windows in which a cause of this device must be found, and look-alikes in which it
// must not, with the words of the reason.
func TestDeviceFacts(t *testing.T) {
	for _, c := range []struct {
		name    string
		cause   ID
		answer  Answer
		primary bool // it is the primary cause
		says    string
		make    func(m machine)
	}{
		{"commits on a disk with its cache off", WriteCacheOff, Yes, true, "", func(m machine) {
			m.slow("sda", "sync", "write", 600, 0.013)
			m.is(sample.DeviceCacheThere, "sda", "", 1)
			m.is(sample.DeviceCacheOn, "sda", "", 0)
			m.is(sample.DeviceWriteCache, "sda", "", 1)
		}},
		{"commits on a disk with its cache on", WriteCacheOff, No, false, "is on", func(m machine) {
			m.slow("sda", "sync", "write", 600, 0.013)
			m.is(sample.DeviceCacheThere, "sda", "", 1)
			m.is(sample.DeviceCacheOn, "sda", "", 1)
			m.is(sample.DeviceWriteCache, "sda", "", 0)
		}},
		{"commits on a protected cache", WriteCacheOff, No, false, "take only 30 us", func(m machine) {
			m.slow("nvme0n1", "sync", "write", 200000, 30e-6)
			m.is(sample.DeviceCacheThere, "nvme0n1", "", 1)
			m.is(sample.DeviceCacheOn, "nvme0n1", "", 0)
		}},
		{"slow commits on a disk of which nothing is known", WriteCacheOff, CannotTell, false, "protected against power loss", func(m machine) {
			m.slow("sdb", "sync", "write", 600, 0.013)
			m.is(sample.DeviceWriteCache, "sdb", "", 0)
		}},
		{"reads from a disk with its cache off", WriteCacheOff, No, false, "waits for writes for 0 %", func(m machine) {
			m.slow("sda", "read", "read", 600, 0.013)
			m.is(sample.DeviceCacheThere, "sda", "", 1)
			m.is(sample.DeviceCacheOn, "sda", "", 0)
		}},
		{"a disk with its cache off below an encrypted volume", WriteCacheOff, Yes, true, "", func(m machine) {
			m.slow("dm-0", "sync", "write", 600, 0.013)
			m.requests(11, "sda", "write", 600, 0.013)
			m.is(sample.DeviceKind, "dm-0", "dm-crypt", 1)
			m.is(sample.DeviceOn, "dm-0", "sda", 1)
			m.is(sample.DeviceCacheThere, "sda", "", 1)
			m.is(sample.DeviceCacheOn, "sda", "", 0)
		}},

		{"media errors while it reads", DeviceUnhealthy, Yes, true, "", func(m machine) {
			m.slow("nvme0n1", "read", "read", 2000, 0.004)
			m.is(sample.HealthWarnings, "nvme0n1", "", 0)
			m.is(sample.HealthErrors, "nvme0n1", "media errors", 3, 9)
		}},
		{"a disk that fails, and is slow", DeviceUnhealthy, Yes, true, "", func(m machine) {
			m.slow("sda", "read", "read", 40, 0.2)
			m.is(sample.DeviceRotate, "sda", "", 1)
			m.is(sample.HealthWarnings, "sda", "", 1)
			m.is(sample.HealthWarnings, "sda", "failing", 1)
		}},
		{"a disk that fails, and is as fast as ever", DeviceUnhealthy, No, false, "answers in 8.0 ms", func(m machine) {
			m.slow("sda", "read", "read", 1000, 0.008)
			m.is(sample.DeviceRotate, "sda", "", 1)
			m.is(sample.HealthWarnings, "sda", "", 1)
			m.is(sample.HealthWarnings, "sda", "failing", 1)
		}},
		{"a healthy disk that is slow", DeviceUnhealthy, No, false, "reports no fault", func(m machine) {
			m.slow("sda", "read", "read", 40, 0.2)
			m.is(sample.HealthWarnings, "sda", "", 0)
			m.is(sample.HealthErrors, "sda", "reallocated sectors", 8, 8)
			m.is(sample.HealthErrors, "sda", "media errors", 2, 2)
			m.is(sample.HealthHot, "sda", "", 3600, 3600)
		}},
		{"a controller that throttles itself", DeviceUnhealthy, Yes, true, "", func(m machine) {
			m.slow("nvme0n1", "write", "write", 4000, 0.002)
			m.is(sample.HealthWarnings, "nvme0n1", "", 0)
			m.is(sample.HealthThrottled, "nvme0n1", "", 100, 107)
		}},
		{"a disk that was not asked", DeviceUnhealthy, CannotTell, false, "sda has not answered", func(m machine) {
			m.slow("sda", "read", "read", 40, 0.2)
			m.put(sample.HealthAsleep, sample.Entity{}, 0)
			m.PutGap(sample.Gap{Source: "health", Why: "sda has not answered yet how healthy it is", Metrics: []sample.Metric{sample.HealthWarnings}})
		}},
		{"a virtual disk", DeviceUnhealthy, No, false, "virtual disk", func(m machine) {
			m.slow("vdb", "read", "read", 40, 0.2)
			m.put(sample.HealthAsleep, sample.Entity{}, 0)
		}},

		{"a volume over its operations", CloudVolumeLimit, Yes, true, "", func(m machine) {
			m.slow("nvme1n1", "read", "read", 30000, 0.008)
			m.is(sample.CloudExceeded, "nvme1n1", "volume operations", 4, 5)
			m.is(sample.CloudExceeded, "nvme1n1", "volume bytes", 0)
			m.is(sample.CloudExceeded, "nvme1n1", "instance operations", 0)
			m.is(sample.CloudExceeded, "nvme1n1", "instance bytes", 0)
		}},
		{"the same is not the machine's cap", CloudInstanceLimit, No, false, "exceeded for 0 %", func(m machine) {
			m.slow("nvme1n1", "read", "read", 30000, 0.008)
			m.is(sample.CloudExceeded, "nvme1n1", "volume operations", 9)
			m.is(sample.CloudExceeded, "nvme1n1", "instance bytes", 0)
		}},
		{"the machine's cap", CloudInstanceLimit, Yes, true, "", func(m machine) {
			m.slow("nvme1n1", "read", "read", 30000, 0.008)
			m.is(sample.CloudExceeded, "nvme1n1", "volume bytes", 0)
			m.is(sample.CloudExceeded, "nvme1n1", "instance bytes", 8)
		}},
		{"a slow volume within its caps", CloudVolumeLimit, No, false, "exceeded for 0.20 %", func(m machine) {
			m.slow("nvme1n1", "read", "read", 900, 0.008)
			m.is(sample.CloudExceeded, "nvme1n1", "volume operations", 0.02)
			m.is(sample.CloudExceeded, "nvme1n1", "volume bytes", 0)
		}},
		{"a disk that is no volume", CloudVolumeLimit, No, false, "no cloud volume", func(m machine) {
			m.slow("sda", "read", "read", 900, 0.008)
			m.put(sample.HealthAsleep, sample.Entity{}, 0)
		}},

		{"reads beside a check of the array", RaidSync, Yes, true, "", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(1, 0, "check")
			m.PutProcess(50, sample.Process{Comm: "md0_resync", Kernel: true})
			m.requests(50, "sda", "read", 20000, 0.004)
		}},
		{"reads beside a check that is paused", RaidSync, No, false, "neither rebuilt nor checked", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(1, 0, "frozen")
		}},
		{"a busy healthy array", RaidSync, No, false, "has all its disks", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(1, 0, "idle")
			m.PutProcess(50, sample.Process{Comm: "md0_raid5", Kernel: true})
			m.requests(50, "sda", "write", 20000, 0.004)
		}},
		{"a rebuild on other disks", RaidSync, No, false, "in no array", func(m machine) {
			m.slow("sdz", "read", "read", 400, 0.02)
			m.array(1, 1, "recover")
		}},
		{"a rebuild that is throttled to nothing", RaidSync, No, false, "has 0.99 % of the I/O", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(1, 1, "recover")
			m.PutProcess(50, sample.Process{Comm: "md0_resync", Kernel: true})
			m.requests(50, "sda", "read", 4, 0.02)
		}},
		{"reads of what is reconstructed", RaidSync, Yes, true, "", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(3, 1, "idle")
		}},
		{"an array that lacks a mirror", RaidSync, No, false, "cost no more", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.array(1, 1, "idle")
		}},

		{"encryption that takes longer than the disk", EncryptionCPU, Yes, true, "", func(m machine) {
			m.slow("sda", "read", "read", 4000, 0.0005)
			m.crypt(0.8)
		}},
		{"encryption on a slow disk", EncryptionCPU, No, false, "10 % of the time", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.crypt(0.1)
		}},
		{"a disk without encryption", EncryptionCPU, No, false, "no dm-crypt", func(m machine) {
			m.slow("sda", "read", "read", 400, 0.02)
			m.put(sample.DeviceKind, sample.Entity{}, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine()
			c.make(m)
			r := m.judge()
			got, why := answer(r, c.cause)
			if got != c.answer || !strings.Contains(why, c.says) {
				t.Errorf("%s: %s (%s), want %s with %q; primary %s", c.cause, got, why, c.answer, c.says, r.Primary)
			}
			if (r.Primary == c.cause) != c.primary {
				t.Errorf("the primary cause is %s", r.Primary)
				for _, f := range r.Findings {
					t.Logf("%s %.2f", f.Cause, f.Weight)
				}
			}
		})
	}
}

// array adds md0 on sda and sdb, with so many bytes read from them for each byte read.
func (m machine) array(amplified, missing float64, action string) {
	m.is(sample.RaidMembers, "", "", 0)
	m.is(sample.RaidMembers, "md0", "", 2)
	m.is(sample.RaidDegraded, "md0", "", missing)
	m.is(sample.RaidAction, "md0", action, 1)
	m.is(sample.DeviceKind, "md0", "raid5", 1)
	m.is(sample.DeviceOn, "md0", "sda", 1)
	m.is(sample.DeviceOn, "md0", "sdb", 1)
	m.is(sample.DiskReadBytes, "md0", "", 1e6)
	m.is(sample.DiskReadBytes, "sda", "", amplified*0.6e6)
	m.is(sample.DiskReadBytes, "sdb", "", amplified*0.4e6)
}

// crypt adds dm-crypt on sda, with its share of the time of an I/O.
func (m machine) crypt(own float64) {
	m.is(sample.DeviceKind, "dm-0", "dm-crypt", 1)
	m.is(sample.DeviceOn, "dm-0", "sda", 1)
	for device, t := range map[string][2]float64{"dm-0": {10, 10 * own}, "sda": {10 - 10*own, 10 - 10*own}} {
		m.is(sample.LayerOps, device, "read dm-0", 1000)
		m.is(sample.LayerBytes, device, "read dm-0", 1000*pageSize)
		m.is(sample.LayerTime, device, "read dm-0", t[0])
		m.is(sample.LayerOwnTime, device, "read dm-0", t[1])
	}
}
