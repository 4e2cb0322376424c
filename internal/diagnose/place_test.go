package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// A file is named together with the device that it is on, or not at all.
func TestFileOnItsDevice(t *testing.T) {
	const system, archive = "vda", "loop1"
	first, second, far := sample.FileID{Dev: 1, Ino: 1}, sample.FileID{Dev: 1, Ino: 2}, sample.FileID{Dev: 2, Ino: 3}
	r := sample.NewRecorder(epoch)
	r.PutProcess(7, sample.Process{Comm: "worker"})
	for id, path := range map[sample.FileID]string{first: "/a", second: "/b", far: "/mnt/archive/c"} {
		r.PutFile(id, sample.File{Path: path, Size: 1 << 30})
	}
	r.Put(sample.CacheWait, sample.Entity{PID: 7, File: far}, 5, "test")
	r.Put(sample.CacheWait, sample.Entity{PID: 7, File: first}, 1, "test")
	r.Put(sample.CacheWait, sample.Entity{PID: 7, File: second}, 1, "test")
	r.Put(sample.DirectReadBytes, sample.Entity{PID: 8, File: far}, 1<<30, "test")
	r.Put(sample.BlockFileBytes, sample.Entity{File: far, Device: archive, Class: "read"}, 1<<30, "test")
	r.Put(sample.BlockFileBytes, sample.Entity{File: first, Device: system, Class: "read"}, 1<<20, "test")
	r.Put(sample.BlockDeviceTime, sample.Entity{PID: 7, Device: system, Class: "read"}, 6, "test")
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 6, "test")
	c := newCase(r.Window(epoch.Add(10*time.Second)), Target{PIDs: []int{7}})
	if k := c.culprit(); k.File != "/mnt/archive/c" || k.Device != archive {
		t.Errorf("the busiest file is %s on %s, want /mnt/archive/c on %s", k.File, k.Device, archive)
	}
	if k := c.deviceCulprit(); k.File != "/a" || k.Device != system {
		t.Errorf("its file on %s is %s on %s, want /a: the busiest is elsewhere", system, k.File, k.Device)
	}
	if id := c.fileOf(8, system); id != (sample.FileID{}) {
		t.Errorf("the other program's file on %s is %s, want none: it is on %s", system, c.w.Files[id].Path, archive)
	}
	if id := c.fileOf(8, ""); id != far {
		t.Errorf("the other program's file is %v", id)
	}
}

// A figure says where it was read itself, not where another of its kind was.
func TestSourceOfTheFigure(t *testing.T) {
	r := sample.NewRecorder(epoch)
	for _, d := range []string{"loop1", "vda", "sda", "loop0", "dm-0"} {
		r.Put(sample.DeviceReadAhead, sample.Entity{Device: d}, 131072, "/sys/block/"+d+"/queue/read_ahead_kb")
		r.Put(sample.BlockDeviceTime, sample.Entity{PID: 7, Device: d, Class: "read"}, map[string]float64{"vda": 9}[d], "test")
	}
	for _, cg := range []string{"/a", "/b", "/a/c"} {
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: cg, Class: "max"}, 1, cg+"/memory.max")
	}
	r.PutProcess(7, sample.Process{Comm: "worker", MemoryCgroup: "/a/d"})
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 6, "test")
	w := r.Window(epoch.Add(10 * time.Second))
	c := newCase(w, Target{PIDs: []int{7}})
	if got := c.figure("read-ahead", 1, "bytes", sample.DeviceReadAhead).Source; got != "/sys/block/vda/queue/read_ahead_kb" {
		t.Errorf("of the victim's device: %q", got)
	}
	if got := c.figure("limit", 1, "bytes", sample.CgroupMemLimit).Source; got != "/a/memory.max" {
		t.Errorf("of the victim's cgroups: %q", got)
	}
	loop := sample.Entity{Device: "loop0"}
	if got := c.figureOf("read-ahead", 1, "bytes", sample.DeviceReadAhead, loop).Source; got != "/sys/block/loop0/queue/read_ahead_kb" {
		t.Errorf("of another device: %q", got)
	}
	for range 20 {
		if got := w.Source(sample.DeviceReadAhead); got != "/sys/block/dm-0/queue/read_ahead_kb" {
			t.Fatalf("of no device in particular: %q, want always the same", got)
		}
	}
}
