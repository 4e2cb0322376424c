package bpf

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
)

// An object that is read without some programs has the others as they are, and the same
// maps and variables, whether a section has programs of both kinds or of one.
func TestReadWithoutSomePrograms(t *testing.T) {
	object, err := os.ReadFile("../source/probe/blockio/blockio_bpfel.o")
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Object: object}
	read := func(without ...string) *ebpf.CollectionSpec {
		t.Helper()
		spec, err := p.read(false, without)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	whole := read()
	for _, without := range [][]string{{"on_bio"}, {"on_bio", "on_bio_old"}, {"on_start", "on_remap", "no_such_program"}, slices.Collect(maps.Keys(whole.Programs))} {
		some := read(without...)
		for name, program := range whole.Programs {
			got := some.Programs[name]
			if left := slices.Contains(without, name); left != (got == nil) {
				t.Errorf("without %v: %s is there: %v", without, name, got != nil)
			} else if !left && fmt.Sprint(got.Instructions) != fmt.Sprint(program.Instructions) {
				t.Errorf("without %v: %s has other instructions", without, name)
			}
		}
		if len(some.Maps) != len(whole.Maps) || len(some.Variables) != len(whole.Variables) {
			t.Errorf("without %v: %d maps and %d variables, want %d and %d", without, len(some.Maps), len(some.Variables), len(whole.Maps), len(whole.Variables))
		}
	}
}
