package pagecache

import (
	"os/exec"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// A process goes by the name that it had last, also when it has ended: the
// shell that executes a program is that program.
func TestProcessThatExecutesAnotherProgram(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := fileOf(t, 101)
	var pid int
	w := bpftest.Observe(t, openExact, func() {
		cmd := exec.Command("/bin/sh", "-c", `read -r line <"$1"; exec cat "$1"`, "sh", path)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		pid = cmd.Process.Pid
	})
	if p := w.Processes[pid]; p.Comm != "cat" || p.Start == 0 {
		t.Errorf("process %d is %q, started %v, want cat", pid, p.Comm, p.Start)
	}
	e := sample.Entity{PID: pid, File: bpftest.ID(t, path)}
	if v, _ := w.Sum(sample.CacheAccesses, e); v < 101 {
		t.Errorf("%.0f accesses, want the shell's and those of cat, 101 or more", v)
	}
}
