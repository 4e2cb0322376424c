package pressure

import (
	"errors"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/pressure/io", "some avg10=0 total=1000000\nfull total=500000\n")
	x.Write("proc/pressure/cpu", "some total=7\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	if len(w.Gaps) != 1 { // memory
		t.Errorf("gaps %+v", w.Gaps)
	}
	x.Write("proc/pressure/io", "some avg10=0 total=3500000\nfull total=500000\n")
	x.Write("proc/pressure/cpu", "some total=6\n")
	w = proctest.Collect(t, s, sample.Last)
	proctest.Want(t, w, sample.PSISome, sample.Entity{Class: "io"}, 2.5)
	proctest.Want(t, w, sample.PSIFull, sample.Entity{Class: "io"}, 0)
	proctest.WantAbsent(t, w, sample.PSISome, sample.Entity{Class: "cpu"})
	if len(w.Gaps) != 1 {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

func TestNoPSI(t *testing.T) {
	if _, err := Open(proctest.NewTree(t).Host()); !errors.Is(err, ErrNoPSI) {
		t.Errorf("%v, want %v", err, ErrNoPSI)
	}
}
