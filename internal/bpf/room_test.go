package bpf

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// Who would be killed for want of memory while it loads is told so before.
func TestRoomForTheProbes(t *testing.T) {
	const (
		v1 = "1 0 0:9 / /cg rw - cgroup cgroup rw,memory\n"
		v2 = "1 0 0:9 / /cg rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		short bool
	}{
		"v1, a limit": {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "33554432\n"}, true},
		"v1, enough":  {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "67108864\n"}, false},
		"v1, none":    {map[string]string{"proc/self/mountinfo": v1, "proc/self/cgroup": "4:memory:/a/b\n", "cg/a/b/memory.limit_in_bytes": "9223372036854771712\n"}, false},
		"v2, of the one above": {map[string]string{"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a/b\n", "cg/cgroup.controllers": "memory\n",
			"cg/a/b/memory.max": "max\n", "cg/a/memory.max": "50331648\n"}, true},
		"v2, memory.high": {map[string]string{"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a\n", "cg/cgroup.controllers": "memory\n",
			"cg/a/memory.max": "max\n", "cg/a/memory.high": "20971520\n"}, true},
		"no cgroups": {map[string]string{"proc/self/mountinfo": "", "proc/self/cgroup": ""}, false},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := roomFor(host.Tree(root, time.Now))
		if c.short != errors.Is(err, ErrMemory) || !c.short && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With 64 open files allowed, iocause takes what it needs where it may, and else says so
// before anything is loaded.
func TestFewOpenFiles(t *testing.T) {
	bpftest.Root(t)
	const few = 64
	spec := &ebpf.CollectionSpec{ByteOrder: binary.LittleEndian, Maps: map[string]*ebpf.MapSpec{}, Variables: map[string]*ebpf.VariableSpec{}, Programs: map[string]*ebpf.ProgramSpec{
		"few_files": {Name: "few_files", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sched_switch", License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}},
	}}
	open := func() error {
		p, err := Open(spec, []Program{{Name: "few_files", Tracepoint: "sched_switch"}}, nil)
		if err != nil {
			return err
		}
		return p.Close()
	}
	switch os.Getenv("BPF_FEW_FILES") {
	case "":
		for _, may := range []string{"may raise", "may not"} {
			child := exec.Command(os.Args[0], "-test.run=^TestFewOpenFiles$", "-test.v")
			child.Env = append(os.Environ(), "BPF_FEW_FILES="+may)
			out, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestFewOpenFiles") {
				t.Errorf("who %s the limit: %v\n%s", may, err, out)
			}
		}
	case "may raise":
		limit(t, few, 4096)
		bpftest.Need(t, "bpf", open())
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil || now.Cur < leastFiles {
			t.Errorf("%d files are allowed, %v", now.Cur, err)
		}
	default:
		limit(t, few, few)
		runtime.LockOSThread() // which has no right to raise it any more
		self, sets := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		if err := unix.Capget(&self, &sets[0]); err != nil {
			t.Fatal(err)
		}
		sets[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
		if err := unix.Capset(&self, &sets[0]); err != nil {
			t.Fatal(err)
		}
		if err := open(); !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), "its limit is 64") {
			t.Errorf("it says %v", err)
		}
		if left := loaded(t, "few_files", 0); len(left) > 0 {
			t.Errorf("in the kernel: %v", left)
		}
	}
}

// limit says how many files this process may have open, and how far it may raise that.
func limit(t *testing.T, now, most uint64) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: now, Max: most}); err != nil {
		t.Fatal(err)
	}
}
