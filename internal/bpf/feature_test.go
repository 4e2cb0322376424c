package bpf

import (
	"runtime"
	"testing"

	"iocause/internal/bpf/bpftest"
)

func TestTypesAreReadOnceForAllWhoKeepThem(t *testing.T) {
	one, err := LoadTypes()
	bpftest.Need(t, "bpf", err)
	runtime.GC() // takes what nobody keeps
	two, err := LoadTypes()
	if err != nil || two != one {
		t.Errorf("read anew while they were kept: %p and %p, %v", one, two, err)
	}
	runtime.KeepAlive(one)
}
