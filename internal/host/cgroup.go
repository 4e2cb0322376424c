package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// CgroupMode says which versions of cgroups a host has mounted.
type CgroupMode string

// The modes.
const (
	CgroupNone   CgroupMode = "none"
	CgroupV1     CgroupMode = "v1"
	CgroupV2     CgroupMode = "v2"
	CgroupHybrid CgroupMode = "hybrid" // v1 controllers with a v2 tree beside them
)

// ErrNoController is a controller that no mounted hierarchy has.
var ErrNoController = errors.New("not in any mounted cgroup hierarchy")

// Hierarchy is one mounted cgroup tree.
type Hierarchy struct {
	V2   bool
	root string // the cgroup that Dir shows; not "/" when a subtree is mounted
	Dir  string // the directory to read, with the host's root before it
}

// Cgroups are the hierarchies of a host.
type Cgroups struct {
	Mode        CgroupMode
	controllers map[string]Hierarchy
	Unified     *Hierarchy // the v2 tree, nil without one
}

// v1Controllers are the options of a v1 mount that name a controller.
var v1Controllers = []string{
	"blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb",
	"memory", "misc", "net_cls", "net_prio", "perf_event", "pids", "rdma",
}

// Cgroups finds the hierarchies in /proc/self/mountinfo and, for v2, their
// controllers in cgroup.controllers of the top directory.
func (h *Host) Cgroups() (*Cgroups, error) {
	mounts, err := h.Mounts()
	if err != nil && len(mounts) == 0 {
		return nil, fmt.Errorf("finding the cgroup hierarchies: %w", err)
	}
	c := &Cgroups{controllers: map[string]Hierarchy{}}
	v1 := false
	for _, m := range mounts {
		t := Hierarchy{V2: m.Type == "cgroup2", root: m.Root, Dir: filepath.Join(h.Root, m.Point)}
		switch m.Type {
		case "cgroup2":
			if c.Unified == nil || len(t.root) < len(c.Unified.root) {
				c.Unified = &t
			}
		case "cgroup":
			for _, o := range m.Super {
				if slices.Contains(v1Controllers, o) {
					v1 = true
					c.offer(o, t)
				}
			}
		}
	}
	if c.Unified != nil {
		s, _ := readString(filepath.Join(c.Unified.Dir, "cgroup.controllers"))
		for _, name := range strings.Fields(s) {
			c.offer(name, *c.Unified)
		}
	}
	switch {
	case v1 && c.Unified != nil:
		c.Mode = CgroupHybrid
	case v1:
		c.Mode = CgroupV1
	case c.Unified != nil:
		c.Mode = CgroupV2
	default:
		c.Mode = CgroupNone
	}
	return c, nil
}

// offer keeps the mount of a controller that shows most of its tree.
func (c *Cgroups) offer(controller string, t Hierarchy) {
	if old, ok := c.controllers[controller]; !ok || len(t.root) < len(old.root) {
		c.controllers[controller] = t
	}
}

// Controller is the hierarchy that has the first of some controllers that is
// mounted: "memory", or for block devices "blkio" (v1) and "io" (v2).
func (c *Cgroups) Controller(names ...string) (t Hierarchy, ok bool) {
	for _, name := range names {
		if t, ok = c.controllers[name]; ok {
			break
		}
	}
	return t, ok
}

// Join is the directory of a cgroup in the hierarchy of a controller. The
// path is the one of /proc/PID/cgroup.
func (c *Cgroups) Join(controller, cgroup string) (string, error) {
	t, ok := c.controllers[controller]
	if !ok {
		return "", fmt.Errorf("cgroup controller %q: %w", controller, ErrNoController)
	}
	return t.Join(cgroup)
}

// Join is the directory of a cgroup. It fails for one outside the mounted
// part, and never leaves the hierarchy.
func (t Hierarchy) Join(cgroup string) (string, error) {
	rel := cgroup
	if root := strings.TrimSuffix(t.root, "/"); root != "" && !strings.HasPrefix(root, "/..") {
		var ok bool
		rel, ok = strings.CutPrefix(cgroup, root)
		if !ok || rel != "" && rel[0] != '/' {
			return "", fmt.Errorf("cgroup %q is outside the part mounted at %s, which begins at %q", cgroup, t.Dir, t.root)
		}
	}
	if slices.Contains(strings.Split(rel, "/"), "..") {
		return "", fmt.Errorf("cgroup %q is outside of our cgroup name space", cgroup)
	}
	return filepath.Join(t.Dir, rel), nil
}

// Path is the cgroup path of a directory below Dir: the reverse of Join.
func (t Hierarchy) Path(dir string) string {
	rel, err := filepath.Rel(t.Dir, dir)
	if err != nil || rel == "." {
		rel = ""
	}
	root := strings.TrimSuffix(t.root, "/")
	if strings.HasPrefix(root, "/..") {
		root = ""
	}
	if p := root + "/" + rel; p != "/" {
		return strings.TrimSuffix(p, "/")
	}
	return "/"
}
