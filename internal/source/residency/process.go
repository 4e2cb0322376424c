package residency

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// OfProcesses measures the files that processes have open or mapped, each file
// once. Files of a process that may not be looked into are counted as failed;
// a process that has ended is left out. progress may be nil.
func OfProcesses(ctx context.Context, h *host.Host, pids []int, progress func(files int)) *Found {
	c := &holders{ctx: ctx, host: h, found: &Found{}, at: map[ID]int{}, mapped: map[mapped]int{}, progress: progress}
	for _, pid := range pids {
		c.opened(pid)
		c.mappings(pid)
	}
	return c.found
}

type holders struct {
	ctx      context.Context
	host     *host.Host
	found    *Found
	at       map[ID]int
	mapped   map[mapped]int // to its file, -1 for none
	progress func(files int)
	told     int
}

func (c *holders) fail(err error) {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return // ended, closed or unmapped meanwhile
	}
	if c.found.Failed++; len(c.found.Errors) < mostErrors {
		c.found.Errors = append(c.found.Errors, err)
	}
}

// opened looks at /proc/PID/fd.
func (c *holders) opened(pid int) {
	dir := c.host.Proc(strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.fail(fmt.Errorf("listing the open files of process %d: %w", pid, err))
		return
	}
	for _, e := range entries {
		link := filepath.Join(dir, e.Name())
		if i := c.take(link, "", pid); i >= 0 {
			c.found.Files[i].Open = true
		}
	}
}

// mappings looks at /proc/PID/maps.
func (c *holders) mappings(pid int) {
	text, err := host.Read(c.host.Proc(strconv.Itoa(pid), "maps"), nil)
	if err != nil {
		c.fail(fmt.Errorf("listing the mappings of process %d: %w", pid, err))
		return
	}
	for m := range host.Mappings(text) {
		if m.Inode == 0 {
			continue
		}
		id := mapped{m.Dev, m.Inode}
		i, known := c.mapped[id]
		if !known {
			// map_files leads to deleted files too; where it is not permitted, the path does
			i = c.take(c.host.Proc(strconv.Itoa(pid), "map_files", fmt.Sprintf("%x-%x", m.Start, m.End)), m.Path, pid)
			c.mapped[id] = i
		}
		if i >= 0 {
			c.found.Files[i].Mapped = true
		}
	}
}

// take measures the file behind a link of /proc, unless it has been, and
// returns its place, -1 for none.
func (c *holders) take(link, path string, pid int) int {
	open, err := host.OpenRegular(link)
	if errors.Is(err, unix.EPERM) && path != "" {
		open, err = host.OpenInside(c.host.Proc(strconv.Itoa(pid), "root"), path, unix.O_NOFOLLOW)
	}
	if errors.Is(err, host.ErrNotRegular) {
		return -1 // a pipe, or a device such as /dev/zero
	}
	if err != nil {
		c.fail(fmt.Errorf("looking for its cached pages: %w", err))
		return -1
	}
	defer open.Close()
	fd := int(open.Fd())
	name, err := os.Readlink(link)
	if err != nil {
		name = path
	}
	f, err := describe(fd, strings.TrimSuffix(name, " (deleted)"))
	if err != nil {
		c.fail(err)
		return -1
	}
	if i, ok := c.at[f.ID]; ok {
		return i
	}
	f.PID = pid
	var fs unix.Statfs_t
	f.Memory = unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.TMPFS_MAGIC
	if f.measure(c.ctx, fd); f.Err != nil {
		c.fail(fmt.Errorf("counting the cached pages of %q: %w", f.Path, f.Err))
	}
	i := len(c.found.Files)
	c.at[f.ID] = i
	c.found.Files = append(c.found.Files, f)
	if c.progress != nil && i-c.told >= tellEvery {
		c.told = i
		c.progress(i)
	}
	return i
}

// Maps tells whether a process maps a file for which yes is true. dev is the
// file system's number as /proc/PID/maps has it. It is false for a process
// that has ended.
func Maps(h *host.Host, pid int, yes func(dev host.DevNumber, path string) bool) (bool, error) {
	text, err := host.Read(h.Proc(strconv.Itoa(pid), "maps"), nil)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing the mappings of process %d: %w", pid, err)
	}
	for m := range host.Mappings(text) {
		if m.Inode != 0 && yes(m.Dev, strings.TrimSuffix(m.Path, " (deleted)")) {
			return true, nil
		}
	}
	return false, nil
}

// mapped is the file of a mapping, as /proc/PID/maps names it: on btrfs and overlayfs
// its device is another one than stat(2) says.
type mapped struct {
	dev   host.DevNumber
	inode uint64
}
