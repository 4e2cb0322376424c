package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hierarchies are the mounted cgroup trees that processes are named by.
func (h *Host) Hierarchies() []Hierarchy {
	cgroups, err := h.Cgroups()
	if err != nil {
		return nil
	}
	var trees []Hierarchy
	for _, controller := range []string{"memory", "io", "blkio"} {
		if tree, ok := cgroups.Controller(controller); ok {
			trees = append(trees, tree)
		}
	}
	if cgroups.Unified != nil {
		trees = append(trees, *cgroups.Unified)
	}
	return trees
}

// CgroupPath is a cgroup's path inside its hierarchy. It may be given as the
// directory that it is seen as, too.
func (h *Host) CgroupPath(name string) (string, error) {
	if _, err := h.Cgroups(); err != nil {
		return "", fmt.Errorf("looking for cgroup %q: %w; mount the cgroup file system", name, err)
	}
	trees := h.Hierarchies()
	isDir := func(dir string) bool {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	}
	for _, tree := range trees {
		if dir := path.Clean(name); (dir == tree.Dir || strings.HasPrefix(dir, tree.Dir+"/")) && isDir(dir) {
			return tree.Path(dir), nil
		}
		inside := path.Join("/", name)
		if dir, err := tree.Join(inside); err == nil && isDir(dir) {
			return inside, nil
		}
	}
	if len(trees) == 0 {
		return "", fmt.Errorf("looking for cgroup %q: no cgroup file system is mounted; mount it, or ask by --pid or --comm", name)
	}
	return "", fmt.Errorf("looking for cgroup %q: no such cgroup; see 'systemd-cgls', or the paths in /proc/PID/cgroup", name)
}

// Below are the processes of a cgroup and those below it, but our own, of the
// first hierarchy that has it.
func (h *Host) Below(cgroup string) []int {
	var pids []int
	for _, tree := range h.Hierarchies() {
		eachBelow(tree, cgroup, func(list []byte, err error) {
			for _, word := range strings.Fields(string(list)) {
				if pid, err := strconv.Atoi(word); err == nil && pid != h.Self {
					pids = append(pids, pid)
				}
			}
		})
		if len(pids) > 0 {
			break
		}
	}
	return pids
}

// AnyBelow tells whether a process is in the cgroup or below it, in any
// hierarchy, or whether that cannot be known.
func (h *Host) AnyBelow(cgroup string) bool {
	trees := h.Hierarchies()
	found := len(trees) == 0
	for _, tree := range trees {
		eachBelow(tree, cgroup, func(list []byte, err error) {
			found = found || err != nil && !os.IsNotExist(err) || len(list) > 0
		})
	}
	return found
}

// eachBelow reads the processes of a cgroup and of each below it.
func eachBelow(tree Hierarchy, cgroup string, f func(procs []byte, err error)) {
	top, err := tree.Join(cgroup)
	if err != nil {
		return
	}
	// Groups come and go; one that has gone holds no process.
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			f(os.ReadFile(filepath.Join(path, "cgroup.procs")))
		}
		return nil
	})
}

// CgroupInode is the number of a cgroup's directory in the first of these
// controllers' hierarchies that has it; "" is the unified one. The kernel knows
// it by that.
func (h *Host) CgroupInode(cgroup string, controllers ...string) (controller string, inode uint64, err error) {
	groups, err := h.Cgroups()
	if err != nil {
		return "", 0, fmt.Errorf("looking for cgroup %q: %w", cgroup, err)
	}
	for _, controller := range controllers {
		tree, ok := groups.Controller(controller)
		if controller == "" && groups.Unified != nil {
			tree, ok = *groups.Unified, true
		}
		if !ok {
			continue
		}
		dir, err := tree.Join(cgroup)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			return controller, st.Ino, nil
		}
	}
	return "", 0, nil
}
