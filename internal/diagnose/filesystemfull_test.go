package diagnose

import (
	"testing"

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
