package pagecache

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// blockFile and regularFile are the type bits of i_mode.
const (
	typeMask    = 0o170000
	blockFile   = 0o060000
	partialMark = "..."
)

// names turns what the kernel knows of files into paths.
type names struct {
	host   *host.Host
	lookup *host.Lookup
	mounts host.Mounts
	read   bool
}

func newNames(h *host.Host) *names {
	return &names{host: h, lookup: host.NewLookup(h)}
}

// mount finds where a file system is mounted, by preference as a whole.
func (n *names) mount(dev uint32) (host.Mount, bool) {
	if !n.read {
		n.read = true
		// without mounts, paths begin at their file system and say so
		n.mounts, _ = n.host.Mounts()
	}
	return n.mounts.Find(host.DevNumber(dev))
}

// file builds the path of a file from its names, leaf first.
func (n *names) file(dev uint32, raw *pagecachePath) sample.File {
	f := sample.File{Size: -1, Deleted: raw.Links == 0, Device: n.lookup.Disk(dev)}
	if raw.Kind&typeMask == blockFile {
		f.Device = n.lookup.Disk(uint32(raw.Rdev))
		f.Path = "/dev/" + f.Device
		f.Deleted = false
		return f
	}
	length := min(int(raw.Length), len(raw.Names))
	var parts []string
	for _, p := range bytes.Split(raw.Names[:length], []byte{0}) {
		if len(p) > 0 {
			parts = append(parts, string(p))
		}
	}
	if len(parts) == 0 {
		return f
	}
	slices.Reverse(parts)
	path := "/" + strings.Join(parts, "/")
	f.Partial = raw.Partial != 0
	m, ok := n.mount(dev)
	switch {
	case f.Partial:
		path = partialMark + path
	case ok && m.Root == "/":
		path = filepath.Join(m.Point, path)
	case ok && strings.HasPrefix(path, m.Root+"/"):
		path = filepath.Join(m.Point, strings.TrimPrefix(path, m.Root))
	case !ok:
		f.Partial = true // mounted where we cannot see it
	}
	if f.Deleted {
		path += " (deleted)"
	}
	f.Path = path
	return f
}
