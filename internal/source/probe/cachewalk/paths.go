package cachewalk

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"iocause/internal/host"
)

// paths turns names inside a file system into paths.
type paths struct {
	host   *host.Host
	lookup *host.Lookup
	mounts host.Mounts
}

func newPaths(h *host.Host) *paths { return &paths{host: h, lookup: host.NewLookup(h)} }

// Names fills in the paths of the files that are given.
func (w *Walker) Names(files []*File) error {
	// Without mounts, paths begin at their file system, and say so.
	w.paths.mounts, _ = w.host.Mounts()
	buf := make([]cachewalkName, batch)
	size := int(unsafe.Sizeof(buf[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&buf[0])), batch*size)
	for len(files) > 0 {
		now := files[:min(batch, len(files))]
		files = files[len(now):]
		clear(buf)
		for i, f := range now {
			buf[i].Address, buf[i].Ino, buf[i].Dev = f.address, f.Ino, uint32(f.Dev)
		}
		if _, err := w.names.WriteAt(raw, 0); err != nil {
			return fmt.Errorf("asking for names: %w", err)
		}
		if err := w.probe.Run("find_names"); err != nil {
			return err
		}
		if _, err := w.names.ReadAt(raw[:len(now)*size], 0); err != nil {
			return fmt.Errorf("reading names: %w", err)
		}
		for i, f := range now {
			w.paths.set(f, &buf[i])
		}
	}
	return nil
}

// set writes a file's path from its names, leaf first.
func (p *paths) set(f *File, n *cachewalkName) {
	if f.Kind == Block {
		f.Path = "/dev/" + p.lookup.Disk(uint32(f.Device))
		if d := p.device(f.Device); d != "" {
			f.Path = "/dev/" + d
		}
		return
	}
	if n.Same == 0 { // freed since the walk
		return
	}
	var parts []string
	for _, b := range bytes.Split(n.Names[:min(int(n.Length), len(n.Names))], []byte{0}) {
		if len(b) > 0 {
			parts = append(parts, string(b))
		}
	}
	if len(parts) == 0 {
		return
	}
	slices.Reverse(parts)
	path := filepath.Join("/", strings.Join(parts, "/"))
	f.Partial = n.Partial != 0
	m, ok := p.mounts.Find(f.Dev)
	switch {
	case f.Partial:
		path = "..." + path
	case ok && m.Root == "/":
		path = filepath.Join(m.Point, path)
	case ok && strings.HasPrefix(path, m.Root+"/"):
		path = filepath.Join(m.Point, strings.TrimPrefix(path, m.Root))
	default: // mounted where we cannot see it, or nowhere
		f.Partial = true
	}
	f.Path = path
}

// device is the kernel's name of a disk or partition.
func (p *paths) device(dev host.DevNumber) string {
	all, err := p.host.Devices()
	if err != nil {
		return ""
	}
	d, _ := all.Lookup(dev)
	return d.Name
}

// Place says where a file without a path is: its file system and number.
func (w *Walker) Place(f *File) string {
	where := f.Dev.String()
	if m, ok := w.paths.mounts.Find(f.Dev); ok {
		where = m.Point
	}
	return fmt.Sprintf("[%s inode %d]", where, f.Ino)
}
