//go:build !light

package series

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorded is a recording of four hours in blocks, closed.
func recorded(t *testing.T) (dir string, end time.Time) {
	t.Helper()
	dir = t.TempDir()
	r := open(t, options(dir))
	fill(t, r, epoch(), 4*360, 10*time.Second)
	check(t, r.Maintain(t.Context()))
	shut(t, r)
	return dir, epoch().Add(4 * time.Hour)
}

// A damaged part costs what is in it and nothing else, and that is said.
func TestDamagedBlocks(t *testing.T) {
	for _, c := range []struct {
		name   string
		file   string
		damage func(t *testing.T, path string)
		said   string
	}{
		{"index overwritten", "index", overwrite(0, 64), "moved to"},
		{"index cut short", "index", cutTo(2), "moved to"},
		{"index gone", "index", func(t *testing.T, path string) { check(t, os.Remove(path)) }, "moved to"},
		{"chunks cut short", "chunks/000001", cutTo(2), "are missing"},
		{"chunks overwritten", "chunks/000001", overwrite(200, 64), "are missing"},
		{"chunks empty", "chunks/000001", func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) }, "moved to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, end := recorded(t)
			blocks, err := blockDirs(filepath.Join(dir, "raw"))
			if err != nil || len(blocks) < 2 {
				t.Fatal(blocks, err)
			}
			c.damage(t, filepath.Join(blocks[0], c.file))

			const all = 2 * 4 * 360
			both := func(d Database) int {
				return count(t, d, "test_reads_total", epoch(), end) + count(t, d, "test_depth", epoch(), end)
			}
			reader, err := OpenReader(dir)
			check(t, err)
			seen := both(reader)
			notes := strings.Join(ask(t, reader, Query{Expr: "1", To: end}).Warnings, "\n")
			if seen > all || !strings.Contains(notes, "cannot be opened") && !strings.Contains(notes, "are missing") {
				t.Errorf("the reader found %d of %d values and said %q", seen, all, notes)
			}
			shut(t, reader)

			var log bytes.Buffer
			o := options(dir)
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			r := open(t, o)
			defer shut(t, r)
			// A block of half an hour has 180 values of each series.
			if n := both(r); n >= all || n < all-2*180 || n > seen {
				t.Errorf("the agent finds %d of %d values, the reader %d", n, all, seen)
			}
			if got := strings.Join(r.Damage(), "\n"); !strings.Contains(got, c.said) || !strings.Contains(log.String(), "part of the history is damaged") {
				t.Errorf("said %q, logged %q, want %q", got, log.String(), c.said)
			}
			fill(t, r, end, 60, time.Second)
			if n := count(t, r, "test_reads_total", end, end.Add(time.Minute)); n != 60 {
				t.Errorf("%d of 60 values were kept after that", n)
			}
			if err := r.Roll(t.Context()); err != nil {
				t.Errorf("rolling up what is left: %v", err)
			}
		})
	}
}

// A torn end of the log is what kill -9 leaves.
func TestTornLog(t *testing.T) {
	for _, less := range []int64{1, 100, 5000} {
		dir := t.TempDir()
		r := open(t, options(dir))
		for i := range 100 {
			fill(t, r, epoch().Add(time.Duration(i)*time.Second), 1, time.Second)
		}
		// As a crash would leave it: closing would flush more.
		crashed := t.TempDir()
		check(t, os.CopyFS(crashed, os.DirFS(dir)))
		shut(t, r)
		wal := filepath.Join(crashed, "raw/wal/00000000")
		info, err := os.Stat(wal)
		check(t, err)
		check(t, os.Truncate(wal, max(info.Size()-less, 0)))
		r = open(t, options(crashed))
		n := count(t, r, "test_reads_total", epoch(), epoch().Add(2*time.Minute))
		if n == 100 && less > 1 || n < 98-int(less/10) {
			t.Errorf("%d bytes torn off: %d of 100 values are left", less, n)
		}
		fill(t, r, epoch().Add(3*time.Minute), 10, time.Second)
		shut(t, r)
		r = open(t, options(crashed))
		if after := count(t, r, "test_reads_total", epoch(), epoch().Add(10*time.Minute)); after != n+10 {
			t.Errorf("%d values after opening it again, want %d", after, n+10)
		}
		shut(t, r)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func cutTo(part int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		info, err := os.Stat(path)
		check(t, err)
		check(t, os.Truncate(path, info.Size()/part))
	}
}

func overwrite(at int64, n int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		check(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, n), at)
		check(t, errors.Join(err, f.Close()))
	}
}

// mountSmall is a file system of some megabytes, or the test is skipped.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small file system needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// reopen is what the agent does after an error: it opens the
// recording anew, to append the same again.
func reopen(t *testing.T, r *Recording, o Options) (*Recording, error) {
	t.Helper()
	r.Close() // fails where the disk does
	return Open(o)
}

// A full disk costs nothing that is appended again when there is room.
func TestFullDisk(t *testing.T) {
	dir := mountSmall(t, "3m")
	o := options(filepath.Join(dir, "rec"))
	r := open(t, o)
	fill(t, r, epoch(), 60, time.Second)
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	check(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	s := New("test_reads_total", Label{"device", "vda"})
	next := epoch().Add(time.Minute)
	frame := func() Frame { return Frame{next, []Value{{s, next.Sub(epoch()).Seconds()}}} }
	failed := 0
	for i := 0; i < 20_000 && failed == 0; i++ {
		if _, err := r.Append([]Frame{frame()}); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			failed++
			break
		}
		next = next.Add(time.Second)
	}
	if failed == 0 {
		t.Fatal("the disk never filled")
	}
	if _, err := reopen(t, r, o); err == nil {
		t.Log("the recording opens on a full disk") // it may, and fails at the next value
	} else if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("opening on a full disk: %v", err)
	}
	check(t, os.Remove(ballast))
	r, err = Open(o)
	if errors.Is(err, ErrLocked) {
		t.Fatal("a failed opening kept the lock")
	}
	check(t, err)
	for range 60 {
		a, err := r.Append([]Frame{frame()})
		if err != nil || a.Kept+a.Refused != 1 {
			t.Fatal(a, err)
		}
		next = next.Add(time.Second)
	}
	shut(t, r)
	r = open(t, o)
	defer shut(t, r)
	want := int(next.Sub(epoch()) / time.Second)
	if n := count(t, r, "test_reads_total", epoch(), next); n != want {
		t.Errorf("%d of %d values are left", n, want)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir := mountSmall(t, "8m")
	o := options(filepath.Join(dir, "rec"))
	r := open(t, o)
	fill(t, r, epoch(), 60, time.Second)
	shut(t, r)
	check(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := Open(o); !errors.Is(err, syscall.EROFS) {
		t.Errorf("opening for writing: %v", err)
	}
	reader, err := OpenReader(o.Dir)
	check(t, err)
	if n := count(t, reader, "test_depth", epoch(), epoch().Add(time.Minute)); n != 60 {
		t.Errorf("%d of 60 values can be read", n)
	}
	shut(t, reader)
}

func TestRemovedDirectory(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "rec"))
	r := open(t, o)
	fill(t, r, epoch(), 60, time.Second)
	check(t, r.Check())
	check(t, os.RemoveAll(o.Dir))
	if err := r.Check(); !errors.Is(err, ErrGone) {
		t.Errorf("%v, want %v", err, ErrGone)
	}
	r, err := reopen(t, r, o)
	check(t, err)
	defer shut(t, r)
	fill(t, r, epoch().Add(time.Minute), 60, time.Second)
	if n := count(t, r, "test_depth", epoch(), epoch().Add(2*time.Minute)); n != 60 {
		t.Errorf("%d values, want the 60 after it was removed", n)
	}
	if got, err := r.Query(context.Background(), Query{Expr: "test_depth", To: epoch()}); err != nil || len(got.Lines) != 0 {
		t.Errorf("%+v, %v: what was removed is gone", got, err)
	}
}
