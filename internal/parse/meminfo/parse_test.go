package meminfo

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestWhole(t *testing.T) {
	g := linestest.Fixture(t, tool(), "whole.txt")
	g.Want(sample.MemTotal, sample.Entity{}, 24684100<<10)
	for _, m := range []sample.Metric{sample.MemCache, sample.MemDirty, sample.MemAvailable, sample.SwapFree} {
		if len(g.Values[linestest.Key{Metric: m}]) != 1 {
			t.Errorf("%s has the values %v", m, g.Values[linestest.Key{Metric: m}])
		}
	}
	if !g.IsState {
		t.Error("one look is a state")
	}
}

func TestRepeated(t *testing.T) {
	g := linestest.Fixture(t, tool(), "repeated.txt")
	g.Want(sample.MemDirty, sample.Entity{}, 3204<<10, 103204<<10)
	g.Want(sample.MemWriteback, sample.Entity{}, 0, 12000<<10)
	if len(g.Ticks) != 2 {
		t.Errorf("the intervals are %v, want 2", g.Ticks)
	}
	if g = linestest.Read(t, tool(), "MemTotal: 12 kB\nMemFree: x kB\n"); len(g.Faults) != 1 {
		t.Errorf("faults %q", g.Faults)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
