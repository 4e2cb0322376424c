package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLayersHidden says that overlayfs keeps a file in a folder that is not there for us,
// as seen from within a container.
var ErrLayersHidden = errors.New("it lies on overlayfs, whose folders cannot be seen from here")

// overlays is how many of them may lie on each other; the kernel allows two.
const overlays = 3

// InCache tells by which file system and inode the page cache knows a file. stat(2) has
// another device for it on btrfs, where each subvolume has its own, and on overlayfs,
// which keeps it in a folder of another file system.
func (h *Host) InCache(path string) (DevNumber, uint64, error) {
	return newFinder(h).inCache(path, "self", overlays)
}

// finder finds what mounts files are on, and reads the mounts of a process once.
type finder struct {
	host   *Host
	mounts map[string]Mounts // by process
}

func newFinder(h *Host) *finder { return &finder{h, map[string]Mounts{}} }

// inCache is InCache of a path in our mounts, or of a link of /proc to a file of a process.
func (f *finder) inCache(path, process string, deep int) (DevNumber, uint64, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if unix.Major(st.Dev) != 0 { // a disk's: both have it
		return MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev)), st.Ino, nil
	}
	m, inside, err := f.mountOf(fd, process)
	if err != nil {
		return 0, 0, err
	}
	if m.Type != "overlay" {
		return m.Dev, st.Ino, nil
	}
	for _, dir := range m.layers() {
		var below unix.Stat_t
		layer := filepath.Join(dir, inside)
		if deep == 0 || unix.Lstat(layer, &below) != nil || below.Mode != st.Mode || below.Size != st.Size || below.Mtim != st.Mtim || metadataOnly(layer) {
			continue
		}
		return f.inCache(layer, "self", deep-1)
	}
	return 0, 0, fmt.Errorf("finding where %q is kept: %w", path, ErrLayersHidden)
}

// metadataOnly tells of a file whose data overlayfs keeps in a lower layer (metacopy).
func metadataOnly(path string) bool {
	_, err := unix.Lgetxattr(path, "trusted.overlay.metacopy", nil)
	return err == nil
}

// OtherNames are those by which tables show what lies at a path, where these are others:
// where a symbolic link leads, the place in the mount that shows most of its file system,
// and the folders in which overlayfs keeps it, the uppermost first. It fails where those
// cannot be seen.
func (h *Host) OtherNames(path string) ([]string, error) {
	if !filepath.IsAbs(path) { // a pattern
		return nil, nil
	}
	return newFinder(h).otherNames(path, overlays)
}

func (f *finder) otherNames(path string, deep int) ([]string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	defer unix.Close(fd)
	m, inside, err := f.mountOf(fd, "self")
	if err != nil { // the name that was given is mostly the one
		return nil, nil
	}
	var all []string
	add := func(name string) {
		if name != path && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if m.Type != "overlay" {
		best, _ := f.mounts["self"].Find(m.Dev)
		add(best.name(inside))
		return all, nil
	}
	var own, st unix.Stat_t
	if err := unix.Fstat(fd, &own); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	for _, dir := range m.layers() {
		layer := filepath.Join(dir, inside)
		if deep == 0 || unix.Lstat(layer, &st) != nil || st.Dev == own.Dev && st.Ino == own.Ino { // within a container, / is another one
			continue
		}
		below, err := f.otherNames(layer, deep-1)
		if err != nil {
			return nil, err
		}
		add(layer)
		for _, name := range below {
			add(name)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("finding where %q is kept: %w", path, ErrLayersHidden)
	}
	return all, nil
}

// mountOf finds the mount, of those of a process, that one of our files is on, and where
// it is in that file system.
func (f *finder) mountOf(fd int, process string) (Mount, string, error) {
	own := strconv.Itoa(fd)
	info, err := Read(filepath.Join("/proc/self/fdinfo", own), nil)
	if err != nil {
		return Mount{}, "", fmt.Errorf("reading what mount a file is on: %w", err)
	}
	name, err := os.Readlink(filepath.Join("/proc/self/fd", own))
	if err != nil {
		return Mount{}, "", fmt.Errorf("reading where a file is: %w", err)
	}
	_, after, _ := bytes.Cut(info, []byte("mnt_id:"))
	line, _ := Line(after)
	id, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		return Mount{}, "", fmt.Errorf("reading what mount %q is on: %w", name, err)
	}
	mounts, known := f.mounts[process]
	if !known {
		if mounts, err = f.host.mounts(process); err != nil {
			return Mount{}, "", err
		}
		f.mounts[process] = mounts
	}
	for _, m := range mounts {
		if m.ID == id {
			inside, _ := strings.CutPrefix(name, m.Point)
			return m, filepath.Join(m.Root, inside), nil
		}
	}
	return Mount{}, "", fmt.Errorf("looking for the mount of %q: mount %d is not among those of process %s", name, id, process)
}

// layers are the folders of an overlay, the uppermost first, as they were called when it
// was mounted.
func (m Mount) layers() []string {
	var upper, lower []string
	for _, o := range m.Super {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "upperdir":
			upper = append(upper, unescapeColons(value))
		case "lowerdir":
			lower = append(lower, splitColons(value)...)
		case "lowerdir+", "datadir+": // since 6.5, one each
			lower = append(lower, value)
		}
	}
	return append(upper, lower...)
}

// splitColons parts a list of folders at its colons, of which a name's own has a backslash.
func splitColons(list string) []string {
	var all []string
	from := 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i < len(list) && list[i] == '\\':
			i++
		case i == len(list) || list[i] == ':':
			if i > from { // "::" comes before layers that hold data only
				all = append(all, unescapeColons(list[from:i]))
			}
			from = i + 1
		}
	}
	return all
}

func unescapeColons(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
