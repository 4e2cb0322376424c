package procfile

import (
	"testing"

	"iocause/internal/source/proc/proctest"
)

func TestCPUStat(t *testing.T) {
	s, err := ParseCPUStat(proctest.Fixture(t, "stat-5.10"), nil)
	if err != nil || s.Fields != 10 || s.CPUs != 2 || *s.Running != 2 || *s.Blocked != 3 || s.Times[CPUIOWait] != 400 || s.Times[CPUSteal] != 70 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseCPUStat(proctest.Fixture(t, "stat-6.18"), nil); err != nil || s.Fields != 10 || s.CPUs != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseCPUStat(proctest.Fixture(t, "stat-2.4"), nil); err != nil || s.Fields != 4 || s.CPUs != 0 || s.Running != nil {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = ParseCPUStat(nil, nil)
	proctest.WantLine(t, err, 1)
	_, err = ParseCPUStat([]byte("btime 1\ncpu 1 2 x 4\n"), nil)
	proctest.WantLine(t, err, 2)
	_, err = ParseCPUStat([]byte("cpu 1 2 3 4\n\nprocs_running 99999999999999999999\n"), nil)
	proctest.WantLine(t, err, 3)
}

func FuzzCPUStat(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseCPUStat(b, nil); err == nil && s.Fields <= CPUIdle {
			t.Errorf("%+v", s)
		}
	})
}
