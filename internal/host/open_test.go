package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/require"
)

// Links are followed where they should be, and what is no file is not even opened: who
// waits for the other end of a pipe goes on waiting.
func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, errors.Join(os.WriteFile(at("file"), []byte("outside"), 0o600), os.Symlink("file", at("link")),
		os.Mkdir(at("root"), 0o700), os.WriteFile(at("root/file"), []byte("inside"), 0o600), os.Symlink("/file", at("root/link")),
		unix.Mkfifo(at("pipe"), 0o600), os.Symlink(at("pipe"), at("device"))))
	for _, c := range []struct {
		open func() (*os.File, error)
		says string
	}{
		{func() (*os.File, error) { return OpenRegular(at("file")) }, "outside"},
		{func() (*os.File, error) { return OpenRegular(at("link")) }, "outside"},
		{func() (*os.File, error) { return OpenInside(at("root"), "/link", 0) }, "inside"},
		{func() (*os.File, error) { return OpenInside(at("root"), "../../link", 0) }, "inside"},
	} {
		f, err := c.open()
		require.NoError(t, err)
		buf := make([]byte, 10)
		n, err := f.Read(buf)
		require.NoError(t, errors.Join(err, f.Close()))
		if string(buf[:n]) != c.says {
			t.Errorf("%q, want %q", buf[:n], c.says)
		}
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f, err := os.OpenFile(at("pipe"), os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}()
	time.Sleep(50 * time.Millisecond)
	if f, err := OpenRegular(at("device")); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := OpenInside(at("root"), "link", unix.O_NOFOLLOW); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v, %v", f, err)
	}
	select {
	case <-opened:
		t.Error("the pipe was opened")
	case <-time.After(100 * time.Millisecond):
	}
	other, err := os.OpenFile(at("pipe"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	<-opened
	require.NoError(t, other.Close())
}
