package schedstat

import (
	"slices"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	s, err := parse(proctest.Fixture(t, "v17"), nil)
	if err != nil || s.Version != 17 || !slices.Equal(s.Delays, []Delay{{0, 987654321}, {11, 2}}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = parse(proctest.Fixture(t, "v15"), s.Delays); err != nil || !slices.Equal(s.Delays, []Delay{{0, 2500000000}, {1, 1500000000}}) {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = parse(nil, nil)
	proctest.WantLine(t, err, 1)
	_, err = parse([]byte("version 14\n"), nil)
	proctest.WantLine(t, err, 1)
	_, err = parse([]byte("version 15\ncpu0 1 2 3\n"), nil)
	proctest.WantLine(t, err, 2)
}

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 1 1000000000 1\ncpu1 0 0 0 0 0 0 1 5 1\n")
	s := x.Open(Open)
	proctest.WantAbsent(t, proctest.Collect(t, s, sample.First), sample.CPURunDelay, sample.Entity{})
	x.Write("proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 1 2500000000 1\ncpu1 0 0 0 0 0 0 1 4 1\ncpu2 0 0 0 0 0 0 1 9 1\n")
	w := proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.CPURunDelay, sample.Entity{}, 1.5)
	if len(w.Gaps) != 1 {
		t.Errorf("gaps %+v, want one for the processor that fell", w.Gaps)
	}
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b, nil) })
}
