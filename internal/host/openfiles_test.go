package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenFiles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("12345"); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	want := OpenFile{MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev)), st.Ino, f.Name(), 5, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())}
	if got := Live().OpenFiles(os.Getpid()); !slices.Contains(got, want) {
		t.Errorf("%+v, want %+v among them", got, want)
	}
}
