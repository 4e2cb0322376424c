package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"iocause/internal/host"
)

// most is how many cgroups of a hierarchy are read: at ten files each that is
// some milliseconds.
const most = 512

// group is one cgroup.
type group struct {
	path   string // inside the hierarchy
	dir    string
	id     uint64 // the inode of dir; a cgroup that is made anew has another one
	parent int    // its place in the list, -1 for the top
	leaf   bool   // no cgroups are below it
	kept   *kept  // nil where nothing is
}

// walk lists the cgroups of a hierarchy, those near the top first, in the
// order of their names. It tells whether there are more than it lists. One
// that is removed meanwhile is left out. Before it lists what is in a cgroup it gives
// it to enter.
func walk(t host.Hierarchy, enter func(*group)) (all []group, more bool, err error) {
	all = []group{{path: t.Path(t.Dir), dir: t.Dir, parent: -1}}
	for i := 0; i < len(all); i++ {
		enter(&all[i])
		if all[i].leaf {
			continue
		}
		entries, e := os.ReadDir(all[i].dir)
		if e != nil && i == 0 {
			return nil, false, fmt.Errorf("listing the cgroups: %w", e)
		}
		for _, x := range entries {
			if !x.IsDir() {
				continue
			}
			if len(all) == most {
				for j := i + 1; j < most; j++ {
					enter(&all[j])
				}
				return all, true, nil
			}
			dir := filepath.Join(all[i].dir, x.Name())
			var st syscall.Stat_t
			if syscall.Lstat(dir, &st) != nil {
				continue // removed meanwhile
			}
			// kernfs counts the directories in a directory: in a leaf are only files, dozens
			all = append(all, group{path: t.Path(dir), dir: dir, id: st.Ino, parent: i, leaf: st.Nlink == 2})
		}
	}
	return all, false, nil
}
