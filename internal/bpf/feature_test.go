package bpf

import (
	"runtime"
	"testing"

	"github.com/cilium/ebpf/btf"

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

// Before Linux 6.14 no pages of the first tier are protected, and none are counted.
func TestGenerationsKnowTiers(t *testing.T) {
	number := &btf.Int{Name: "u64", Size: 8}
	rows := func(tiers uint32) btf.Type { // [NR_HIST_GENS][ANON_AND_FILE][tiers]
		var of btf.Type = number
		for _, n := range [...]uint32{tiers, 2, 1} {
			of = &btf.Array{Index: number, Type: of, Nelems: n}
		}
		return of
	}
	for protected, want := range map[uint32]bool{3: false, 4: true, 0: false} {
		kept := &btf.Struct{Name: "lru_gen_folio", Size: 128, Members: []btf.Member{{Name: "evicted", Type: rows(4)}}}
		if protected > 0 {
			kept.Members = append(kept.Members, btf.Member{Name: "protected", Type: rows(protected), Offset: 64 * 8})
		}
		if got := typesOf(t, []btf.Type{kept}).GenerationsKnowTiers(); got != want {
			t.Errorf("protected of %d tiers: %t, want %t", protected, got, want)
		}
	}
	if typesOf(t, []btf.Type{number}).GenerationsKnowTiers() {
		t.Error("without generations")
	}
}
