package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// shelve makes the test binary put numbered windows onto the shelf of this
// folder, and say each number, until it is killed.
const shelve = "IOCAUSE_TEST_SHELVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(shelve); dir != "" {
		s := NewShelf(ShelfOptions{Dir: dir, Keep: time.Hour, MaxBytes: 64 << 20})
		for n := 0; ; n++ {
			if err := s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*time.Second))); err != nil {
				panic(err)
			}
			fmt.Println(n)
		}
	}
	os.Exit(m.Run())
}

func shelfEpoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// numbered is a window of a second that holds a number.
func numbered(n int, start time.Time) *Record {
	r := sample.NewRecorder(start)
	r.At(start.Add(time.Second))
	e := sample.Entity{PID: 7}
	r.PutProcess(7, sample.Process{Comm: fmt.Sprintf("\x1b[2J\n\xff%d", n), Start: time.Duration(n)})
	r.Put(sample.ProcReadBytes, e, float64(n), "/proc/PID/io")
	return &Record{Window: r.Window(start.Add(time.Second))}
}

// numbers are those of the windows of a span.
func numbers(t *testing.T, dir string, from, to time.Time) (all []int, lost []string) {
	t.Helper()
	lost, err := EachShelved(dir, from, to, func(r *Record) error {
		v, ok := r.Window.Sum(sample.ProcReadBytes, sample.Entity{PID: 7})
		if want := fmt.Sprintf("\x1b[2J\n\xff%d", int(v)); !ok || r.Window.Processes[7].Comm != want {
			t.Fatalf("%v of %q, want %q", v, r.Window.Processes[7].Comm, want)
		}
		all = append(all, int(v))
		return nil
	})
	require.NoError(t, err)
	return all, lost
}

// sizeOf is what the files of a folder hold.
func sizeOf(t *testing.T, dir string) (bytes int64, files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		bytes += info.Size()
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return bytes, files
}

func consecutive(all []int, first int) bool {
	for i, n := range all {
		if n != first+i {
			return false
		}
	}
	return true
}

func TestShelfGivesASpan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	if _, err := EachShelved(dir, time.Time{}, time.Time{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s := NewShelf(ShelfOptions{Dir: dir, Keep: 48 * time.Hour, MaxBytes: 1 << 30})
	const each = 10 * time.Second
	for n := range 1000 { // 2 h 47 min
		require.NoError(t, s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*each))))
		if n == 500 { // the agent is started anew
			require.NoError(t, s.Close())
			s = NewShelf(s.o)
		}
	}
	if _, files := sizeOf(t, dir); len(files) != 4 {
		t.Errorf("%q", files)
	}
	all, lost := numbers(t, dir, shelfEpoch().Add(300*each), shelfEpoch().Add(700*each))
	if len(all) != 400 || !consecutive(all, 300) || lost != nil {
		t.Errorf("%d of them, lost %q", len(all), lost)
	}
}

func TestShelfKeepsItsLimits(t *testing.T) {
	const most = 256 << 10
	dir := t.TempDir()
	dropped := time.Duration(0)
	s := NewShelf(ShelfOptions{Dir: dir, Keep: 3 * time.Hour, MaxBytes: most, Dropped: func(from, to time.Time) {
		if to.Before(from) || to.Sub(from) > shelfFile {
			t.Errorf("%v to %v is no file", from, to)
		}
		dropped += to.Sub(from)
	}})
	// By age: a window a minute, for a day.
	const minutes = 24 * 60
	for n := range minutes {
		require.NoError(t, s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*time.Minute))))
	}
	all, lost := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(48*time.Hour))
	if len(all) < 3*60 || len(all) > 5*60 || !consecutive(all, minutes-len(all)) || lost != nil {
		t.Errorf("%d windows of %d, lost %q", len(all), minutes, lost)
	}
	if dropped != 0 {
		t.Errorf("%v of what was too old went for want of room", dropped)
	}
	// By size: many at once.
	n := minutes
	for first := n; n < first+3000; n++ {
		require.NoError(t, s.Window(numbered(n, shelfEpoch().Add(24*time.Hour+time.Duration(n-first)*time.Second))))
		if n%100 == 0 {
			if is, _ := sizeOf(t, dir); is > most {
				t.Fatalf("%d bytes after %d windows", is, n)
			}
		}
	}
	if is, files := sizeOf(t, dir); is < most/2 || len(files) < 8 {
		t.Errorf("%d bytes in %d files", is, len(files))
	}
	all, lost = numbers(t, dir, shelfEpoch(), shelfEpoch().Add(48*time.Hour))
	if len(all) == 0 || !consecutive(all, n-len(all)) || lost != nil {
		t.Errorf("%d windows, lost %q", len(all), lost)
	}
	// 3000 windows, a second apart, less those that are there, and the hours before
	if least := time.Duration(3000-len(all)) * time.Second; dropped < least || dropped > least+6*time.Hour {
		t.Errorf("%v went for want of room, want %v at least", dropped, least)
	}
	// The clock is set back by a year: what seems to come from later stays.
	require.NoError(t, s.Window(numbered(n, shelfEpoch().AddDate(-1, 0, 0))))
	if now, _ := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(48*time.Hour)); len(now) == 0 {
		t.Error("all were deleted when the clock was set back")
	}
	if now, _ := numbers(t, dir, shelfEpoch().AddDate(-1, 0, 0), shelfEpoch().AddDate(-1, 0, 1)); len(now) != 1 {
		t.Error(now)
	}
}

// Wherever a file is cut off or overwritten, the rest is read and the damage
// told.
func TestShelfWithDamage(t *testing.T) {
	dir := t.TempDir()
	s := NewShelf(ShelfOptions{Dir: dir, Keep: time.Hour, MaxBytes: 1 << 30})
	for n := range 50 {
		require.NoError(t, s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*time.Second))))
	}
	require.NoError(t, s.Close())
	_, files := sizeOf(t, dir)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	end := shelfEpoch().Add(time.Hour)
	for at := 0; at < len(whole); at += 37 {
		require.NoError(t, os.WriteFile(files[0], whole[:at], 0o600))
		if all, lost := numbers(t, dir, shelfEpoch(), end); !consecutive(all, 0) || len(all) < 49*at/len(whole)-2 || at < 18 && lost == nil {
			t.Errorf("cut off at %d: %d windows, lost %q", at, len(all), lost)
		}
		bad := append([]byte(nil), whole...)
		bad[at] ^= 0x55
		require.NoError(t, os.WriteFile(files[0], bad, 0o600))
		if all, lost := numbers(t, dir, shelfEpoch(), end); lost == nil || at >= 18 && len(all) < 49 || len(all) > 50 {
			t.Errorf("damaged at %d: %d windows, lost %q", at, len(all), lost)
		}
	}
}

// Every window that was kept before the writer is killed is read back, whenever
// that comes, and the next writer adds its own beside.
func TestKilledShelf(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for round := range 20 {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), shelve+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, last := bufio.NewScanner(out), -1
		for range round + 1 {
			lines.Scan()
		}
		time.Sleep(time.Duration(round) * 300 * time.Microsecond) // somewhere else each time
		require.NoError(t, cmd.Process.Kill())
		for ok := true; ok; ok = lines.Scan() {
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				last = n
			}
		}
		cmd.Wait() // it was killed, which is an error
		all, lost := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(100*time.Hour))
		if len(all) <= last || len(all) > last+2 || !consecutive(all, 0) || len(lost) > 1 {
			t.Fatalf("round %d: %d windows, the last it said was %d; lost %q", round, len(all), last, lost)
		}
		s := NewShelf(ShelfOptions{Dir: dir, Keep: time.Hour, MaxBytes: 64 << 20})
		require.NoError(t, s.Window(numbered(1<<20, shelfEpoch().Add(50*time.Hour))))
		if again, _ := numbers(t, dir, shelfEpoch().Add(50*time.Hour), shelfEpoch().Add(51*time.Hour)); len(again) != 1 {
			t.Errorf("round %d: %v", round, again)
		}
	}
}

// On a full disk a window fails whole, and once there is room again the next
// ones are kept; so also where the folder was removed.
func TestShelfOnAFullDisk(t *testing.T) {
	bpftest.Root(t) // to mount a small file system
	mount := t.TempDir()
	require.NoError(t, syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64k"))
	defer syscall.Unmount(mount, syscall.MNT_DETACH)
	dir := filepath.Join(mount, "shelf")
	s := NewShelf(ShelfOptions{Dir: dir, Keep: time.Hour, MaxBytes: 1 << 30})
	n := 0
	keep := func() error {
		err := s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*time.Second)))
		if err == nil {
			n++
		}
		return err
	}
	require.NoError(t, keep())
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	var err error
	for range 1000 { // into what is left of the last page
		if err = keep(); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := keep(); !errors.Is(err, syscall.ENOSPC) { // in a new file
		t.Fatal(err)
	}
	require.NoError(t, os.Remove(ballast))
	for range 10 {
		require.NoError(t, keep())
	}
	if all, lost := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(time.Hour)); len(all) != n || !consecutive(all, 0) || lost != nil {
		t.Errorf("%v of %d, lost %s", all, n, strings.Join(lost, "; "))
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, keep())
	if all, _ := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(time.Hour)); len(all) != 1 {
		t.Error(all)
	}
}

// Whoever reads while files are begun meets none without its beginning.
func TestShelfFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := range 40 { // each a file, with what one that was killed left
			if err := os.WriteFile(filepath.Join(dir, "next"), []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
			s := NewShelf(ShelfOptions{Dir: dir, Keep: 1000 * time.Hour, MaxBytes: 64 << 20})
			if err := errors.Join(s.Window(numbered(n, shelfEpoch().Add(time.Duration(n)*time.Minute))), s.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	for more := true; more; {
		select {
		case <-over:
			more = false
		default:
		}
		if _, lost := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(48*time.Hour)); lost != nil {
			t.Fatalf("lost %q", lost)
		}
	}
	if all, _ := numbers(t, dir, shelfEpoch(), shelfEpoch().Add(48*time.Hour)); len(all) != 40 {
		t.Errorf("%d windows", len(all))
	}
}
