package top

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// did is a window of ten seconds in which one process and one cgroup read.
func did(at time.Time, pid int, p sample.Process, bytes float64, gaps ...sample.Gap) *sample.Window {
	r := sample.NewRecorder(at)
	r.At(at.Add(10 * time.Second))
	r.PutProcess(pid, p)
	r.Put(sample.ProcReadBytes, sample.Entity{PID: pid}, bytes, "/proc/PID/io")
	r.Put(sample.ProcUser, sample.Entity{PID: pid}, 0.5, "/proc/PID/stat")
	r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: p.IOCgroup, Device: "vda"}, bytes, "io.stat")
	r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: p.IOCgroup, Device: "vdb"}, 1, "io.stat")
	for _, g := range gaps {
		r.PutGap(g)
	}
	return r.Window(at.Add(10 * time.Second))
}

// A number that was given to another process is another row, whatever it is
// called, and a process that took another name is one.
func TestTopTellsReusedNumbersApart(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	top := New()
	first := sample.Process{Comm: "worker", Start: 100 * time.Second, IOCgroup: "/a"}
	second := sample.Process{Comm: "worker", Start: 130 * time.Second, IOCgroup: "/\x1b[2J\xff"}
	top.Add(did(at, 7, first, 1000))
	first.Comm = "renamed"
	top.Add(did(at.Add(10*time.Second), 7, first, 24))
	top.Add(did(at.Add(60*time.Second), 7, second, 5000))
	tables := top.Tables()
	rows := tables[0].Object()["rows"].([]map[string]any)
	if len(rows) != 2 || rows[0]["start_seconds"] != 130.0 || rows[0]["read_bytes"] != 5000.0 || rows[0]["comm"] != "worker" ||
		rows[1]["start_seconds"] != 100.0 || rows[1]["read_bytes"] != 1024.0 || rows[1]["comm"] != "renamed" || rows[1]["cpu_seconds"] != 1.0 ||
		rows[1]["waited_seconds"] != nil || rows[1]["write_bytes"] != nil {
		t.Errorf("%v", rows)
	}
	groups := tables[1].Object()["rows"].([]map[string]any)
	if len(groups) != 2 || groups[0]["cgroup"] != "/\x1b[2J\xff" || groups[0]["read_bytes"] != 5001.0 || groups[1]["read_bytes"] != 1026.0 {
		t.Errorf("%v", groups)
	}
	if notes := strings.Join(tables[0].Notes, "; "); !strings.Contains(notes, "covers 30 s of these 70 s") || !strings.Contains(notes, "proc.blkio_delay was not measured") {
		t.Errorf("%q", notes)
	}
	if _, err := json.Marshal(tables[0].Object()); err != nil {
		t.Error(err)
	}
}

// What a cgroup did on a stack of devices counts once.
func TestTopCountsStacksOnce(t *testing.T) {
	r := sample.NewRecorder(time.Unix(100, 0))
	r.Put(sample.CgroupDeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1, "/sys/block/dm-0/slaves")
	for _, device := range []string{"dm-0", "vda"} {
		r.Put(sample.CgroupReadBytes, sample.Entity{Cgroup: "/a", Device: device}, 1000, "io.stat")
	}
	top := New()
	top.Add(r.Window(time.Unix(110, 0)))
	if rows := top.Tables()[1].Object()["rows"].([]map[string]any); len(rows) != 1 || rows[0]["read_bytes"] != 1000.0 {
		t.Errorf("%v", rows)
	}
}

// A process in the root of the I/O controller's tree is in a cgroup all the same.
func TestTopNamesTheCgroupThatAProcessIsIn(t *testing.T) {
	top := New()
	top.Add(did(time.Unix(100, 0), 7, sample.Process{Comm: "x", Start: 1, IOCgroup: "/", CPUCgroup: "/", MemoryCgroup: "/shop.slice/db"}, 1000))
	if rows := top.Tables()[0].Object()["rows"].([]map[string]any); rows[0]["cgroup"] != "/shop.slice/db" {
		t.Errorf("%v", rows)
	}
}

// Gaps that differ in nothing but numbers are one note; where one says why a
// metric is missing, that is said.
func TestTopSaysWhatIsMissing(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	top := New()
	off := sample.Gap{Why: "the kernel does not account waits", Metrics: []sample.Metric{sample.ProcBlkioDelay}}
	denied := func(n string) sample.Gap {
		return sample.Gap{Why: "reading /proc/PID/io of " + n + " processes was not permitted", Metrics: []sample.Metric{sample.ProcReadBytes, sample.ProcWriteBytes}}
	}
	top.Add(did(at, 7, sample.Process{Start: 1}, 1, off, denied("3")))
	top.Add(did(at.Add(10*time.Second), 7, sample.Process{Start: 1}, 1, off, denied("4")))
	want := "the kernel does not account waits; reading /proc/PID/io of 4 processes was not permitted"
	if got := strings.Join(top.Tables()[0].Notes, "; "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if notes := top.Tables()[1].Notes; notes != nil {
		t.Errorf("%q", notes)
	}
}
