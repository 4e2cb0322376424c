package pagecache

import (
	"iocause/internal/host"
	"iocause/internal/sample"
)

// names turns what the kernel knows of files into paths.
type names struct {
	lookup *host.Lookup
	files  *host.FileNames
}

func newNames(h *host.Host) *names {
	l := host.NewLookup(h)
	return &names{lookup: l, files: host.NewFileNames(h, l)}
}

// file builds the path of a file from its names, leaf first.
func (n *names) file(dev uint32, raw *pagecachePath) sample.File {
	f := n.files.Of(host.Inode{Dev: dev, Mode: raw.Kind, Links: raw.Links, Rdev: uint32(raw.Rdev),
		Names: raw.Names[:min(int(raw.Length), len(raw.Names))], Partial: raw.Partial != 0})
	return sample.File{Path: f.Path, Size: -1, Device: f.Disk, Deleted: f.Deleted, Partial: f.Partial}
}
