package host

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	maxCgroups  = 65536       // directories walked at most
	walkEvery   = time.Second // a miss walks again after this, not sooner
	maxCgroupUp = 64          // depth walked at most
)

// CgroupIDs finds the path of a cgroup by its id, which is the inode number
// of its directory (kernfs) and what the kernel's programs know it by. It is
// used by one goroutine.
type CgroupIDs struct {
	tree   Hierarchy
	now    func() time.Time
	paths  map[uint64]string
	walked time.Time
	full   bool
}

// IDs makes a lookup for a hierarchy. It reads nothing yet.
func (h *Host) IDs(t Hierarchy) *CgroupIDs {
	now := h.Now
	if now == nil {
		now = time.Now
	}
	return &CgroupIDs{tree: t, now: now, paths: map[uint64]string{}}
}

// Path is the cgroup path of an id. A miss walks the hierarchy, once a second
// at most. Paths of cgroups that are gone stay known: the ids of a kernfs are
// not used twice.
func (c *CgroupIDs) Path(id uint64) (string, bool) {
	if p, ok := c.paths[id]; ok {
		return p, true
	}
	if now := c.now(); c.walked.IsZero() || now.Sub(c.walked) >= walkEvery {
		c.walked = now
		c.walk()
	}
	p, ok := c.paths[id]
	return p, ok
}

// Full tells whether the last walk met more cgroups than are remembered.
func (c *CgroupIDs) Full() bool { return c.full }

func (c *CgroupIDs) walk() {
	if len(c.paths) >= maxCgroups {
		clear(c.paths) // mostly of cgroups that are gone
	}
	c.full = false
	c.visit(c.tree.Dir, 0)
}

func (c *CgroupIDs) visit(dir string, depth int) {
	var st syscall.Stat_t
	if syscall.Lstat(dir, &st) != nil {
		return // removed meanwhile
	}
	if _, known := c.paths[st.Ino]; !known && len(c.paths) >= maxCgroups || depth > maxCgroupUp {
		c.full = true
		return
	}
	c.paths[st.Ino] = c.tree.Path(dir)
	if st.Nlink == 2 { // kernfs counts the directories in a directory: here are only files, dozens
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			c.visit(filepath.Join(dir, e.Name()), depth+1)
		}
	}
}
