package bpf

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

// What the verifier refuses is not for want of permission, though the kernel
// gives the same error.
func TestRefusedByTheVerifier(t *testing.T) {
	bpftest.Root(t)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R0, asm.R2, 0, asm.DWord), // which nobody has set
		asm.Return(),
	}})
	if err == nil {
		p.Close()
		t.Fatal("the kernel took it")
	}
	if err = explain("loading", err); !errors.Is(err, unix.EACCES) || errors.Is(err, ErrNotPermitted) || !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}

func TestLacking(t *testing.T) {
	for _, c := range []struct {
		held uint64
		want []string
	}{
		{0, []string{"CAP_BPF", "CAP_PERFMON"}},
		{1 << unix.CAP_BPF, []string{"CAP_PERFMON"}},
		{1 << unix.CAP_PERFMON, []string{"CAP_BPF"}},
		{1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON, nil},
		{1 << unix.CAP_SYS_ADMIN, nil},
		{1 << unix.CAP_SYS_PTRACE, []string{"CAP_BPF", "CAP_PERFMON"}},
	} {
		if got := lacking(c.held); !slices.Equal(got, c.want) {
			t.Errorf("with %#x: lacks %v, want %v", c.held, got, c.want)
		}
	}
}

// What has nothing to do with the verifier or with permissions is told by its name.
func TestErrorsAccuseTheRightOne(t *testing.T) {
	log := func(cause error) error {
		return &ebpf.VerifierError{Cause: cause, Log: []string{"processed 0 insns"}}
	}
	for _, c := range []struct {
		err, want error
	}{
		{explain("loading", log(unix.EMFILE)), ErrFiles},
		{explain("loading", log(unix.ENFILE)), ErrFiles},
		{explain("attaching", unix.EMFILE), ErrFiles},
		{explainMap(unix.EMFILE), ErrFiles},
		{explain("loading", log(unix.EACCES)), ErrRefused},
		{explain("loading", unix.EPERM), ErrNotPermitted},
		{explainMap(unix.EPERM), ErrNotPermitted},
		{explainMap(unix.ENOSYS), ErrNotSupported},
	} {
		for _, is := range []error{ErrFiles, ErrRefused, ErrNotPermitted, ErrNotSupported} {
			if errors.Is(c.err, is) != (is == c.want) {
				t.Errorf("%q is %q: %v", c.err, is, errors.Is(c.err, is))
			}
		}
	}
}

func TestTypesThatAreNotThere(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "vmlinux")
	if err := hasTypes(empty); !errors.Is(err, ErrNoBTF) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hasTypes(empty); !errors.Is(err, ErrNoBTF) {
		t.Errorf("an empty file: %v", err)
	}
	if err := os.WriteFile(empty, []byte{0x9f, 0xeb}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hasTypes(empty); err != nil {
		t.Errorf("a file with something in it: %v", err)
	}
}
