package settings

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestAmounts(t *testing.T) {
	g := linestest.Fixture(t, tool(), "memory-and-ratio.txt")
	g.Want(sample.MemAvailable, sample.Entity{}, 1018<<20)
	g.Want(sample.MemTotal, sample.Entity{}, 3664<<20)
	g.Want(sample.MemFree, sample.Entity{}, 134<<20)
}

func TestSettings(t *testing.T) {
	g := linestest.Fixture(t, tool(), "sysctl.txt")
	g.Want(sample.Sysctl, sample.Entity{Class: "dirty_ratio"}, 30)
	g.Want(sample.Sysctl, sample.Entity{Class: "dirty_bytes"}, 0)
	g = linestest.Fixture(t, tool(), "inline.txt")
	g.Want(sample.Sysctl, sample.Entity{Class: "dirty_ratio"}, 30)
	g.Want(sample.MemAvailable, sample.Entity{}, 3072<<20)
}

// Another amount is another state.
func TestNextState(t *testing.T) {
	g := linestest.Read(t, tool(), "available memory : 3290 MB\navailable memory : 1135 MB\n")
	g.Want(sample.MemAvailable, sample.Entity{}, 3290<<20)
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
