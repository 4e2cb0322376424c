package bpf

import (
	"runtime"
	"testing"
)

func TestTypesAreReadOnceForAllWhoKeepThem(t *testing.T) {
	one, err := LoadTypes()
	if err != nil {
		t.Skip(err) // other tests fail where there must be types
	}
	runtime.GC() // takes what nobody keeps
	two, err := LoadTypes()
	if err != nil || two != one {
		t.Errorf("read anew while they were kept: %p and %p, %v", one, two, err)
	}
	runtime.KeepAlive(one)
}
