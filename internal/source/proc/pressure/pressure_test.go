package pressure

import (
	"errors"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	p, err := parse(proctest.Fixture(t, "5.10-cpu"))
	if err != nil || *p.Some != 42 || p.Full != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = parse(proctest.Fixture(t, "6.18")); err != nil || p.Some == nil || p.Full == nil || *p.Full > *p.Some {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = parse(nil)
	proctest.WantLine(t, err, 1)
	_, err = parse([]byte("some total=1\nfull avg10=0.00"))
	proctest.WantLine(t, err, 2)
	_, err = parse([]byte("some total=-1"))
	proctest.WantLine(t, err, 1)
}

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

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parse(b); err == nil && p.Some == nil {
			t.Error("no error and no figure")
		}
	})
}
