package bpf

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

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
