package host

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

const (
	fileTypeMask = 0o170000
	blockFile    = 0o060000
	partialMark  = "..."
)

// Inode is what a kernel program notes of a file: the names from the file up
// to the root of its file system, each ended by a NUL.
type Inode struct {
	Dev     uint32 // of the file system, the kernel's encoding
	Mode    uint32 // the type bits of i_mode
	Links   uint32
	Rdev    uint32 // of a device file
	Names   []byte
	Partial bool // there are more names
}

// FileName is where a file is.
type FileName struct {
	Path    string // "" when it has no name, or none is known
	Disk    string // that its file system, or what it is a device file of, lies on
	Deleted bool   // no name is left in the file system
	Partial bool   // the path's beginning is missing
}

// FileNames turns what the kernel knows of files into paths. It reads the
// mounts when one is not known, once a second at most, and is used by one
// goroutine.
type FileNames struct {
	host   *Host
	lookup *Lookup
	mounts Mounts
	read   time.Time
}

// NewFileNames makes one that shares a lookup of devices.
func NewFileNames(h *Host, l *Lookup) *FileNames { return &FileNames{host: h, lookup: l} }

// mount finds where a file system is mounted, by preference as a whole.
func (n *FileNames) mount(dev uint32) (Mount, bool) {
	if m, ok := n.mounts.Find(DevNumber(dev)); ok {
		return m, true
	}
	now := n.host.Now()
	if !n.read.IsZero() && now.Sub(n.read) < walkEvery {
		return Mount{}, false
	}
	n.read = now // without mounts, paths begin at their file system and say so
	n.mounts, _ = n.host.Mounts()
	return n.mounts.Find(DevNumber(dev))
}

// Of builds the path of a file.
func (n *FileNames) Of(i Inode) FileName {
	f := FileName{Disk: n.lookup.Disk(i.Dev), Deleted: i.Links == 0}
	if i.Mode&fileTypeMask == blockFile {
		return FileName{Path: "/dev/" + n.lookup.Device(i.Rdev), Disk: n.lookup.Disk(i.Rdev)}
	}
	var parts []string
	for p := range bytes.SplitSeq(i.Names, []byte{0}) {
		if len(p) > 0 {
			parts = append(parts, string(p))
		}
	}
	if len(parts) == 0 {
		return f
	}
	slices.Reverse(parts)
	path := "/" + strings.Join(parts, "/")
	f.Partial = i.Partial
	m, ok := n.mount(i.Dev)
	switch {
	case f.Partial:
		path = partialMark + path
	case ok:
		path = m.name(path)
	default:
		f.Partial = true // mounted where we cannot see it
	}
	if f.Deleted {
		path += " (deleted)"
	}
	f.Path = path
	return f
}
