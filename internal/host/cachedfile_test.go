package host

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is cached is read, and nothing else.
func TestCachedFile(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "iocause-cached-") // a tmpfs has all of its files in memory
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data")
	if err := os.WriteFile(path, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCached(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 4096)
	if n := c.Read(buf, 4096); n != 4096 {
		t.Errorf("%d bytes of a page that was just written", n)
	}
	if err := c.file.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(c.file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if n := c.Read(buf, 4096); n != 0 {
		t.Errorf("%d bytes of a page that is not cached", n)
	}
	if _, err := OpenCached(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a file that is not there")
	}
}
