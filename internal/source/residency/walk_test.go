package residency

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// onDisk is a folder on a real file system; /tmp may be in memory.
func onDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// write makes a file of whole pages, all of it cached and clean.
func write(t *testing.T, path string, pages int) *os.File {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	page := make([]byte, os.Getpagesize())
	for range pages { // one at a time: of pages that are cached as one, none is dropped alone
		if _, err := f.Write(page); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, f.Sync())
	return f
}

// tree is 31 files of 1 to 31 pages in nested folders, every third of them not
// cached and one cached in part; with links of both sorts and a pipe.
func tree(t *testing.T) (dir string, files int, cached int64) {
	t.Helper()
	dir = onDisk(t)
	for i := 1; i <= 31; i++ {
		sub := filepath.Join(dir, strconv.Itoa(i%5), strconv.Itoa(i%3))
		require.NoError(t, os.MkdirAll(sub, 0o700))
		f := write(t, filepath.Join(sub, fmt.Sprintf("f\x1b\n%d", i)), i)
		files++
		switch {
		case i == 31:
			drop(t, f, 0, 7*int64(os.Getpagesize()))
			cached += 31 - 7
		case i%3 == 0:
			drop(t, f, 0, 0)
		default:
			cached += int64(i)
		}
		if i == 4 {
			require.NoError(t, errors.Join(os.Link(f.Name(), filepath.Join(dir, "again")), os.Symlink(f.Name(), filepath.Join(dir, "link")),
				unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600)))
		}
	}
	return dir, files, cached
}

func TestBelow(t *testing.T) {
	dir, files, cached := tree(t)
	for _, paths := range [][]string{{dir}, {dir, dir}, {dir, filepath.Join(dir, "1"), filepath.Join(dir, "link")}} {
		f, err := Below(t.Context(), paths, Options{})
		require.NoError(t, err)
		var sum Pages
		for _, x := range f.Files {
			sum.Add(x.Pages)
		}
		if len(f.Files) != files || sum.Cached != cached || f.Links != 1 || f.Others != 1 || f.Failed != 0 || f.Again == 0 {
			t.Errorf("%q: %d files with %d pages, want %d with %d; %+v", paths, len(f.Files), sum.Cached, files, cached, f.Errors)
		}
	}
	if _, err := Below(t.Context(), []string{filepath.Join(dir, "none")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want not exist", err)
	}
	if _, err := Below(t.Context(), []string{filepath.Join(dir, "pipe")}, Options{}); !errors.Is(err, host.ErrNotRegular) {
		t.Errorf("%v, want not a regular file", err)
	}
}

// Who names a block device is told what is cached of it, past any file system.
func TestBlockDevice(t *testing.T) {
	device := labtest.LoopDevice(t, "/dev/shm")
	f, err := os.Open(device)
	require.NoError(t, err)
	defer f.Close() // with the last one that has it open all of it goes
	page := int64(os.Getpagesize())
	drop(t, f, 0, 0)
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM))
	const size, pages = 32 << 20, 101
	first := size/page/2 + 7
	buf := make([]byte, page)
	for i := range int64(pages) {
		if _, err := f.ReadAt(buf, (first+i)*page); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(device, link))
	for _, path := range []string{device, link} {
		found, err := Below(t.Context(), []string{path}, Options{})
		require.NoError(t, err)
		if f := found.Files[0]; f.Err != nil || !f.Device || f.Size != size || f.Pages.Total != f.Size/page || f.Pages.Cached != pages {
			t.Errorf("%s: %+v, want %d pages of 32 MiB", path, f, pages)
		}
		parts, err := Ranges(path, ID{})
		require.NoError(t, err)
		if len(parts) != 1 || parts[0] != (Range{first * page, pages * page}) {
			t.Errorf("%s: %v", path, parts)
		}
	}
}

// The counts of fincore and vmtouch, where they are there.
func TestPeersCountTheSame(t *testing.T) {
	dir, _, _ := tree(t)
	big := write(t, filepath.Join(dir, "big"), 3*large/os.Getpagesize()/2+13)
	page := int64(os.Getpagesize())
	drop(t, big, 1000*page, 50001*page)
	f, err := Below(t.Context(), []string{big.Name()}, Options{})
	require.NoError(t, err)
	ours := f.Files[0].Pages.Cached
	// At both ends the kernel may keep or drop the folio that reaches over it.
	const folio = 512
	if want := f.Files[0].Pages.Total - 50001; ours < want-folio || ours > want+folio {
		t.Errorf("%d pages of a large file, want %d", ours, want)
	}
	peers := 0
	if out, err := exec.CommandContext(t.Context(), "fincore", "--bytes", "--noheadings", "--output", "PAGES", big.Name()).Output(); err == nil {
		peers++
		if n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil || n != ours {
			t.Errorf("fincore counts %q, we %d", out, ours)
		}
	}
	all, err := Below(t.Context(), []string{dir}, Options{})
	require.NoError(t, err)
	var sum Pages
	for _, x := range all.Files {
		sum.Add(x.Pages)
	}
	if out, err := exec.CommandContext(t.Context(), "vmtouch", "-f", dir).Output(); err == nil {
		peers++
		m := regexp.MustCompile(`Resident Pages: (\d+)/(\d+)`).FindSubmatch(out)
		// vmtouch follows the symbolic link under -f, to a file that it then knows
		if m == nil || string(m[1]) != strconv.FormatInt(sum.Cached, 10) || string(m[2]) != strconv.FormatInt(sum.Total, 10) {
			t.Errorf("vmtouch counts %s, we %d/%d", out, sum.Cached, sum.Total)
		}
	}
	if peers == 0 {
		t.Skip("needs fincore (util-linux) or vmtouch")
	}
}

func TestPartsOfAFile(t *testing.T) {
	page := int64(os.Getpagesize())
	f := write(t, filepath.Join(onDisk(t), "f"), 1000)
	drop(t, f, 100*page, 50*page)
	drop(t, f, 500*page, page)
	drop(t, f, 999*page, page)
	want := []Range{{0, 100 * page}, {150 * page, 350 * page}, {501 * page, 498 * page}}
	got, err := Ranges(f.Name(), ID{})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	shares, err := Shares(f.Name(), ID{}, 20)
	if err != nil || len(shares) != 20 || shares[0] != 1 || shares[2] != 0 || shares[10] != 0.98 || shares[19] != 0.98 {
		t.Errorf("%v, %v", shares, err)
	}
	again, err := sharesByMincore(f, 1000*page, make([]float64, 20))
	for i := range again {
		if d := again[i] - shares[i]; d > 1e-9 || d < -1e-9 {
			t.Errorf("part %d: mincore %g, cachestat %g, %v", i, again[i], shares[i], err)
		}
	}
	if _, err := Ranges(f.Name(), ID{Ino: 1}); err == nil {
		t.Error("another file was measured")
	}
	// every other page: halving gives up, and mincore goes on
	for i := int64(0); i < 1000; i += 2 {
		drop(t, f, i*page, page)
	}
	got, err = Ranges(f.Name(), ID{})
	if err != nil || len(got) < 400 {
		t.Errorf("%d parts, %v", len(got), err)
	}
	if shares, err = Shares(f.Name(), ID{}, 5000); err != nil || len(shares) != 1000 {
		t.Errorf("%d parts of 1000 pages, %v", len(shares), err)
	}
}

// Files that are open, mapped, deleted, or all of it, are each there once.
func TestOfProcesses(t *testing.T) {
	dir := onDisk(t)
	open := write(t, filepath.Join(dir, "open"), 11)
	gone := write(t, filepath.Join(dir, "gone"), 13)
	mapped := write(t, filepath.Join(dir, "mapped\n"), 17)
	if _, err := unix.Mmap(int(mapped.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Mmap(int(gone.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, errors.Join(os.Remove(gone.Name()), mapped.Close()))
	found := OfProcesses(t.Context(), host.Live(), []int{os.Getpid(), os.Getpid()}, nil)
	for _, want := range []struct {
		path                  string
		pages                 int64
		open, mapped, deleted bool
	}{{open.Name(), 11, true, false, false}, {gone.Name(), 13, true, true, true}, {mapped.Name(), 17, false, true, false}} {
		n := 0
		for _, f := range found.Files {
			if f.Path == want.path {
				n++
				if f.Pages.Cached != want.pages || f.Open != want.open || f.Mapped != want.mapped || f.Deleted != want.deleted || f.PID != os.Getpid() {
					t.Errorf("%+v, want %+v", f, want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%q is there %d times", want.path, n)
		}
	}
}
