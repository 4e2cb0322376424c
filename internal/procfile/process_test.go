package procfile

import (
	"testing"

	"iocause/internal/host"
	"iocause/internal/source/proc/proctest"
)

func TestParseIO(t *testing.T) {
	x, err := ParseIO(proctest.Fixture(t, "process-io"))
	if err != nil || x != (host.IO{ReadChars: 19707853, WriteChars: 19661205, ReadCalls: 371, WriteCalls: 304, ReadBytes: 90112, WriteBytes: 12288}) {
		t.Errorf("%+v, %v", x, err)
	}
	_, err = ParseIO([]byte("rchar: 1\n"))
	proctest.WantLine(t, err, 1)
	_, err = ParseIO([]byte("rchar: 1\nwchar: -1\n"))
	proctest.WantLine(t, err, 2)
}

func TestParseStatus(t *testing.T) {
	s, err := ParseStatus(proctest.Fixture(t, "process-status"))
	if err != nil || s.Swap == nil || *s.Swap != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseStatus([]byte("Name:\tVmSwap: 3 kB\nVmSwap:\t   12 kB\n")); err != nil || *s.Swap != 12288 {
		t.Errorf("%+v, %v", s, err)
	}
	for mask, want := range map[string]int{"1": 1, "ff": 8, "3,00000000,80000001": 4} {
		if s, err = ParseStatus([]byte("Cpus_allowed:\t" + mask + "\nCpus_allowed_list:\t0\n")); err != nil || s.Processors != want {
			t.Errorf("mask %s: %+v, %v", mask, s, err)
		}
	}
	if s, err = ParseStatus([]byte("Name:\tx\nCpus_allowed:\t0x1\n")); err == nil {
		t.Errorf("a mask that is none: %+v", s)
	}
	_, err = ParseStatus([]byte("Name:\tx\nVmSwap:\t1 MB\n"))
	proctest.WantLine(t, err, 2)
}

func TestParseCgroups(t *testing.T) {
	c, err := ParseCgroups(proctest.Fixture(t, "process-cgroup"))
	if err != nil || c.Memory() != "/batch/job" || c.IO() != "/job" {
		t.Errorf("%v, %v", c, err)
	}
	c, err = ParseCgroups([]byte("3:cpu,cpuacct:/x\n0::/a b:c \"d\" (deleted)\n"))
	if err != nil || c.Memory() != "/a b:c \"d\" (deleted)" || c["cpuacct"] != "/x" {
		t.Errorf("%v, %v", c, err)
	}
	_, err = ParseCgroups([]byte("0::/\n1:memory\n"))
	proctest.WantLine(t, err, 2)
	if c, _ := ParseCgroups(nil); c.IO() != "" {
		t.Error("an empty file has no cgroup")
	}
}

func TestParseSchedstat(t *testing.T) {
	d, err := ParseSchedstat(proctest.Fixture(t, "process-schedstat"))
	if err != nil || d != (Schedstat{4152958, 1270765, 11}) {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = ParseSchedstat([]byte("1 2\n"))
	proctest.WantLine(t, err, 1)
}

func FuzzProcess(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		ParseIO(b)
		ParseStatus(b)
		ParseCgroups(b)
		ParseSchedstat(b)
	})
}
