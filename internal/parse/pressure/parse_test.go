package pressure

import (
	"fmt"
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

// A file for each command, in whatever order.
func TestCommands(t *testing.T) {
	show := func(class string, some, full string) string {
		return "root@db:~# cat /proc/pressure/" + class + "\nsome avg10=" + some + " avg60=0 avg300=0 total=1\nfull avg10=" + full + " avg60=0 avg300=0 total=1\n"
	}
	g := linestest.Read(t, tool(), show("memory", "20.00", "5.00")+show("io", "60.00", "50.00")+"\n"+show("cpu", "2.00", "0.00"))
	for class, some := range map[string]float64{"memory": 2, "io": 6, "cpu": .2} {
		g.Want(sample.PSISome, sample.Entity{Class: class}, some)
	}
	g.Want(sample.PSIFull, sample.Entity{Class: "io"}, 5)
	if len(g.Ticks) != 1 {
		t.Errorf("the intervals are %v, want one", g.Ticks)
	}
	g = linestest.Read(t, tool(), show("cpu", "2.00", "0.00")+show("io", "60.00", "50.00")+show("io", "70.00", "50.00")+show("memory", "1.00", "0.00"))
	g.Want(sample.PSISome, sample.Entity{Class: "io"}, 6, 7)
	g.Want(sample.PSISome, sample.Entity{Class: "cpu"}, .2, .2) // nobody looked again
	g.Want(sample.PSISome, sample.Entity{Class: "memory"}, .2)  // of both
	if len(g.Ticks) != 2 {
		t.Errorf("the intervals are %v, want two", g.Ticks)
	}
}

// The files that one command names follow in its order.
func TestSeveralFiles(t *testing.T) {
	const some = "some avg10=%.2f avg60=0 avg300=0 total=1\nfull avg10=1.00 avg60=0 avg300=0 total=1\n"
	for _, command := range []string{"cat /proc/pressure/{memory,io}", "cat /proc/pressure/memory /proc/pressure/io"} {
		g := linestest.Read(t, tool(), "$ "+command+"\n"+fmt.Sprintf(some+some, 10., 30.))
		g.Want(sample.PSISome, sample.Entity{Class: "memory"}, 1)
		g.Want(sample.PSISome, sample.Entity{Class: "io"}, 3)
	}
	g := linestest.Read(t, tool(), "$ cat /proc/pressure/*\n"+fmt.Sprintf(some+some+"full avg10=9.00 avg60=0 avg300=0 total=1\n"+some, 1., 2., 3.))
	g.Want(sample.PSIFull, sample.Entity{Class: "io"}, .1)
	g.Want(sample.PSIFull, sample.Entity{Class: "irq"}, .9)
	g.Want(sample.PSISome, sample.Entity{Class: "memory"}, .3)
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
