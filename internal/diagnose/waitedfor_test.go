package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// waits adds what a process waits for.
func (m machine) waits(pid int, what string, seconds float64) {
	m.put(sample.WaitFor, sample.Entity{PID: pid, Class: what}, seconds)
}

// What is waited for decides, whatever the call is.
func TestWaitsByWhatTheyAreFor(t *testing.T) {
	disk := sample.FileID{Dev: 1, Ino: 7}
	for _, c := range []struct {
		name string
		make func(m machine)
		want map[ID]Answer
	}{
		{"io_uring through the cache", func(m machine) {
			m.process(10, "server", "async", thread{wait: 8, cpu: 1})
			m.waits(10, "unknown", 8)
			m.reads(10, 1<<16)
			m.put(sample.CacheWayAccesses, sample.Entity{PID: 10, Class: "io_uring"}, 1<<16)
			m.put(sample.CacheWayMisses, sample.Entity{PID: 10, Class: "io_uring"}, 1<<16)
		}, map[ID]Answer{"cold-cache": Yes, "sync-writes": No}},
		{"find, of inodes and directories that are not cached", func(m machine) {
			m.process(10, "find", "other", thread{wait: 8, cpu: 1})
			m.waits(10, "metadata", 8)
			m.put(sample.CacheInserted, sample.Entity{PID: 10}, 1<<12)
			m.put(sample.CacheInserted, sample.Entity{}, 1<<12)
		}, map[ID]Answer{"metadata-bound": Yes, "cold-cache": No, "cpu-bound": No}},
		{"a program that is read in while it begins", func(m machine) {
			m.process(10, "java", "other", thread{wait: 8, cpu: 1})
			m.waits(10, "page", 8)
			m.reads(10, 1<<14)
		}, map[ID]Answer{"cold-cache": Yes}},
		{"one of a crowd that waits for pages that the others read in", func(m machine) {
			m.process(10, "worker", "read", thread{wait: 9})
			m.waits(10, "page", 9)
			m.reads(10, 21)
		}, map[ID]Answer{"cold-cache": Yes}},
		{"a few pages read beside other waiting", func(m machine) {
			m.process(10, "worker", "read", thread{wait: 9})
			m.waits(10, "queue", 8)
			m.waits(10, "page", 1)
			m.reads(10, 21)
		}, map[ID]Answer{"cold-cache": No}},
		{"a worker of io_uring that syncs", func(m machine) {
			m.process(10, "server", "other", thread{wait: 8, cpu: 1})
			m.waits(10, "commit", 5)
			m.waits(10, "flush", 2)
			m.waits(10, "unknown", 1)
			m.put(sample.CacheDirtied, sample.Entity{PID: 10}, 100)
		}, map[ID]Answer{"sync-writes": Yes, "cold-cache": No}},
		{"writes that read what is around them", func(m machine) {
			m.process(10, "writer", "write", thread{wait: 8, cpu: 1})
			m.waits(10, "page", 8)
			m.reads(10, 1<<14)
		}, map[ID]Answer{"cold-cache": Yes, "sync-writes": No}},
	} {
		m := newMachine()
		m.busy(0.7)
		m.put(sample.WaitFor, sample.Entity{}, 0)
		c.make(m)
		m.PutFile(disk, sample.File{Path: "/data", Device: "vda"})
		w := m.Window(epoch.Add(testSeconds * time.Second))
		for _, cause := range List() {
			if want, ok := c.want[cause.ID]; ok {
				v := cause.Judge(newCase(w, Target{}))
				if v.Answer != want || want == Yes && v.Weight < 0.85 {
					t.Errorf("%s: %s is %q, weight %.2f (%s), want %q", c.name, cause.ID, v.Answer, v.Weight, v.Why, want)
				}
			}
		}
		checkReport(t, Judge(w, Target{}))
	}
}

// What is on no disk is not the disk's fault.
func TestWaitsForFUSEAreNotTheDisks(t *testing.T) {
	file := sample.FileID{Dev: 55, Ino: 7}
	m := newMachine()
	m.busy(0.5)
	m.put(sample.WaitFor, sample.Entity{}, 0)
	m.process(10, "reader", "read", thread{wait: 6, cpu: 1})
	m.waits(10, "page", 5)
	m.waits(10, "fuse", 1)
	m.put(sample.CacheWait, sample.Entity{PID: 10, File: file}, 5)
	m.PutFile(file, sample.File{Path: "/mnt/x", Device: "0:55"})
	c := newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})
	if w := c.deviceWeight(); w > 0.01 {
		t.Errorf("the device weighs %.2f, want nothing", w)
	}
}

func TestLocksOfFiles(t *testing.T) {
	m := newMachine()
	m.busy(0.02)
	m.process(10, "job", "other", thread{wait: 0.01, cpu: 0.1})
	m.put(sample.LockWait, sample.Entity{PID: 10, Class: "file"}, 9)
	m.put(sample.LockWaits, sample.Entity{PID: 10, Class: "file"}, 3)
	r := m.judge()
	if r.Primary != "lock-contention" || !strings.Contains(r.Findings[0].Advice[0].Do, "lslocks") {
		t.Errorf("found %+v, want lock-contention on a file", r.Findings)
	}
	checkReport(t, r)

	// A job that waits for its turn is nobody's trouble; several that stand still are,
	// and so is one that is asked about.
	for _, c := range []struct {
		jobs    int
		target  Target
		primary ID
	}{{1, Target{}, Healthy}, {1, Target{PIDs: []int{100}}, "lock-contention"}, {3, Target{}, "lock-contention"}} {
		m := newMachine()
		m.busy(0.02)
		for i := range c.jobs {
			m.process(100+i, "flock", "other", thread{cpu: 0.01})
			m.put(sample.LockWait, sample.Entity{PID: 100 + i, Class: "file"}, testSeconds)
			m.put(sample.LockWaits, sample.Entity{PID: 100 + i, Class: "file"}, 1)
		}
		r := Judge(m.Window(epoch.Add(testSeconds*time.Second)), c.target)
		if r.Primary != c.primary {
			t.Errorf("%d jobs that wait, asked about %v: %s, want %s", c.jobs, c.target, r.Primary, c.primary)
		}
		checkReport(t, r)
	}

	m = newMachine() // and of who waits for none, nothing is known
	m.busy(0.02)
	m.process(10, "busy", "other", thread{wait: 0.01, cpu: 9.9})
	m.put(sample.LockWait, sample.Entity{PID: 11, Class: "file"}, 0.1)
	if v := lockContention().Judge(newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})); v.Answer != CannotTell {
		t.Errorf("lock-contention is %q, want that it cannot be told", v.Answer)
	}
}
