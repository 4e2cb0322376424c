package filters

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/view"
)

// File is what --file names, the way that samples name files. A name without a
// slash is a pattern of the last part of a path.
func File(name string) (string, error) {
	if name == "" {
		return "", &ask.Error{Err: errors.New("reading --file: the name is empty"), Next: "give a path, a directory or a pattern"}
	}
	if !strings.Contains(name, "/") {
		if _, err := path.Match(name, ""); err != nil {
			return "", &ask.Error{Err: fmt.Errorf("reading --file: %q: %w", name, err), Next: `write \[ for a literal bracket`}
		}
		return name, nil
	}
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("reading --file: %w", err)
	}
	return whole, nil
}

// hidden tells what to do where overlayfs keeps a file where it cannot be seen.
func hidden(err error, next string) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("reading --file: %w", err)
	if errors.Is(err, host.ErrLayersHidden) {
		return &ask.Error{Err: err, Next: next + ", or select its readers with --cgroup or --comm"}
	}
	return err
}

// OtherNames are those by which tables show what File has made of a name.
func OtherNames(h *host.Host, name string) ([]string, error) {
	all, err := h.OtherNames(name)
	return all, hidden(err, "give the last part of the name")
}

// FileID is the file of a path, or of a link of /proc, as the kernel's programs know it.
func FileID(h *host.Host, path string) (sample.FileID, error) {
	dev, ino, err := h.InCache(path)
	return sample.FileID{Dev: uint32(dev), Ino: ino}, hidden(err, "give the path on the host")
}

// OneFile is the regular file of a path, as the kernel's programs know it.
func OneFile(h *host.Host, path string) (sample.FileID, error) {
	var st unix.Stat_t
	switch err := unix.Stat(path, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return sample.FileID{}, &ask.Error{Err: fmt.Errorf("reading --file: %w", &fs.PathError{Op: "stat", Path: path, Err: err}), Next: "give the path of a file that is read"}
	case err != nil:
		return sample.FileID{}, fmt.Errorf("reading --file: %w", &fs.PathError{Op: "stat", Path: path, Err: err})
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return sample.FileID{}, &ask.Error{Err: fmt.Errorf("reading --file: %s is not a regular file", path), Next: "give one file; select readers with --cgroup, --comm or --pid"}
	}
	return FileID(h, path)
}

// Files chooses files by their name and the disk that they lie on.
type Files struct {
	Name   string // as File has it; "" for any
	Device string // the whole disk; "" for any

	also  []string // other names of that
	host  *host.Host
	disks *host.FileDisks
}

// NewFiles chooses files of this machine.
func NewFiles(h *host.Host, name, device string) *Files {
	also, _ := h.OtherNames(name) // of what processes hold, /proc has the name itself
	return &Files{Name: name, Device: device, also: also, host: h, disks: host.NewFileDisks(h)}
}

// Narrow tells whether files are chosen at all.
func (f *Files) Narrow() bool { return f.Name != "" || f.Device != "" }

// Named tells whether a file's path is asked for.
func (f *Files) Named(path string) bool { return f.Name == "" || view.Named(path, f.Name, f.also...) }

// On tells whether a file system is on the device that is asked for.
func (f *Files) On(dev host.DevNumber) bool {
	return f.Device == "" || f.disks.Of(dev) == f.Device
}

// Is tells whether a path is that of the device that is asked for.
func (f *Files) Is(path string) bool {
	if f.Device == "" {
		return true
	}
	disk, err := f.host.WholeDisk(path)
	return err == nil && disk == f.Device
}
