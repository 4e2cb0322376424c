package host

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// FindCgroups are the paths of the cgroups that are meant, in any hierarchy,
// without those below them.
func (h *Host) FindCgroups(meant func(path string) bool) []string {
	var found []string
	for _, tree := range h.Hierarchies() {
		// Groups come and go, and what may not be read is not found.
		_ = filepath.WalkDir(tree.Dir, func(dir string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return nil
			}
			if path := tree.Path(dir); meant(path) {
				found = append(found, path)
				return filepath.SkipDir // those below are its parts
			}
			return nil
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}
