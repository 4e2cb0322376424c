package host

import (
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenFile is a regular file that a process has open.
type OpenFile struct {
	Dev  DevNumber // of its file system, as the kernel has it
	Ino  uint64
	Path string
	Size int64  // bytes
	Link string // of /proc, by which it can be opened
}

// OpenFiles are those of a process, of /proc/PID/fd; what cannot be read is left out.
func (h *Host) OpenFiles(pid int) []OpenFile {
	var files []OpenFile
	find := newFinder(h)
	links, _ := filepath.Glob(h.Proc(strconv.Itoa(pid), "fd", "*"))
	for _, link := range links {
		var st unix.Stat_t
		if unix.Stat(link, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		path, err := os.Readlink(link)
		if err != nil {
			continue
		}
		f := OpenFile{MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev)), st.Ino, path, st.Size, link}
		if dev, ino, err := find.inCache(link, strconv.Itoa(pid), overlays); err == nil {
			f.Dev, f.Ino = dev, ino
		}
		files = append(files, f)
	}
	return files
}

// Opened is what the kernel says (/proc/PID/fdinfo) of each descriptor of a process that
// is open on something: "/dev/fuse", "anon_inode:[fanotify]". Nothing is opened for that
// but the kernel's own files; what cannot be read is left out.
func (h *Host) Opened(pid int, what string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dir := h.Proc(strconv.Itoa(pid), "fd")
		entries, err := os.ReadDir(dir)
		if err != nil {
			return // it has ended, or may not be looked at
		}
		for _, e := range entries {
			if to, err := os.Readlink(dir + "/" + e.Name()); err != nil || to != what {
				continue
			}
			b, err := Read(h.Proc(strconv.Itoa(pid), "fdinfo", e.Name()), nil)
			if err == nil && !yield(b) {
				return
			}
		}
	}
}
