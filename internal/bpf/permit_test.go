package bpf

import (
	"errors"
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
