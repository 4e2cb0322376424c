package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

var vda = host.MakeDev(254, 0)

func TestParseIO(t *testing.T) {
	d := devices{}
	if err := parseV1IO(proctest.Fixture(t, "v1-io_serviced"), reads, d); err != nil || len(d) != 1 ||
		*d[vda] != (IO{Value: [figures]uint64{0, 0, 66, 64}, Known: [figures]bool{false, false, true, true}}) {
		t.Errorf("%+v, %v", d[vda], err)
	}
	proctest.WantLine(t, parseV1IO([]byte("Total 0\n8:0 Read x"), reads, d), 2)
	d = devices{}
	if err := parseV1Limit(proctest.Fixture(t, "v1-limit"), readBytes, d); err != nil || len(d) != 2 || d[vda].Value[readBytes] != 52428800 {
		t.Errorf("%+v, %v", d, err)
	}
	proctest.WantLine(t, parseV1Limit([]byte("8:0 max"), readBytes, d), 1)
	d = devices{}
	nvme := host.MakeDev(259, 0)
	if err := parseV2IO(proctest.Fixture(t, "v2-io.stat"), d); err != nil || len(d) != 2 || d[nvme].Value != [figures]uint64{20000000, 50000000, 700, 1400} {
		t.Errorf("%+v, %v", d, err)
	}
	d = devices{}
	if err := parseV2IO(proctest.Fixture(t, "v2-io.max"), d); err != nil ||
		*d[nvme] != (IO{Value: [figures]uint64{10485760, 0, 0, 500}, Known: [figures]bool{true, false, false, true}}) {
		t.Errorf("%+v, %v", d[nvme], err)
	}
	proctest.WantLine(t, parseV2IO([]byte("\nrbytes=1"), d), 2)
	proctest.WantLine(t, parseV2IO([]byte("8:0 rbytes=-1"), d), 1)
	proctest.WantLine(t, parseV2IO([]byte("nonsense"), d), 1)
}

// What io.cost (block/blk-iocost.c) and io.latency tell is of a cgroup and all below
// it. How long requests were held back is there with blkcg_debug_stats only.
func TestCost(t *testing.T) {
	x := v2(t)
	const dir = "sys/fs/cgroup/a/"
	x.Write(dir+"io.max", "")
	x.Write(dir+"io.latency", "254:0 target=75000\n")
	x.Write(dir+"io.stat", "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=1000000 cost.wait=2000000 cost.indebt=9 cost.indelay=500000\n")
	x.Write("sys/fs/cgroup/b/io.stat", "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=5\n")
	s := x.Open(OpenIO)
	proctest.Collect(t, s, sample.First)
	x.Write(dir+"io.stat", "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=1500000 cost.wait=5000000 cost.indebt=9 cost.indelay=750000\n")
	x.Write("sys/fs/cgroup/b/io.stat", "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=5\n")
	w := proctest.Collect(t, s, sample.Last)
	a, b := sample.Entity{Cgroup: "/a", Device: "vda"}, sample.Entity{Cgroup: "/b", Device: "vda"}
	proctest.Want(t, w, sample.CgroupIOCost, a, 0.5)
	proctest.Want(t, w, sample.CgroupIOCostWait, a, 3.25)
	proctest.Want(t, w, sample.CgroupIOTarget, a, 0.075)
	proctest.Want(t, w, sample.CgroupIOCost, b, 0)
	proctest.WantAbsent(t, w, sample.CgroupIOCostWait, b)
	proctest.WantAbsent(t, w, sample.CgroupIOTarget, b)
	for _, text := range []string{"8:0 target=-1", "8 target=1", "8:0"} {
		_, err := parseTargets([]byte(text))
		proctest.WantLine(t, err, 1)
	}
}

// v2 is a tree with the unified hierarchy and two devices.
func v2(t *testing.T) proctest.Tree {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", "1 0 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	x.Write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
	x.Write("sys/block/vda/dev", "254:0\n")
	return x
}

// Of the devices that were used it is told what they lie on.
func TestDevicesOnOthers(t *testing.T) {
	x := v2(t)
	for disk, dev := range map[string]string{"dm-0": "253:0", "dm-1": "253:1"} {
		x.Write("sys/block/"+disk+"/dev", dev+"\n")
		x.Write("sys/block/"+disk+"/slaves/vda1/dev", "254:1\n")
	}
	x.Write("sys/block/vda/vda1/dev", "254:1\n")
	x.Write("sys/block/vda/vda1/partition", "1\n")
	x.Write("sys/fs/cgroup/a/io.stat", "254:0 rbytes=0 wbytes=0 rios=0 wios=0\n253:0 rbytes=0 wbytes=0 rios=0 wios=0\n253:1 rbytes=5 wbytes=0 rios=1 wios=0\n")
	s := x.Open(OpenIO)
	proctest.Collect(t, s, sample.First)
	x.Write("sys/fs/cgroup/a/io.stat", "254:0 rbytes=1000 wbytes=0 rios=1 wios=0\n253:0 rbytes=1000 wbytes=0 rios=1 wios=0\n253:1 rbytes=5 wbytes=0 rios=1 wios=0\n")
	w := proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.CgroupReadBytes, sample.Entity{Cgroup: "/a", Device: "vda"}, 1000)
	proctest.Want(t, w, sample.CgroupReadBytes, sample.Entity{Cgroup: "/a", Device: "dm-0"}, 1000)
	proctest.Want(t, w, sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1)
	proctest.WantAbsent(t, w, sample.CgroupDeviceOn, sample.Entity{Device: "dm-1", Class: "vda"})
}

// TestV2 checks that I/O is counted once in a subtree, and that a cgroup that
// comes to be in the window counts from zero.
func TestV2(t *testing.T) {
	x := v2(t)
	odd := `sp ace "q" (deleted)`
	top, child := "sys/fs/cgroup/"+odd+"/", "sys/fs/cgroup/"+odd+"/child/"
	x.Write("sys/fs/cgroup/io.stat", "254:0 rbytes=1000 wbytes=0 rios=10 wios=0\n")
	x.Write(top+"io.stat", "254:0 rbytes=600 wbytes=0 rios=6 wios=0\n")
	x.Write(top+"memory.current", "100\n")
	x.Write(top+"memory.max", "200\n")
	x.Write(top+"memory.high", "150\n")
	x.Write(top+"memory.events", "high 1\nmax 1\n")
	x.Write(top+"memory.stat", "anon 5\nfile 50\nshmem 60\nworkingset_refault_file 7\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	e := sample.Entity{Cgroup: "/" + odd}
	proctest.Want(t, w, sample.CgroupMemUsage, e, 100)
	proctest.Want(t, w, sample.CgroupMemFile, e, 0)
	proctest.WantAbsent(t, w, sample.CgroupRefault, e)
	proctest.WantAbsent(t, w, sample.CgroupReads, sample.Entity{Cgroup: "/", Device: "vda"})

	x.Write("sys/fs/cgroup/io.stat", "254:0 rbytes=1900 wbytes=0 rios=19 wios=0\n")
	x.Write(top+"io.stat", "254:0 rbytes=1200 wbytes=0 rios=12 wios=0\n9:9 rbytes=5 wbytes=0 rios=1 wios=0\n")
	x.Write(child+"io.stat", "254:0 rbytes=400 wbytes=0 rios=4 wios=0\n")
	x.Write(child+"memory.events", "high 0\nmax 3\n")
	x.Write(child+"io.max", "254:0 rbps=max wbps=77 riops=max wiops=max\n8:0 rbps=9 wbps=max riops=max wiops=max\n")
	x.Write(top+"memory.events", "high 4\nmax 2\n")
	x.Write(top+"memory.high", "max\n")
	x.Write(top+"memory.stat", "anon 5\nfile 50\nshmem 10\nworkingset_refault_file 5\n")
	if w = proctest.Collect(t, s, sample.Tick); w.Has(sample.CgroupMemUsage) {
		t.Error("a tick reads cgroups")
	}
	w = proctest.Collect(t, s, sample.Last)
	on := func(cgroup string) sample.Entity { return sample.Entity{Cgroup: cgroup, Device: "vda"} }
	proctest.Want(t, w, sample.CgroupReadBytes, on("/"), 300)
	proctest.Want(t, w, sample.CgroupReadBytes, on(e.Cgroup), 200)
	proctest.Want(t, w, sample.CgroupReadBytes, on(e.Cgroup+"/child"), 400)
	proctest.Want(t, w, sample.CgroupReads, on(e.Cgroup+"/child"), 4)
	proctest.Want(t, w, sample.CgroupReads, sample.Entity{Cgroup: e.Cgroup, Device: "9:9"}, 1)
	proctest.Want(t, w, sample.CgroupReads, sample.Entity{Cgroup: e.Cgroup + "/child", Device: "8:0"}, 0) // it has a limit
	proctest.Want(t, w, sample.CgroupIOLimit, sample.Entity{Cgroup: e.Cgroup + "/child", Device: "vda", Class: "write_bytes"}, 77)
	proctest.Want(t, w, sample.CgroupMemLimit, sample.Entity{Cgroup: e.Cgroup, Class: "max"}, 200)
	proctest.Want(t, w, sample.CgroupMemFile, e, 40)
	proctest.Want(t, w, sample.CgroupLimitHits, e, 4)
	proctest.Want(t, w, sample.CgroupLimitHits, sample.Entity{Cgroup: e.Cgroup + "/child"}, 3)
	proctest.WantAbsent(t, w, sample.CgroupRefault, e)
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.CgroupRefault {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

func TestV1(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/self/mountinfo", "1 0 0:9 / /cg/m rw - cgroup cgroup rw,memory\n2 0 0:8 / /cg/b rw - cgroup cgroup rw,blkio\n")
	x.Write("sys/block/vda/dev", "254:0\n")
	x.Write("cg/m/a/memory.limit_in_bytes", "9223372036854771712\n")
	x.Write("cg/m/a/memory.failcnt", "5\n")
	x.Write("cg/m/a/memory.usage_in_bytes", "12345\n")
	x.Write("cg/b/z/blkio.throttle.io_service_bytes", "254:0 Read 1000\n254:0 Write 50\n254:0 Total 1050\nTotal 1050\n")
	x.Write("cg/b/z/blkio.throttle.read_iops_device", "254:0 40\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	proctest.Want(t, w, sample.CgroupMemUsage, sample.Entity{Cgroup: "/a"}, 12345)
	if w.Has(sample.CgroupMemLimit) {
		t.Error("no limit is set")
	}
	x.Write("cg/m/a/memory.failcnt", "9\n")
	x.Write("cg/b/z/blkio.throttle.io_service_bytes", "254:0 Read 4000\n254:0 Write 50\nTotal 4050\n")
	w = proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.CgroupLimitHits, sample.Entity{Cgroup: "/a"}, 4)
	z := sample.Entity{Cgroup: "/z", Device: "vda"}
	proctest.Want(t, w, sample.CgroupReadBytes, z, 3000)
	proctest.Want(t, w, sample.CgroupWriteBytes, z, 0)
	z.Class = "reads"
	proctest.Want(t, w, sample.CgroupIOLimit, z, 40)
}

// TestPressure reads how long the threads of a cgroup of version 2 stalled; the top
// one's pressure is the host's.
func TestPressure(t *testing.T) {
	x := v2(t)
	write := func(some, full int) {
		text := fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", some, full)
		x.Write("sys/fs/cgroup/io.pressure", text)
		x.Write("sys/fs/cgroup/a/io.pressure", text)
		x.Write("sys/fs/cgroup/a/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n") // before Linux 5.13
	}
	write(1_000_000, 500_000)
	s := x.Open(Open)
	proctest.Collect(t, s, sample.First)
	write(3_500_000, 500_000)
	w := proctest.Collect(t, s, sample.Last)
	of := func(cgroup, class string) sample.Entity { return sample.Entity{Cgroup: cgroup, Class: class} }
	proctest.Want(t, w, sample.CgroupPSISome, of("/a", "io"), 2.5)
	proctest.Want(t, w, sample.CgroupPSIFull, of("/a", "io"), 0)
	proctest.Want(t, w, sample.CgroupPSISome, of("/a", "cpu"), 0)
	proctest.WantAbsent(t, w, sample.CgroupPSIFull, of("/a", "cpu"))
	proctest.WantAbsent(t, w, sample.CgroupPSISome, of("/a", "memory"))
	proctest.WantAbsent(t, w, sample.CgroupPSISome, of("/", "io"))
	x.Write("sys/fs/cgroup/a/io.pressure", "some avg10=0.00\n")
	r := sample.NewRecorder(time.Now())
	if err := s.Collect(sample.Last, r); err == nil || !strings.Contains(err.Error(), "io.pressure") {
		t.Errorf("a file without a total gives %v", err)
	}
}

func TestParseCPU(t *testing.T) {
	c, err := parseCPU(proctest.Fixture(t, "v1-cpu.stat"))
	if err != nil || *c.Periods != 127 || *c.Throttled != 101 || *c.Held != 8412345678 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = parseCPU(proctest.Fixture(t, "v2-cpu.stat")); err != nil || *c.Periods != 52 || *c.Throttled != 40 || *c.Held != 3141592000 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = parseCPU([]byte("usage_usec 5\n")); err != nil || c.Periods != nil || c.Held != nil { // the top cgroup's
		t.Errorf("%+v, %v", c, err)
	}
	_, err = parseCPU([]byte("nr_periods 1\nnr_throttled x\n"))
	proctest.WantLine(t, err, 2)
	for s, want := range map[string]float64{"max 100000\n": 0, "25000 100000\n": 0.25, "400000 100000": 4} {
		if got, err := parseMax([]byte(s)); err != nil || got != want {
			t.Errorf("%q: %g, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "x 1", "1 0", "-1 100000"} {
		_, err := parseMax([]byte(s))
		proctest.WantLine(t, err, 1)
	}
}

// TestCPUQuota reads the processor limits of either version.
func TestCPUQuota(t *testing.T) {
	for version, files := range map[string]map[string]string{
		"1 0 0:9 / /cg rw - cgroup cgroup rw,cpu\n": {
			"a/cpu.cfs_quota_us": "25000\n", "a/cpu.cfs_period_us": "50000\n", "free/cpu.cfs_quota_us": "-1\n", "free/cpu.cfs_period_us": "100000\n",
		},
		"1 0 0:9 / /cg rw - cgroup2 cgroup2 rw\n": {"cgroup.controllers": "cpu\n", "a/cpu.max": "50000 100000\n", "free/cpu.max": "max 100000\n"},
	} {
		x := proctest.NewTree(t)
		x.Write("proc/self/mountinfo", version)
		for name, text := range files {
			x.Write("cg/"+name, text)
		}
		stat := func(text string) {
			x.Write("cg/a/cpu.stat", text)
			x.Write("cg/free/cpu.stat", "nr_periods 0\nnr_throttled 0\n")
		}
		stat("nr_periods 10\nnr_throttled 5\nthrottled_time 1000000000\nthrottled_usec 1000000\n")
		s := x.Open(Open)
		proctest.Collect(t, s, sample.First)
		stat("nr_periods 110\nnr_throttled 85\nthrottled_time 4500000000\nthrottled_usec 4500000\n")
		w := proctest.Collect(t, s, sample.Last)
		e, free := sample.Entity{Cgroup: "/a"}, sample.Entity{Cgroup: "/free"}
		proctest.Want(t, w, sample.CgroupCPUQuota, e, 0.5)
		proctest.Want(t, w, sample.CgroupPeriods, e, 100)
		proctest.Want(t, w, sample.CgroupThrottled, e, 80)
		proctest.Want(t, w, sample.CgroupCPUHeld, e, 3.5)
		proctest.WantAbsent(t, w, sample.CgroupCPUQuota, free)
		proctest.WantAbsent(t, w, sample.CgroupPeriods, free)
	}
}

func TestOneController(t *testing.T) {
	x := v2(t)
	x.Write("sys/fs/cgroup/cgroup.controllers", "io\n")
	w := proctest.Collect(t, x.Open(Open), sample.First)
	if why := w.WhyAbsent(sample.CgroupMemUsage); !strings.Contains(why, "controller memory") {
		t.Errorf("%q", why)
	}
}

func TestTooManyCgroups(t *testing.T) {
	x := v2(t)
	for i := range most + 5 {
		require.NoError(t, os.MkdirAll(filepath.Join(x.Dir, "sys/fs/cgroup", fmt.Sprintf("c%04d", i)), 0o755))
	}
	x.Write("sys/fs/cgroup/c0000/memory.current", "1\n")
	w := proctest.Collect(t, x.Open(Open), sample.First)
	proctest.Want(t, w, sample.CgroupMemUsage, sample.Entity{Cgroup: "/c0000"}, 1)
	if len(w.Gaps) != 3 || !strings.Contains(w.Gaps[0].Why, "more than 512") {
		t.Errorf("gaps %+v", w.Gaps)
	}
}

// A cgroup that is removed and made anew is another one, although it has the
// same name: it counts from zero. What was not read before, because there were
// too many, does not.
func TestCgroupsComeAndGo(t *testing.T) {
	x := v2(t)
	write := func(name string, n int) {
		x.Write("sys/fs/cgroup/"+name+"/io.stat", fmt.Sprintf("254:0 rbytes=%d wbytes=0 rios=1 wios=0\n", n))
	}
	remove := func(name string) {
		t.Helper()
		require.NoError(t, os.RemoveAll(filepath.Join(x.Dir, "sys/fs/cgroup", name)))
	}
	s := x.Open(OpenIO)
	r := sample.NewRecorder(x.Host().Now())
	observe := func(phase sample.Phase) *sample.Window {
		t.Helper()
		require.NoError(t, s.Collect(phase, r))
		return r.NextWindow(x.Host().Now())
	}
	e := func(name string) sample.Entity { return sample.Entity{Cgroup: "/" + name, Device: "vda"} }
	write("a", 1000)
	observe(sample.First)
	// The new one is made before the old one goes, so that it has another inode.
	write("new", 1500)
	remove("a")
	require.NoError(t, os.Rename(filepath.Join(x.Dir, "sys/fs/cgroup/new"), filepath.Join(x.Dir, "sys/fs/cgroup/a")))
	w := observe(sample.IntervalEnd)
	proctest.Want(t, w, sample.CgroupReadBytes, e("a"), 1500)
	if len(w.Gaps) > 0 {
		t.Errorf("%+v", w.Gaps)
	}
	write("z", 7e6)
	for i := range most {
		require.NoError(t, os.Mkdir(filepath.Join(x.Dir, "sys/fs/cgroup", fmt.Sprintf("c%04d", i)), 0o755))
	}
	w = observe(sample.IntervalEnd)
	proctest.WantAbsent(t, w, sample.CgroupReadBytes, e("z"))
	for i := range most {
		remove(fmt.Sprintf("c%04d", i))
	}
	w = observe(sample.IntervalEnd)
	proctest.WantAbsent(t, w, sample.CgroupReadBytes, e("z")) // it may be old
	write("z", 7e6+5)
	w = observe(sample.IntervalEnd)
	proctest.Want(t, w, sample.CgroupReadBytes, e("z"), 5)
}

// TestBadFile reads everything else and names the file and the line.
func TestBadFile(t *testing.T) {
	x := v2(t)
	x.Write("sys/fs/cgroup/a/memory.current", "lots\n")
	x.Write("sys/fs/cgroup/b/memory.current", "1\n")
	s := x.Open(Open)
	r := sample.NewRecorder(x.Host().Now())
	err := s.Collect(sample.First, r)
	if err == nil || !strings.Contains(err.Error(), `/a/memory.current":1: `) {
		t.Errorf("%v", err)
	}
	proctest.Want(t, r.Window(x.Host().Now()), sample.CgroupMemUsage, sample.Entity{Cgroup: "/b"}, 1)
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) {
		parseNumber(b)
		parseCPU(b)
		parseMax(b)
		parseV1IO(b, readBytes, devices{})
		parseV1Limit(b, writes, devices{})
		parseV2IO(b, devices{})
		parseTargets(b)
	})
}
