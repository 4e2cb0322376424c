package free

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines/linestest"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

const mib = 1 << 20

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		file               string
		total, free, cache float64
		available          float64
	}{
		{"inline-m.txt", 64414 * mib, 349 * mib, 48643 * mib, 48409 * mib},
		{"inline-m-fits.txt", 64414 * mib, 11218 * mib, 34773 * mib, 45407 * mib},
		{"old.txt", 3664 * mib, 464 * mib, (99 + 2710) * mib, -1},
	} {
		t.Run(c.file, func(t *testing.T) {
			g := linestest.Fixture(t, tool(), c.file)
			g.Want(sample.MemTotal, sample.Entity{}, c.total)
			g.Want(sample.MemFree, sample.Entity{}, c.free)
			g.Want(sample.MemCache, sample.Entity{}, c.cache)
			if c.available < 0 {
				g.Want(sample.MemAvailable, sample.Entity{})
			} else {
				g.Want(sample.MemAvailable, sample.Entity{}, c.available)
			}
			if !g.IsState || len(g.Ticks) != 0 {
				t.Errorf("one look is no interval: %v, %v", g.IsState, g.Ticks)
			}
		})
	}
}

// The same machine in three units.
func TestUnits(t *testing.T) {
	linestest.Fixture(t, tool(), "wide.txt").Want(sample.MemTotal, sample.Entity{}, 24684100*1024)
	linestest.Fixture(t, tool(), "human.txt").Want(sample.MemTotal, sample.Entity{}, 23*(1<<30))
	g := linestest.Fixture(t, tool(), "repeated.txt")
	if len(g.Ticks) != 2 || len(g.Values[linestest.Key{Metric: sample.MemFree}]) != 2 {
		t.Errorf("-s 1 -c 2 has the intervals %v", g.Ticks)
	}
	linestest.Read(t, tool(), "       total  used  free  shared  buff/cache  available\nMem: 24684100 1 2 3 4 5\n").WantNote("kB is assumed")
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
