package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

func TestGuards(t *testing.T) {
	const (
		enforce, modules, current = "sys/fs/selinux/enforce", "sys/kernel/security/lsm", "proc/self/attr/current"
		apparmor, status, ids     = "proc/self/attr/apparmor/current", "proc/self/status", "proc/self/uid_map"
		container                 = "system_u:system_r:container_t:s0:c1,c2\x00"
	)
	for _, c := range []struct {
		name  string
		files map[string]string
		err   error
		want  []string // beginnings
	}{
		{"nothing is known", nil, unix.EPERM, []string{"as in a container"}},
		{"nobody confines it", map[string]string{
			modules: "lockdown,capability,landlock,yama,apparmor", apparmor: "unconfined\n", status: "Name:\tx\nSeccomp:\t0\n", ids: "         0          0 4294967295\n",
		}, unix.EPERM, []string{"as in a container"}},
		{"SELinux", map[string]string{enforce: "1", current: container}, unix.EACCES, []string{"SELinux is enforcing, this process being system_u:system_r:container_t:s0:c1,c2: allow"}},
		{"SELinux denies alone with EACCES", map[string]string{enforce: "1", current: container, status: "Seccomp:\t2\n"}, unix.EACCES, []string{"SELinux is enforcing"}},
		{"SELinux or a filter", map[string]string{enforce: "1", current: container, status: "Seccomp:\t2\n"}, unix.EPERM, []string{"a seccomp filter", "SELinux is enforcing"}},
		{"SELinux notes only", map[string]string{enforce: "0", current: container}, unix.EACCES, []string{"as in a container"}},
		{"SELinux without rules", map[string]string{enforce: "1", current: "kernel\x00"}, unix.EACCES, []string{"as in a container"}},
		{"SELinux seen from a container", map[string]string{modules: "capability,selinux", current: container}, unix.EACCES, []string{"SELinux may be enforcing"}},
		{"AppArmor", map[string]string{modules: "capability,apparmor", apparmor: "docker-default (enforce)\n"}, unix.EPERM, []string{"AppArmor confines this process by the profile docker-default: allow"}},
		{"AppArmor before 5.8", map[string]string{modules: "capability,apparmor", current: "docker-default (enforce)\n"}, unix.EPERM, []string{"AppArmor confines"}},
		{"AppArmor notes only", map[string]string{modules: "capability,apparmor", apparmor: "snap.x (complain)\n"}, unix.EPERM, []string{"as in a container"}},
		{"a user namespace", map[string]string{ids: "         0       1000          1\n"}, unix.EPERM, []string{"they are of a user namespace"}},
		{"another module", map[string]string{modules: "capability,yama,bpf"}, unix.EPERM, []string{"the security module bpf"}},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		got := guards(host.Tree(root, time.Now), c.err)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", c.name, got[i], c.want[i])
			}
		}
	}
}

// A program that is refused is known by its name, for the next way to be tried.
func TestRefusedProgramIsKnown(t *testing.T) {
	programs := []Program{{Name: "first"}, {Name: "second"}}
	err := blame(programs, explain("loading", fmt.Errorf("program second: load program: %w", unix.EPERM)))
	var is *hookError
	if !errors.As(err, &is) || is.program != "second" || !errors.Is(err, ErrNotPermitted) {
		t.Errorf("%v", err)
	}
}

// A process that has the capabilities, and a filter that refuses bpf(2), is told so.
func TestRefusedByAFilter(t *testing.T) {
	if os.Getenv("IOCAUSE_TEST_FILTER") != "" {
		refuseBPF(t)
		_, err := prepared()
		const want = "loading BPF programs is refused despite the capabilities (operation not permitted): a seccomp filter is set"
		if !errors.Is(err, ErrNotPermitted) || !errors.Is(err, ErrGuarded) || !strings.HasPrefix(WhyNone(err), want) {
			t.Errorf("%v, in short %q", err, WhyNone(err))
		}
		return
	}
	bpftest.Need(t, "bpf", permitted())
	cmd := exec.Command(os.Args[0], "-test.run", "^TestRefusedByAFilter$")
	cmd.Env = append(os.Environ(), "IOCAUSE_TEST_FILTER=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// refuseBPF has the kernel refuse bpf(2) to all threads of this process with EPERM.
func refuseBPF(t *testing.T) {
	t.Helper()
	const number = 0 // of a call, in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_BPF, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Fatal(errno)
	}
}
