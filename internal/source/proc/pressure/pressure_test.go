package pressure

import (
	"errors"
	"testing"

	"iocause/internal/sample"
)

func TestParse(t *testing.T) {
	p, err := parse(fixture(t, "5.10-cpu"))
	if err != nil || *p.Some != 42 || p.Full != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = parse(fixture(t, "6.18")); err != nil || p.Some == nil || p.Full == nil || *p.Full > *p.Some {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = parse(nil)
	wantLine(t, err, 1)
	_, err = parse([]byte("some total=1\nfull avg10=0.00"))
	wantLine(t, err, 2)
	_, err = parse([]byte("some total=-1"))
	wantLine(t, err, 1)
}

func TestCollect(t *testing.T) {
	x := newTree(t)
	x.write("proc/pressure/io", "some avg10=0 total=1000000\nfull total=500000\n")
	x.write("proc/pressure/cpu", "some total=7\n")
	s := x.open(Open)
	w := collect(t, s, sample.First)
	if len(w.Gaps) != 1 { // memory
		t.Errorf("gaps %+v", w.Gaps)
	}
	x.write("proc/pressure/io", "some avg10=0 total=3500000\nfull total=500000\n")
	x.write("proc/pressure/cpu", "some total=6\n")
	w = collect(t, s, sample.Last)
	want(t, w, sample.PSISome, sample.Entity{Class: "io"}, 2.5)
	want(t, w, sample.PSIFull, sample.Entity{Class: "io"}, 0)
	wantAbsent(t, w, sample.PSISome, sample.Entity{Class: "cpu"})
	if len(w.Gaps) != 1 {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

func TestNoPSI(t *testing.T) {
	if _, err := Open(newTree(t).host()); !errors.Is(err, ErrNoPSI) {
		t.Errorf("%v, want %v", err, ErrNoPSI)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parse(b); err == nil && p.Some == nil {
			t.Error("no error and no figure")
		}
	})
}
