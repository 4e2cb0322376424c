package bpf

import (
	"errors"
	"slices"
	"testing"
)

// Programs at events are in the places of those that name them, or they are for nothing.
func TestInPlace(t *testing.T) {
	programs := []Program{{Name: "a", Tracepoint: "x", Optional: true, Events: []Program{{Name: "e", Event: "group/x"}, {Name: "n", Tracepoint: "x", Spare: true}}},
		{Name: "k", Tracepoint: "y", Optional: true, Events: []Program{{Name: "f", Event: "group/y"}, {Name: "k", Tracepoint: "y", Spare: true}}}, {Name: "b"}}
	ways := []Capability{{Name: "reads", Ways: []Way{{By: ByTracepoint, Programs: programs}}}}
	for _, c := range []struct {
		on           bool
		want, unused []string
	}{
		{false, []string{"a", "k", "b"}, []string{"e", "n", "f", "e", "n", "f"}},
		{true, []string{"e", "n", "f", "k", "b"}, []string{"a", "a"}},
	} {
		got, all, unused := inPlace(c.on, programs, ways)
		for _, list := range [][]Program{got, all[0].Ways[0].Programs} {
			var names []string
			for _, p := range list {
				names = append(names, p.Name)
				if p.Optional != (p.Name != "b") {
					t.Errorf("%s: optional is %v", p.Name, p.Optional)
				}
			}
			if !slices.Equal(names, c.want) || !slices.Equal(unused, c.unused) {
				t.Errorf("%v: %v without %v, want %v without %v", c.on, names, unused, c.want, c.unused)
			}
		}
	}
	if len(ways[0].Ways[0].Programs[0].Events) != 2 || len(Every(programs)) != 7 {
		t.Error("the list that was given has changed")
	}
	e := Program{Event: "filemap/mm_filemap_fault"}
	if e.Hook() != "event:mm_filemap_fault" || e.tracepoint() != "mm_filemap_fault" {
		t.Error(e.Hook(), e.tracepoint())
	}
}

// Where events cannot be asked, it is said, and programs are at tracepoints.
func TestEventsRefused(t *testing.T) {
	f := &fit{lacks: passesOver}
	if !f.events() {
		t.Fatalf("%+v", f)
	}
	spec := objects(t)["pagecache"]
	if told := f.toldRefused(spec); told != nil {
		t.Errorf("%+v", told)
	}
	f.refused = errors.New("no tracefs")
	if told := f.toldRefused(spec); f.events() || len(told) != 1 || told[0].Rejected[0] != "no tracefs" {
		t.Errorf("%+v", told)
	}
}
