package whole

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"iocause/internal/require"
)

// names of what is in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	for _, what := range []string{"one", "two"} {
		require.NoError(t, Write(name, 0o640, Bytes([]byte(what))))
		if b, err := os.ReadFile(name); err != nil || string(b) != what {
			t.Errorf("%q, %v", b, err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if all := names(t, dir); !slices.Equal(all, []string{"x"}) {
		t.Errorf("left %q", all)
	}
}

// What fails half way leaves all as it was.
func TestFailedWriteLeavesTheOld(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	require.NoError(t, Write(name, 0o600, Bytes([]byte("old"))))
	sorry := errors.New("sorry")
	err := Write(name, 0o600, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, sorry)
	})
	if b, e := os.ReadFile(name); !errors.Is(err, sorry) || e != nil || string(b) != "old" {
		t.Errorf("%v; %q, %v", err, b, e)
	}
	if all := names(t, dir); !slices.Equal(all, []string{"x"}) {
		t.Errorf("left %q", all)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	if there, err := Create(name, 0o600, Bytes([]byte("first"))); err != nil || !there {
		t.Fatalf("%v, %v", there, err)
	}
	if there, err := Create(name, 0o600, Bytes([]byte("second"))); !errors.Is(err, fs.ErrExist) || there {
		t.Errorf("%v, %v", there, err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	if all := names(t, dir); !slices.Equal(all, []string{"x"}) {
		t.Errorf("left %q", all)
	}
}

// What a writer that was killed left behind goes an hour later; what another one
// may be writing stays.
func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * leftoverAge)
	for _, name := range []string{unfinished + "now", unfinished + "old", "old"} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(at, nil, 0o600))
		if name != unfinished+"now" {
			require.NoError(t, os.Chtimes(at, old, old))
		}
	}
	require.NoError(t, Write(filepath.Join(dir, "x"), 0o600, Bytes(nil)))
	if all := names(t, dir); !slices.Equal(all, []string{unfinished + "now", "old", "x"}) {
		t.Errorf("left %q", all)
	}
}

// A file that is kept replaces an earlier one when something is written, and leaves
// nothing behind when nothing is.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	ours := func(*os.File) error { return nil }
	for _, c := range []struct{ write, want string }{{"", ""}, {"the first", "the first"}, {"", "the first"}, {"2nd", "2nd"}} {
		f, err := Kept(name, "trace", ours)
		require.NoError(t, err)
		for i := range c.write {
			if _, err := f.Write([]byte(c.write[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, f.Close())
		b, err := os.ReadFile(name)
		if string(b) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q is written: %q, %v", c.write, b, err)
		}
	}
	f, err := Kept(name, "trace", func(*os.File) error { return errors.New("another kind") })
	if err == nil || f != nil {
		t.Errorf("takes a file that is not its own: %v", err)
	}
}
