package smaps

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/source/proc/proctest"
)

func TestParse(t *testing.T) {
	const rollup = "562b-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 1764 kB\nPss:      247 kB\nPss_Anon:  116 kB\nPss_File: 131 kB\nLocked: 0 kB\n"
	if s, err := parseShares([]byte(rollup)); err != nil || *s != (Shares{All: 247 << 10, Anon: 116 << 10, File: 131 << 10}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parseShares(proctest.Fixture(t, "rollup-6.18")); err != nil || s.All == 0 || s.All < s.File {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "Rss: 1 kB\n", "Pss: 1 MB\n", "Pss: -1 kB\n", "Pss:\n", rollup + "Pss_Shmem: x kB\n"} {
		if s, err := parseShares([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}

// Our own memory: a file that is mapped, touched and shared with nobody.
func TestOwnMemory(t *testing.T) {
	const pages = 509
	f, err := os.CreateTemp("/var/tmp", "iocause-test-")
	require.NoError(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	size := pages * os.Getpagesize()
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	h := host.Live()
	h.Self = 0
	one := func() Process {
		all, err := All(h, nil)
		require.NoError(t, err)
		for _, p := range all {
			if p.PID == os.Getpid() {
				return p
			}
		}
		t.Fatal("this process is missing")
		return Process{}
	}
	one() // what it takes to look
	before := one()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	require.NoError(t, err)
	defer unix.Munmap(m)
	after := one()
	// the program's own text may come and go by some pages
	near := func(got int64) bool { return got >= int64(size)*9/10 && got <= int64(size)*11/10+2<<20 }
	if d := int64(after.File) - int64(before.File); !near(d) {
		t.Errorf("%d bytes of files more, want %d", d, size)
	}
	if after.Shares == nil || before.Shares == nil {
		t.Fatalf("no shares: %s", after.Unread)
	}
	if d := int64(after.Shares.File) - int64(before.Shares.File); !near(d) {
		t.Errorf("%d bytes of shares of files more, want %d", d, size)
	}
	if after.RSS() < uint64(size) || after.Comm == "" {
		t.Errorf("%+v", after)
	}
}

func FuzzParse(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parseShares(b) })
}
