package procfile

import (
	"os"
	"path/filepath"
	"testing"

	"iocause/internal/source/proc/proctest"
)

func TestParseLimit(t *testing.T) {
	for s, want := range map[string]int64{"max\n": -1, "9223372036854771712\n": -1, "18446744073709551615": -1, "0\n": 0, "16777216": 16777216} {
		got, err := ParseLimit([]byte(s))
		if err != nil || (got == nil) != (want < 0) || got != nil && *got != uint64(want) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "x", "1 2"} {
		_, err := ParseLimit([]byte(s))
		proctest.WantLine(t, err, 1)
	}
}

func TestParseMemory(t *testing.T) {
	m, _, err := ParseMemoryStat(proctest.Fixture(t, "cgroup-v2-memory.stat"))
	if err != nil || *m.File != 450000000 || *m.Shmem != 1000000 || *m.Anon != 250000000 || *m.RefaultFile != 6900 || *m.RefaultAnon != 5 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, _, err = ParseMemoryStat(proctest.Fixture(t, "cgroup-v1-memory.stat")); err != nil || *m.File != 0 || *m.Anon != 0 || *m.RefaultFile != 25152 {
		t.Errorf("%+v, %v", m, err)
	}
	// The cgroup's own figures, and the totals only where these are missing.
	if m, _, err = ParseMemoryStat(proctest.Fixture(t, "cgroup-v1-4.9-memory.stat")); err != nil || *m.File != 10 || *m.Shmem != 3 || *m.Anon != 20 || *m.RefaultFile != 5 || m.RefaultAnon != nil {
		t.Errorf("%+v, %v", m, err)
	}
	_, _, err = ParseMemoryStat([]byte("file 1\nanon -1\n"))
	proctest.WantLine(t, err, 2)
}

func TestParseEvents(t *testing.T) {
	e, err := ParseMemoryEvents(proctest.Fixture(t, "cgroup-v2-memory.events"))
	if err != nil || *e.High != 12 || *e.Max != 40 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestMemoryLimit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(v2 bool, bytes uint64, from string) {
		t.Helper()
		limit, file, err := MemoryLimit(dir, v2)
		if err != nil || file != from || (limit == nil) != (from == "") || limit != nil && *limit != bytes {
			t.Errorf("%v of %q, %v; want %d of %q", limit, file, err, bytes, from)
		}
	}
	want(true, 0, "") // the root of version 2 has no such files
	write("memory.max", "9000\n")
	write("memory.high", "max\n")
	want(true, 9000, "memory.max")
	write("memory.high", "4096\n")
	want(true, 4096, "memory.high")
	write("memory.limit_in_bytes", "9223372036854771712\n")
	want(false, 0, "")
	write("memory.limit_in_bytes", "x\n")
	if _, _, err := MemoryLimit(dir, false); err == nil {
		t.Error("no error for nonsense")
	}
}

func FuzzCgroup(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) {
		ParseLimit(b)
		ParseMemoryStat(b)
		ParseMemoryEvents(b)
	})
}
