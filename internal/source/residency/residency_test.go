package residency

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/require"
)

const pages = 1009 // prime

// file makes a file of whole pages with all of it in the cache, none dirty.
func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(make([]byte, pages*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, f.Sync())
	return f
}

func drop(t *testing.T, f *os.File, offset, length int64) {
	t.Helper()
	require.NoError(t, unix.Fadvise(int(f.Fd()), offset, length, unix.FADV_DONTNEED))
}

func TestBothMethodsCountTheSame(t *testing.T) {
	f := file(t)
	for _, want := range []int64{pages, 0} {
		if want == 0 {
			drop(t, f, 0, 0)
		}
		stat, err := count(int(f.Fd()), pages*int64(os.Getpagesize()))
		if errors.Is(err, unix.ENOSYS) {
			t.Skip("needs cachestat(2), Linux 6.5")
		}
		require.NoError(t, err)
		core, err := byMincore(f, pages*int64(os.Getpagesize()), pages)
		require.NoError(t, err)
		if stat.Cached != want || core.Cached != want {
			t.Errorf("cachestat says %d pages, mincore %d, want %d", stat.Cached, core.Cached, want)
		}
	}
}

func TestDirtyPages(t *testing.T) {
	f := file(t)
	if _, err := f.WriteAt(make([]byte, 7*os.Getpagesize()), 0); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	if _, err := OfSame(f.Name(), st.Ino+1); err == nil {
		t.Error("another file was measured")
	}
	p, err := OfSame(f.Name(), st.Ino)
	require.NoError(t, err)
	if p.Total != pages || p.Cached != pages {
		t.Errorf("got %+v, want %d pages, all cached", p, pages)
	}
	if p.Source == "cachestat(2)" && p.Dirty+p.Writeback < 7 {
		t.Errorf("got %d dirty and %d under writeback, want at least 7", p.Dirty, p.Writeback)
	}
}

func TestNotARegularFile(t *testing.T) {
	if _, err := OfSame(t.TempDir(), 1); err == nil {
		t.Error("a directory was measured")
	}
	if _, err := OfSame("/no/such/file", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
}

// mincore tells others that all is cached; that must not be believed.
func TestHiddenFromOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	if os.Getenv("RESIDENCY_AS_OTHER") != "" {
		f, err := os.Open(os.Getenv("RESIDENCY_AS_OTHER"))
		require.NoError(t, err)
		require.NoError(t, unix.Setresuid(65534, 65534, 65534))
		if err := mayWrite(f); !errors.Is(err, ErrHidden) {
			t.Fatalf("got %v, want ErrHidden", err)
		}
		return
	}
	f := file(t)
	require.NoError(t, f.Chmod(0o644))
	cmd := exec.Command(os.Args[0], "-test.run=^TestHiddenFromOthers$")
	cmd.Env = append(os.Environ(), "RESIDENCY_AS_OTHER="+f.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
