package schedstat

import (
	"slices"
	"testing"

	"iocause/internal/sample"
)

func TestParse(t *testing.T) {
	s, err := parse(fixture(t, "v17"), nil)
	if err != nil || s.Version != 17 || !slices.Equal(s.Delays, []Delay{{0, 987654321}, {11, 2}}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = parse(fixture(t, "v15"), s.Delays); err != nil || !slices.Equal(s.Delays, []Delay{{0, 2500000000}, {1, 1500000000}}) {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = parse(nil, nil)
	wantLine(t, err, 1)
	_, err = parse([]byte("version 14\n"), nil)
	wantLine(t, err, 1)
	_, err = parse([]byte("version 15\ncpu0 1 2 3\n"), nil)
	wantLine(t, err, 2)
}

func TestCollect(t *testing.T) {
	x := newTree(t)
	x.write("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 1 1000000000 1\ncpu1 0 0 0 0 0 0 1 5 1\n")
	s := x.open(Open)
	wantAbsent(t, collect(t, s, sample.First), sample.CPURunDelay, sample.Entity{})
	x.write("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 1 2500000000 1\ncpu1 0 0 0 0 0 0 1 4 1\ncpu2 0 0 0 0 0 0 1 9 1\n")
	w := collect(t, s, sample.Tick)
	want(t, w, sample.CPURunDelay, sample.Entity{}, 1.5)
	if len(w.Gaps) != 1 {
		t.Errorf("gaps %+v, want one for the processor that fell", w.Gaps)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b, nil) })
}
