package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// Who waits in its writes because the file system promises no more than it has is short
// of space; who waits there for what is written back anyway is not.
func TestShortOfSpace(t *testing.T) {
	for class, want := range map[string]bool{sample.ClassSpace: true, sample.ClassWriteback: false} {
		m := newMachine()
		m.process(10, "cp", "write", thread{wait: 4, cpu: 3})
		m.put(sample.WaitFor, sample.Entity{PID: 10, Class: class}, 4)
		m.put(sample.ProcWriteCalls, sample.Entity{PID: 10}, 8000)
		m.put(sample.ProcWriteChars, sample.Entity{PID: 10}, 8000*131072)
		copied := sample.FileID{Dev: 1, Ino: 1}
		m.PutFile(copied, sample.File{Path: "/data/copy"})
		m.put(sample.CacheDirtied, sample.Entity{PID: 10, File: copied}, 256000)
		at := sample.Entity{Device: "vda", Class: "/data"}
		m.put(sample.FSSize, at, 700<<20)
		m.put(sample.FSAvailable, at, 300<<20)
		e := sample.Entity{PID: 7, Device: "vda", Class: "write"}
		m.PutProcess(7, sample.Process{Comm: "kworker/u8:1", Kernel: true})
		m.put(sample.BlockOps, e, 1200)
		m.put(sample.BlockBytes, e, 1200<<20)
		m.put(sample.BlockDeviceTime, e, 150)
		m.busy(0.8)
		r := m.judge()
		if got := r.Primary == FileSystemFull; got != want {
			t.Errorf("waiting for %s: %s; %+v", class, r.Primary, r.Excluded)
			continue
		}
		if !want {
			continue
		}
		f := r.Findings[0]
		if f.Weight < 0.99 || f.Culprit.File != "/data/copy" || f.Advice[0].Command != "df -h /data" {
			t.Errorf("%+v", f)
		}
		checkReport(t, r)
	}
}

// Of several file systems on a disk, or on what lies on it, it is the one that has the file.
func TestFileSystemLeft(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		points map[string]string // device by where it is mounted
		want   string
	}{
		"partitions":          {"/var/lib/db/x", map[string]string{"/": "vda", "/boot": "vda", "/boot/efi": "vda"}, "/"},
		"a shorter name":      {"/d/x", map[string]string{"/d": "vda", "/boot": "vda"}, "/d"},
		"one in another":      {"/srv/db/x", map[string]string{"/": "vda", "/srv": "vda", "/srv/db": "vda"}, "/srv/db"},
		"a name that begins":  {"/srvdata/x", map[string]string{"/": "vda", "/srv": "vda"}, "/"},
		"a volume on it":      {"/data/x", map[string]string{"/boot": "vda", "/data": "dm-0"}, "/data"},
		"another disk":        {"/data/x", map[string]string{"/": "vda", "/data": "vdb"}, "/"},
		"none that holds it":  {"/data/x", map[string]string{"/boot": "vda"}, ""},
		"a path nobody knows": {"", map[string]string{"/boot": "vda", "/": "vda"}, ""},
		"but one alone":       {"", map[string]string{"/": "vda"}, "/"},
	} {
		m := newMachine()
		m.put(sample.DeviceOn, sample.Entity{Device: "dm-0", Class: "vda"}, 1)
		file := sample.FileID{Dev: 1, Ino: 1}
		m.PutFile(file, sample.File{Path: c.file})
		m.put(sample.CacheDirtied, sample.Entity{PID: 10, File: file}, 256000)
		for point, device := range c.points {
			e := sample.Entity{Device: device, Class: point}
			m.put(sample.FSSize, e, 1000)
			m.put(sample.FSAvailable, e, 10)
		}
		w := m.Window(epoch.Add(time.Duration(testSeconds * float64(time.Second))))
		for range 20 { // the order of a map
			got, _, _ := (&Case{w: w, device: "vda", victim: victim{pid: 10}}).fileSystemLeft()
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
				break
			}
		}
	}
}
