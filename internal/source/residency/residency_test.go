package residency

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/sample"
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
		stat, err := count(t.Context(), int(f.Fd()), pages*int64(os.Getpagesize()))
		if errors.Is(err, unix.ENOSYS) {
			t.Skip("needs cachestat(2), Linux 6.5")
		}
		require.NoError(t, err)
		core, err := byMincore(t.Context(), f, pages*int64(os.Getpagesize()), pages)
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
	if _, err := OfSame(t.Context(), f.Name(), st.Ino+1); err == nil {
		t.Error("another file was measured")
	}
	p, err := OfSame(t.Context(), f.Name(), st.Ino)
	require.NoError(t, err)
	if p.Total != pages || p.Cached != pages {
		t.Errorf("got %+v, want %d pages, all cached", p, pages)
	}
	if p.Source == "cachestat(2)" && p.Dirty+p.Writeback < 7 {
		t.Errorf("got %d dirty and %d under writeback, want at least 7", p.Dirty, p.Writeback)
	}
}

// What is cached of a file on overlayfs is cached of the one below it.
func TestOnOverlayfs(t *testing.T) {
	below, err := os.MkdirTemp("/var/tmp", "iocause-test-") // on a tmpfs nothing can be dropped
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(below) })
	page := os.Getpagesize()
	const half = 512 // the end of a folio of any size
	require.NoError(t, os.WriteFile(filepath.Join(below, "lower"), make([]byte, pages*page), 0o600))
	at, _ := labtest.Overlay(t, below)
	require.NoError(t, os.WriteFile(filepath.Join(at, "upper"), make([]byte, pages*page), 0o600))
	for _, name := range []string{"lower", "upper"} {
		f, err := os.Open(filepath.Join(at, name))
		require.NoError(t, err)
		defer f.Close()
		unix.Sync() // of a file of the lower folder fsync(2) does nothing
		drop(t, f, int64(half*page), 0)
		found, err := Below(t.Context(), []string{f.Name()}, Options{})
		require.NoError(t, err)
		if p := found.Files[0].Pages; p.Cached != half || p.Dirty != -1 || p.Source != "mincore(2)" {
			t.Errorf("%s: %+v, want %d pages by mincore(2)", name, p, half)
		}
		shares, err := Shares(f.Name(), ID{}, 2)
		require.NoError(t, err)
		if shares[0] < 0.99 || math.Abs(shares[1]-8.0/505) > 1e-9 { // 504 pages, and 8 of 505
			t.Errorf("%s: shares %v", name, shares)
		}
		parts, err := Ranges(f.Name(), ID{})
		require.NoError(t, err)
		if len(parts) != 1 || parts[0] != (Range{0, int64(half * page)}) {
			t.Errorf("%s: ranges %v", name, parts)
		}
	}
}

func TestNotARegularFile(t *testing.T) {
	if _, err := OfSame(t.Context(), t.TempDir(), 1); err == nil {
		t.Error("a directory was measured")
	}
	if _, err := OfSame(t.Context(), "/no/such/file", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
}

// Who owns a folder on the way may put another one in its place: what is there now is not
// even opened when it is no file.
func TestNothingElseIsOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}()
	time.Sleep(50 * time.Millisecond)
	if _, err := OfSame(t.Context(), pipe, 1); !errors.Is(err, host.ErrNotRegular) {
		t.Errorf("%v", err)
	}
	if _, err := Shares(pipe, ID{}, 1); !errors.Is(err, host.ErrNotRegular) {
		t.Errorf("%v", err)
	}
	select {
	case <-opened:
		t.Error("the pipe was opened")
	case <-time.After(100 * time.Millisecond):
	}
	other, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	<-opened
	require.NoError(t, other.Close())
}

// Files of servers and daemons are not opened: that may take for ever.
func TestBusiestOnAServer(t *testing.T) {
	f := file(t)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	id := sample.FileID{Dev: 17, Ino: st.Ino}
	for kind, want := range map[string]int{"ext4": 0, "nfs4": 1, "fuse.sshfs": 1} {
		now := time.Now()
		rec := sample.NewRecorder(now)
		rec.PutFile(id, sample.File{Path: f.Name()})
		rec.Put(sample.CacheInserted, sample.Entity{File: id}, 1, "test")
		left := Busiest(t.Context(), host.Mounts{{Dev: 17, Point: "/mnt", Type: kind}}, rec.Window(now.Add(time.Second)), rec)
		if len(left) != want {
			t.Errorf("%s: %v were not opened, want %d", kind, left, want)
		}
	}
}

// TestMain lets the test be the FUSE daemon of a slow file, too.
func TestMain(m *testing.M) {
	if len(os.Args) < 7 || os.Args[1] != "lab" || os.Args[2] != "disk" {
		os.Exit(m.Run())
	}
	if err := lab.ServeDisk(3, &lab.ServedFile{Size: 1 << 20, Heads: 2}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// So with a daemon that has stopped: its file was opened a moment ago, and would not be now.
func TestBusiestOfAStoppedDaemon(t *testing.T) {
	labtest.Need(t, "root", "fuse")
	env, err := labtest.New(t, t.TempDir())
	require.NoError(t, err)
	path, err := env.ServeFile(os.Args[0], "stopped", &lab.ServedFile{Size: 1 << 20, Heads: 2}, 0)
	require.NoError(t, err)
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	_, err = OfSame(t.Context(), path, st.Ino)
	require.NoError(t, err)
	mounts, err := host.Live().Mounts()
	require.NoError(t, err)
	id := sample.FileID{Dev: uint32(ID{Dev: st.Dev}.Number()), Ino: st.Ino}
	now := time.Now()
	rec := sample.NewRecorder(now)
	rec.PutFile(id, sample.File{Path: path})
	rec.Put(sample.CacheInserted, sample.Entity{File: id}, 1, "test")
	w := rec.Window(now.Add(time.Second))

	var daemon []int
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // of a thread that has ended: none
		for _, pid := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			daemon = append(daemon, n)
		}
	}
	if len(daemon) != 1 {
		t.Fatalf("the daemons are %v", daemon)
	}
	require.NoError(t, unix.Kill(daemon[0], unix.SIGSTOP))
	defer func() { require.NoError(t, unix.Kill(daemon[0], unix.SIGCONT)) }() // whatever waits goes on
	done := make(chan []sample.FileID, 1)
	go func() { done <- Busiest(t.Context(), mounts, w, rec) }()
	select {
	case left := <-done:
		if len(left) != 1 {
			t.Errorf("%v were not opened", left)
		}
	case <-time.After(5 * time.Second):
		t.Error("the daemon is waited for")
	}
}

// A sparse file may be as long as a number can say; what is cached of it is what costs time.
func TestSparseFiles(t *testing.T) {
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "sparse")
	defer f.Close()
	const far = 1 << 61
	for _, size := range []int64{1 << 62, math.MaxInt64} {
		require.NoError(t, f.Truncate(size))
		if _, err := f.WriteAt([]byte{1}, far); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p, err := count(t.Context(), fd, size)
			if !errors.Is(err, unix.ENOSYS) && (err != nil || p.Cached != 1) {
				t.Errorf("%d bytes: %+v, %v, want 1 page", size, p, err)
			}
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("a file of %d bytes takes more than 5 s", size)
		}
		if _, err := byMincore(t.Context(), f, size, 0); err == nil {
			t.Errorf("%d bytes: each page was asked for", size)
		}
	}
	require.NoError(t, f.Truncate(longest))
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	start := time.Now()
	if _, err := byMincore(ctx, f, longest, 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// mincore tells others that all is cached; that must not be believed, nor that who is
// root in a user namespace is root of what others own.
func TestHiddenFromOthers(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("RESIDENCY_AS_OTHER") == "" {
		t.Skip("needs root, to become somebody else")
	}
	switch os.Getenv("RESIDENCY_AS_OTHER") {
	case "user":
		require.NoError(t, unix.Setresuid(65534, 65534, 65534))
		fallthrough
	case "namespace":
		f := os.NewFile(3, "file")
		if p, err := byMincore(t.Context(), f, pages*int64(os.Getpagesize()), pages); !errors.Is(err, ErrHidden) {
			t.Fatalf("user %d: %+v, %v, want ErrHidden", os.Geteuid(), p, err)
		}
		return
	}
	f := file(t)
	require.NoError(t, f.Chmod(0o644))
	reader, err := os.Open(f.Name())
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, mayKnow(reader, pages*int64(os.Getpagesize())))
	for _, who := range []string{"user", "namespace"} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestHiddenFromOthers$") // its own path is closed to others
		cmd.Env = append(os.Environ(), "RESIDENCY_AS_OTHER="+who)
		cmd.ExtraFiles = []*os.File{reader}
		if who == "namespace" {
			nobody := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: nobody, GidMappings: nobody,
				Credential: &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: true}}
		}
		out, err := cmd.CombinedOutput()
		if who == "namespace" && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC)) && !lab.Demanded("root") {
			t.Skipf("needs user namespaces: %v", err)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", who, err, out)
		}
	}
}
