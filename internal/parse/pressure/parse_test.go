package pressure

import (
	"testing"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/sample"
)

func tool() linestest.Tool { return linestest.Tool{Find: Find, New: New} }

func TestFiles(t *testing.T) {
	g := linestest.Fixture(t, tool(), "grep.txt")
	g.Want(sample.PSISome, sample.Entity{Class: "io"}, 6.21)
	g.Want(sample.PSIFull, sample.Entity{Class: "io"}, 5.5)
	g.Want(sample.PSISome, sample.Entity{Class: "cpu"}, .15)
	g.Want(sample.PSISome, sample.Entity{Class: "memory"}, 0)
	linestest.Fixture(t, tool(), "cat.txt").Want(sample.PSISome, sample.Entity{Class: "io"}, 1.234)
	g = linestest.Read(t, tool(), "$ cat /proc/pressure/*\nsome avg10=1.00 avg60=0 avg300=0 total=1\nfull avg10=0.00 avg60=0 avg300=0 total=1\nsome avg10=2.00 avg60=0 avg300=0 total=1\n")
	g.Want(sample.PSISome, sample.Entity{Class: "cpu"}, .1)
	g.Want(sample.PSISome, sample.Entity{Class: "io"}, .2)
}

// Of what the pressure is has to be known.
func TestUnknownFile(t *testing.T) {
	g := linestest.Read(t, tool(), "some avg10=50.00 avg60=0 avg300=0 total=1\n")
	if len(g.Values) != 0 {
		t.Errorf("values %v", g.Values)
	}
	g.WantNote("without their resource")
}

func FuzzParse(f *testing.F) { linestest.Fuzz(f, tool()) }
