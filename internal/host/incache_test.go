package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// A file on overlayfs is that of a layer, also where the layer is an overlay, and is
// known by the file system and inode of that one.
func TestInCache(t *testing.T) {
	below := t.TempDir()
	low := filepath.Join(below, "low")
	require.NoError(t, os.WriteFile(low, []byte("data"), 0o600))
	at, upper := labtest.Overlay(t, below)
	require.NoError(t, os.WriteFile(filepath.Join(at, "up"), []byte("data"), 0o600))
	again, _ := labtest.Overlay(t, at)
	h := host.Live()
	same := func(path, want string) {
		t.Helper()
		dev, ino, err := h.InCache(path)
		require.NoError(t, err)
		var st unix.Stat_t
		require.NoError(t, unix.Stat(want, &st))
		m, err := h.Mounts()
		require.NoError(t, err)
		if x, ok := m.Find(dev); ino != st.Ino || !ok || x.Type == "overlay" {
			t.Errorf("%s: inode %d of %v (%s), want %d of what %s is on", path, ino, dev, x.Type, st.Ino, want)
		}
	}
	same(low, low)
	same(filepath.Join(at, "low"), low)
	same(filepath.Join(again, "low"), low)
	same(filepath.Join(at, "up"), filepath.Join(upper, "up"))
	same(filepath.Join(again, "up"), filepath.Join(upper, "up"))

	f, err := os.Open(filepath.Join(at, "low"))
	require.NoError(t, err)
	defer f.Close()
	dev, ino, err := h.InCache(low)
	require.NoError(t, err)
	if !slices.ContainsFunc(h.OpenFiles(os.Getpid()), func(o host.OpenFile) bool { return o.Dev == dev && o.Ino == ino && o.Path == f.Name() }) {
		t.Errorf("%s is open, and not among %+v", f.Name(), h.OpenFiles(os.Getpid()))
	}
	link, bound := filepath.Join(t.TempDir(), "link"), t.TempDir()
	require.NoError(t, os.Symlink(below, link))
	require.NoError(t, unix.Mount(below, bound, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(bound, 0)) })
	for path, want := range map[string][]string{
		link: {below}, filepath.Join(link, "low"): {low}, bound: {below}, filepath.Join(bound, "low"): {low},
		at: {upper, below}, filepath.Join(at, "up"): {filepath.Join(upper, "up")},
		low: nil, "low": nil, "": nil, filepath.Join(at, "none"): nil,
	} {
		if got, err := h.OtherNames(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q has layers %q (%v), want %q", path, got, err, want)
		}
	}
	// As seen from within a container: the folders are elsewhere.
	require.NoError(t, os.Rename(below, below+".moved"))
	t.Cleanup(func() { require.NoError(t, os.Rename(below+".moved", below)) })
	if _, _, err := h.InCache(filepath.Join(at, "low")); !errors.Is(err, host.ErrLayersHidden) {
		t.Errorf("without its folder: %v", err)
	}
	if got, err := h.OtherNames(filepath.Join(at, "low")); !errors.Is(err, host.ErrLayersHidden) {
		t.Errorf("without its folder: %q, %v", got, err)
	}
}
