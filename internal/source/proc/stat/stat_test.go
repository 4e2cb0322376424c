package stat

import (
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	s, err := parse(proctest.Fixture(t, "5.10"))
	if err != nil || s.Fields != 10 || s.CPUs != 2 || *s.Running != 2 || *s.Blocked != 3 || s.Times[iowait] != 400 || s.Times[steal] != 70 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = parse(proctest.Fixture(t, "6.18")); err != nil || s.Fields != 10 || s.CPUs != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = parse(proctest.Fixture(t, "2.4")); err != nil || s.Fields != 4 || s.CPUs != 0 || s.Running != nil {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = parse(nil)
	proctest.WantLine(t, err, 1)
	_, err = parse([]byte("btime 1\ncpu 1 2 x 4\n"))
	proctest.WantLine(t, err, 2)
	_, err = parse([]byte("cpu 1 2 3 4\n\nprocs_running 99999999999999999999\n"))
	proctest.WantLine(t, err, 3)
}

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/stat", "cpu 100 10 50 1000 200 3 4 5 0 0\ncpu0 1\ncpu1 1\nprocs_running 1\nprocs_blocked 2\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	proctest.WantAbsent(t, w, sample.CPUUser, sample.Entity{})
	proctest.Want(t, w, sample.ProcsBlocked, sample.Entity{}, 2)
	x.Write("proc/stat", "cpu 200 30 60 1500 190 4 6 5 0 0\ncpu0 1\nprocs_running 7\nprocs_blocked 0\n")
	w = proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.CPUUser, sample.Entity{}, 1.2)
	proctest.Want(t, w, sample.CPUSystem, sample.Entity{}, 0.13)
	proctest.Want(t, w, sample.CPUIdle, sample.Entity{}, 5)
	proctest.Want(t, w, sample.CPUIOWait, sample.Entity{}, 0) // it may fall a little
	proctest.Want(t, w, sample.CPUSteal, sample.Entity{}, 0)
	proctest.Want(t, w, sample.CPUCount, sample.Entity{}, 1)
	x.Write("proc/stat", "cpu 100 0 60 1500 210 4 6 5 0 0\ncpu0 1\n")
	w = proctest.Collect(t, s, sample.Last)
	proctest.WantAbsent(t, w, sample.CPUUser, sample.Entity{})
	proctest.Want(t, w, sample.CPUIOWait, sample.Entity{}, 0.1) // since its highest value
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.CPUUser {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parse(b); err == nil && s.Fields <= idle {
			t.Errorf("%+v", s)
		}
	})
}
