package dd

import (
	"strings"
	"testing"

	"iocause/internal/parse/lines"
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

// A run that throws away what it reads writes nothing, and one past the page
// cache no page of that.
func TestDirection(t *testing.T) {
	const size = 21474836480
	run := func(command string) *linestest.Got {
		return linestest.Read(t, tool(), "# "+command+"\n2560+0 records in\n2560+0 records out\n21474836480 bytes (21 GB, 20 GiB) copied, 400 s, 53.7 MB/s\n")
	}
	for _, command := range []string{"dd if=/dev/sda of=/dev/null bs=8M count=2560", "dd if=/dev/sda bs=8M iflag=direct > /dev/null"} {
		g := run(command)
		g.Want(sample.ProcWriteChars, sample.Entity{})
		g.Want(sample.ProcReadChars, sample.Entity{}, size)
		g.Want(sample.ProcReadCalls, sample.Entity{}, 2560)
		g.Want(sample.CallTime, sample.Entity{Class: "write"})
		g.Want(sample.CallTime, sample.Entity{Class: "read"}, 400)
		if strings.Contains(strings.Join(g.Notes, " "), "buffered write") {
			t.Errorf("%s: notes %q", command, g.Notes)
		}
	}
	run("dd if=/dev/sda of=/dev/null bs=8M iflag=direct").Want(sample.DirectReadBytes, sample.Entity{}, size)
	run("dd if=/dev/zero of=x bs=8M iflag=direct 2>/dev/null").Want(sample.ProcWriteChars, sample.Entity{}, size)
	g := run("dd if=/dev/zero of=/dev/sdb bs=8M oflag=direct")
	g.Want(sample.CallTime, sample.Entity{Class: "write"}, 400)
	g.Want(sample.DirectWriteByte, sample.Entity{}, size)
	if strings.Contains(strings.Join(g.Notes, " "), "buffered write") {
		t.Errorf("notes of direct writes: %q", g.Notes)
	}
}

// What status=progress shows on the way is of the same run.
func TestProgress(t *testing.T) {
	const (
		command  = "# dd if=/dev/zero of=x bs=1M count=1000 status=progress\n"
		progress = "313524224 bytes (314 MB, 299 MiB) copied, 1 s, 314 MB/s"
		later    = "943718400 bytes (944 MB, 900 MiB) copied, 3 s, 315 MB/s"
		end      = "1000+0 records in\n1000+0 records out\n1048576000 bytes (1.0 GB, 1000 MiB) copied, 3.33 s, 315 MB/s\n"
	)
	for _, text := range []string{progress + "\n" + later + "\n" + end, later + "\n" + end, progress + " " + later + "\n" + end} {
		g := linestest.Read(t, tool(), command+text)
		g.Want(sample.ProcWriteChars, sample.Entity{}, 1048576000)
		g.Want(sample.ProcWriteCalls, sample.Entity{}, 1000)
		if len(g.Ticks) != 1 || g.Ticks[0] != 3.33 || g.Uses[lines.Another] > 0 {
			t.Errorf("%q: the intervals are %v, lines %v", text, g.Ticks, g.Uses)
		}
	}
	// another run, in less time
	if g := linestest.Read(t, tool(), "1048576 bytes (1 MB) copied, 3 s, 349 kB/s\n1048576 bytes (1 MB) copied, 2.5 s, 419 kB/s\n"); g.Uses[lines.Another] != 1 {
		t.Errorf("lines %v", g.Uses)
	}
}
