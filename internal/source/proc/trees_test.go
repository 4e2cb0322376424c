// Package proc_test runs every reader of /proc and /sys on the captured hosts.
package proc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/cgroup"
	"iocause/internal/source/proc/diskstats"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/pid"
	"iocause/internal/source/proc/pressure"
	"iocause/internal/source/proc/queue"
	"iocause/internal/source/proc/schedstat"
	"iocause/internal/source/proc/stat"
	"iocause/internal/source/proc/sysctl"
	"iocause/internal/source/proc/vmstat"
)

var sources = map[string]func(*host.Host) (sample.Source, error){
	"cgroup": cgroup.Open, "diskstats": diskstats.Open, "meminfo": meminfo.Open, "pid": pid.Open,
	"pressure": pressure.Open, "queue": queue.Open, "schedstat": schedstat.Open, "stat": stat.Open,
	"sysctl": sysctl.Open, "vmstat": vmstat.Open,
}

const trees = "../../../testdata/hosts"

// run collects First, Tick and Last of every source; the tree does not change.
func run(t *testing.T, tree string) (w *sample.Window, openErrs, errs map[string]error) {
	t.Helper()
	now := time.Unix(1700000000, 0)
	h := host.Tree(tree, func() time.Time { return now })
	rec := sample.NewRecorder(now)
	openErrs, errs = map[string]error{}, map[string]error{}
	for name, open := range sources {
		s, err := open(h)
		if err != nil {
			openErrs[name] = err
			continue
		}
		for i, phase := range []sample.Phase{sample.First, sample.Tick, sample.Last} {
			rec.At(now.Add(time.Duration(i) * time.Second))
			if err := s.Collect(phase, rec); err != nil {
				errs[name] = err
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: %v", name, err)
		}
	}
	return rec.Window(now.Add(2 * time.Second)), openErrs, errs
}

type figure struct {
	metric sample.Metric
	entity sample.Entity
	want   float64
}

func check(t *testing.T, w *sample.Window, figures []figure) {
	t.Helper()
	for _, f := range figures {
		if got, ok := w.Value(f.metric, f.entity); !ok || got != f.want {
			t.Errorf("%s of %+v = %v, %v; want %v", f.metric, f.entity, got, ok, f.want)
		}
	}
}

func names(errs map[string]error) string {
	var out []string
	for name := range errs {
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestCapturedHost(t *testing.T) {
	w, open, errs := run(t, filepath.Join(trees, "virtio-cgroup1"))
	if len(open) != 1 || open["schedstat"] == nil || len(errs) != 0 {
		t.Errorf("could not open %v, failed %v; this host lacks only schedstat", open, errs)
	}
	job := sample.Entity{Cgroup: "/batch/job"}
	check(t, w, []figure{
		{sample.CPUCount, sample.Entity{}, 2},
		{sample.DeviceReadAhead, sample.Entity{Device: "vda"}, 8 << 20},
		{sample.DeviceRotate, sample.Entity{Device: "vda"}, 1},
		{sample.DeviceRequests, sample.Entity{Device: "vda"}, 256},
		{sample.Sysctl, sample.Entity{Class: "dirty_ratio"}, 20},
		{sample.CgroupMemLimit, sample.Entity{Cgroup: "/batch/job", Class: "max"}, 16 << 20},
		{sample.CgroupMemUsage, job, 282624},
		{sample.CgroupLimitHits, job, 0},
		{sample.CgroupRefault, job, 0},
		{sample.CgroupIOLimit, sample.Entity{Cgroup: "/job", Device: "vda", Class: "read_bytes"}, 52428800},
		{sample.CgroupCPUQuota, sample.Entity{Cgroup: "/job"}, 0.2},
		{sample.CgroupIOLimit, sample.Entity{Cgroup: "/job", Device: "vda", Class: "writes"}, 777},
		{sample.CgroupReadBytes, sample.Entity{Cgroup: "/job", Device: "vda"}, 0},
		{sample.DiskReads, sample.Entity{Device: "vda"}, 0},
	})
	if _, ok := w.Value(sample.CgroupMemLimit, sample.Entity{Cgroup: "/", Class: "max"}); ok {
		t.Error("the top cgroup has no limit, yet one was emitted")
	}
	w.Each(sample.DiskReads, func(e sample.Entity, _ *sample.Series) {
		if e.Device != "vda" && e.Device != "loop0" {
			t.Errorf("%s never did anything", e.Device)
		}
	})
	if w.Has(sample.ProcUser) {
		t.Error("no process did anything between the readings")
	}
}

func TestCgroup2Host(t *testing.T) {
	w, open, errs := run(t, filepath.Join(trees, "nvme-cgroup2"))
	if len(open)+len(errs) != 0 {
		t.Errorf("could not open %v, failed %v", open, errs)
	}
	db := sample.Entity{Cgroup: "/system.slice/db.service"}
	check(t, w, []figure{
		{sample.ProcsRunning, sample.Entity{}, 2},
		{sample.ProcsBlocked, sample.Entity{}, 3},
		{sample.MemCache, sample.Entity{}, 4100000 * 1024},
		{sample.SwapFree, sample.Entity{}, 1500000 * 1024},
		{sample.VMDirtyLimit, sample.Entity{}, 390000 * 4096},
		{sample.VMDirtyBg, sample.Entity{}, 195000 * 4096},
		{sample.VMAllocStall, sample.Entity{}, 0},
		{sample.CPURunDelay, sample.Entity{}, 0},
		{sample.PSIFull, sample.Entity{Class: "io"}, 0},
		{sample.DiskInFlight, sample.Entity{Device: "nvme0n1"}, 2},
		{sample.DiskFlushes, sample.Entity{Device: "sda"}, 0},
		{sample.DeviceReadAhead, sample.Entity{Device: "sda"}, 4 << 20},
		{sample.DeviceRotate, sample.Entity{Device: "nvme0n1"}, 0},
		{sample.CgroupMemLimit, sample.Entity{Cgroup: db.Cgroup, Class: "high"}, 838860800},
		{sample.CgroupMemLimit, sample.Entity{Cgroup: "/my app (deleted)", Class: "max"}, 2 << 20},
		{sample.CgroupMemFile, db, 449000000},
		{sample.CgroupMemAnon, db, 250000000},
		{sample.CgroupMemShmem, db, 1000000},
		{sample.CgroupLimitHits, db, 0},
		{sample.CgroupIOLimit, sample.Entity{Cgroup: db.Cgroup, Device: "nvme0n1", Class: "read_bytes"}, 10 << 20},
		{sample.CgroupIOLimit, sample.Entity{Cgroup: db.Cgroup, Device: "nvme0n1", Class: "writes"}, 500},
	})
	for _, name := range []string{"nvme0n1p1", "ram0", "loop0"} {
		if w.Get(sample.DiskReads, sample.Entity{Device: name}) != nil {
			t.Errorf("%s is no disk that is in use", name)
		}
	}
	if w.Get(sample.PSIFull, sample.Entity{Class: "cpu"}) != nil {
		t.Error("this kernel has no full pressure of processors")
	}
}

func TestPoorHost(t *testing.T) {
	w, open, errs := run(t, filepath.Join(trees, "poor"))
	for _, name := range []string{"pressure", "schedstat", "cgroup", "queue", "sysctl"} {
		if open[name] == nil {
			t.Errorf("%s opened on a host without its files", name)
		}
	}
	if len(open) != 5 || len(errs) != 1 || errs["pid"] == nil {
		t.Errorf("could not open %s; failed %v, want pid alone, for its truncated files", names(open), errs)
	}
	if e := open["pressure"]; e == nil || !strings.Contains(e.Error(), "psi=1") {
		t.Errorf("%v does not say what to do", e)
	}
	check(t, w, []figure{
		{sample.MemTotal, sample.Entity{}, 512000 * 1024},
		{sample.DiskInFlight, sample.Entity{Device: "sda"}, 0},
		{sample.CPUIOWait, sample.Entity{}, 0},
	})
	if w.Get(sample.DiskReads, sample.Entity{Device: "sda2"}) != nil {
		t.Error("sda2 is a partition, as its name tells")
	}
	for _, m := range []sample.Metric{sample.VMPageIn, sample.MemAvailable, sample.DiskFlushes, sample.CPUSteal} {
		if w.Has(m) || strings.Contains(w.WhyAbsent(m), "was not measured") {
			t.Errorf("%s: measured %v, because %q", m, w.Has(m), w.WhyAbsent(m))
		}
	}
}

// TestEmptyTree has no file at all: nothing may open but what lists them.
func TestEmptyTree(t *testing.T) {
	dir := t.TempDir()
	_, open, _ := run(t, dir)
	if len(open) != len(sources) {
		t.Errorf("%d of %d failed to open below an empty directory", len(open), len(sources))
	}
}

// TestEmptyFiles runs on a tree whose files are all empty.
func TestEmptyFiles(t *testing.T) {
	for _, tree := range []string{"virtio-cgroup1", "nvme-cgroup2"} {
		dir := t.TempDir()
		from := filepath.Join(trees, tree)
		require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(p, "mountinfo") {
				return err
			}
			return os.Truncate(p, 0)
		})
		require.NoError(t, err)
		run(t, dir)
	}
}

// TestLiveHost runs everything on the machine itself; what it lacks differs,
// but nothing that opens may fail.
func TestLiveHost(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip(err)
	}
	h := host.Live()
	rec := sample.NewRecorder(h.Now())
	for name, open := range sources {
		s, err := open(h)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Last} {
			rec.At(h.Now())
			if err := s.Collect(phase, rec); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.Close()
	}
	w := rec.Window(h.Now())
	if v, ok := w.Value(sample.MemTotal, sample.Entity{}); !ok || v <= 0 {
		t.Errorf("memory %v, %v", v, ok)
	}
	w.Each(sample.ProcUser, func(e sample.Entity, s *sample.Series) {
		if e.PID == h.Self {
			t.Error("we are in our own findings")
		}
		if s.Sum() < 0 {
			t.Errorf("process %d: negative processor time", e.PID)
		}
	})
}
