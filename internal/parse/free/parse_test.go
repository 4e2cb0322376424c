package free

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
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
}

// The unit of a text without its command.
func TestUnitThatIsNotSaid(t *testing.T) {
	const head = "       total  used  free  shared  buff/cache  available\n"
	for _, c := range []struct {
		row, unit string
		total     float64
	}{
		{"Mem: 24684100 8 12 16 20 24", "kB", 24684100 << 10},
		{"Mem: 24684100 1 2 3 4 5", "kB", 24684100 << 10}, // a digit was lost
		{"Mem: 64414 15421 349 5 48643 48409", "MiB", 64414 << 20},
		{"Mem: 62 15 0 0 47 47", "GiB", 62 << 30},
		{"Mem: 25275400192 2048 4096 0 8192 8192", "bytes", 25275400192},
	} {
		g := linestest.Read(t, tool(), head+c.row+"\n")
		g.Want(sample.MemTotal, sample.Entity{}, c.total)
		g.WantNote(c.unit + " is assumed")
	}
	if g := linestest.Read(t, tool(), head+"Mem: 23Gi 599Mi 18Gi 14Mi 4,3Gi 22Gi\n"); len(g.Notes) > 0 {
		t.Errorf("-h says its unit: %q", g.Notes)
	}
}

// What the command asks for, whatever stands behind it.
func TestUnitOfTheCommand(t *testing.T) {
	const head = "       total  used  free  shared  buff/cache  available\n"
	for command, unit := range map[string]float64{
		"free -m; df -h": mib, "free && df -h": 1 << 10, "free -g | tee -h": 1 << 30, "free -wm": mib,
		"free -m --si": 1e6, "free --si": 1e3, "free --tera": 1e12, "free --tebi": 1 << 40, "free --kilo": 1e3, "free": 1 << 10,
	} {
		for range 20 { // by no lot
			g := linestest.Read(t, tool(), "root@db1:~# "+command+"\n"+head+"Mem: 64414 15421 349 5 48643 48409\n")
			if total := g.Values[linestest.Key{Metric: sample.MemTotal}]; len(total) != 1 || total[0] != 64414*unit || len(g.Notes) > 0 {
				t.Fatalf("%s: the total is %v, want %g; notes %q", command, total, 64414*unit, g.Notes)
			}
		}
	}
}

func TestLanguages(t *testing.T) {
	const gib = 1 << 30
	for file, cache := range map[string]float64{"de_DE.txt": 4.7, "fr_FR.txt": 4.6, "es_ES.txt": 4.6} {
		g := linestest.Fixture(t, tool(), file)
		g.Want(sample.MemTotal, sample.Entity{}, 23*gib)
		g.Want(sample.MemCache, sample.Entity{}, cache*gib)
		g.Want(sample.MemAvailable, sample.Entity{}, 22*gib)
		g.Want(sample.SwapTotal, sample.Entity{}, 0)
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
