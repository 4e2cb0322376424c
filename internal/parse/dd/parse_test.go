package dd

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestOneLine(t *testing.T) {
	g := linestest.Fixture(t, tool(), "one-line.txt")
	g.Want(sample.ProcWriteCalls, sample.Entity{}, 264)
	g.Want(sample.ProcWriteChars, sample.Entity{}, 135168)
	g.Want(sample.CallTime, sample.Entity{Class: "write"}, 3.35126)
	g.WantNote("264 records of 512 bytes in 3.35 s: 12.7 ms a record")
	g.WantNote("every record waited")
	g.WantNote("rules out")
}

func TestThreeLines(t *testing.T) {
	g := linestest.Fixture(t, tool(), "dsync.txt")
	g.Want(sample.ProcWriteCalls, sample.Entity{}, 100)
	g.Want(sample.ProcWriteChars, sample.Entity{}, 409600)
	if len(g.Ticks) != 1 {
		t.Errorf("the intervals are %v", g.Ticks)
	}
}

func TestLanguages(t *testing.T) {
	for file, seconds := range map[string]float64{"de_DE.txt": .0645985, "fr_FR.txt": .0819886} {
		g := linestest.Fixture(t, tool(), file)
		g.Want(sample.ProcWriteCalls, sample.Entity{}, 264)
		g.Want(sample.ProcWriteChars, sample.Entity{}, 135168)
		if len(g.Ticks) != 1 || g.Ticks[0] != seconds {
			t.Errorf("%s: the intervals are %v", file, g.Ticks)
		}
	}
	if Find("2+2 makes four") >= 0 {
		t.Error("prose is taken for dd")
	}
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }

// The last line alone, and writes that wait for the device.
func TestLastLine(t *testing.T) {
	g := linestest.Read(t, tool(), "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 12.5 s, 85.9 MB/s\n")
	g.Want(sample.ProcWriteChars, sample.Entity{}, 1073741824)
	g.Want(sample.CallTime, sample.Entity{Class: "write"}, 12.5)
	g = linestest.Read(t, tool(), "# dd if=/dev/zero of=x bs=512 count=1000 oflag=dsync\n512000 bytes (512 kB) copied, 25 s, 20.5 kB/s\n")
	g.Want(sample.CallTime, sample.Entity{Class: "sync"}, 25)
	g.Want(sample.ProcSyncCalls, sample.Entity{}, 1000)
}
