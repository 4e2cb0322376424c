package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// ErrNoCgroup says that a controller cannot be used here.
var ErrNoCgroup = errors.New("no cgroup controller")

// Limits is what a cgroup holds its processes to; zero fields do not limit.
type Limits struct {
	Memory     int64 // bytes
	Swappiness string
	Device     string // "major:minor" of the whole device that the next four are about
	ReadBPS    int64
	WriteBPS   int64
	ReadIOPS   int64
	WriteIOPS  int64
	CPUs       float64 // processors that it may use at once, on average
}

func (l *Limits) memory() bool { return l.Memory > 0 || l.Swappiness != "" }
func (l *Limits) io() bool {
	return l.ReadBPS > 0 || l.WriteBPS > 0 || l.ReadIOPS > 0 || l.WriteIOPS > 0
}

// Cgroup is one cgroup, which on v1 is a folder in each hierarchy it needs.
type Cgroup struct {
	Path   string // inside the hierarchy of the first folder
	Memory string // folder with the memory controller, "" when not limited
	IO     string // folder with blkio or io, "" when not limited
	CPU    string // folder with cpu, "" when not limited
	v2     bool
}

// folders are those to join, each once.
func (c *Cgroup) folders() []string {
	var all []string
	for _, f := range []string{c.Memory, c.IO, c.CPU} {
		if f != "" && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// Join puts a process that runs into the cgroup.
func (c *Cgroup) Join(pid int) error {
	for _, f := range c.folders() {
		if err := WriteLimit(f, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// place is where new cgroups of a controller can be made.
type place struct {
	dir  string // folder of our own cgroup, or of the nearest one above that may have limited children
	path string // the same inside the hierarchy
	v2   bool
}

// Cgroup makes a cgroup below our own one.
func (e *Env) Cgroup(name string, l *Limits) (*Cgroup, error) {
	c := &Cgroup{}
	for _, part := range []struct {
		need   bool
		v1, v2 string
		folder *string
		set    func(dir string, v2 bool, l *Limits) error
	}{
		{l.memory(), "memory", "memory", &c.Memory, limitMemory},
		{l.io(), "blkio", "io", &c.IO, limitIO},
		{l.CPUs > 0, "cpu", "cpu", &c.CPU, limitCPU},
	} {
		if !part.need {
			continue
		}
		at, err := findPlace(e.host, part.v1, part.v2)
		if err != nil {
			return nil, err
		}
		c.v2 = at.v2
		dir := filepath.Join(at.dir, e.name+"-"+name)
		if c.Path == "" {
			c.Path = filepath.Join(at.path, e.name+"-"+name)
		}
		*part.folder = dir
		if err := e.journal.add(record{Kind: "cgroup", Path: dir}); err != nil {
			return nil, err
		}
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make a cgroup: %w", err)
		}
		if err := part.set(dir, at.v2, l); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Lift takes a limit of the cgroup away: of "memory", "io" on a device or "cpu".
func (c *Cgroup) Lift(controller, device string) error {
	type file struct{ v1, v2, off1, off2 string }
	all := map[string][]file{
		"memory": {{"memory.limit_in_bytes", "memory.max", "-1", "max"}},
		"cpu":    {{"cpu.cfs_quota_us", "cpu.max", "-1", "max"}},
		"io": {
			{"blkio.throttle.read_bps_device", "io.max", device + " 0", device + " rbps=max wbps=max riops=max wiops=max"},
			{"blkio.throttle.write_bps_device", "", device + " 0", ""},
			{"blkio.throttle.read_iops_device", "", device + " 0", ""},
			{"blkio.throttle.write_iops_device", "", device + " 0", ""},
		},
	}
	dir := map[string]string{"memory": c.Memory, "cpu": c.CPU, "io": c.IO}[controller]
	for _, f := range all[controller] {
		name, off := f.v1, f.off1
		if c.v2 {
			name, off = f.v2, f.off2
		}
		if name == "" {
			continue
		}
		if err := WriteLimit(dir, name, off); err != nil {
			return err
		}
	}
	return nil
}

// Limit sets limits on the folders that the cgroup has; zero fields stay as they are.
func (c *Cgroup) Limit(l *Limits) error {
	var errs []error
	if c.Memory != "" && l.memory() {
		errs = append(errs, limitMemory(c.Memory, c.v2, l))
	}
	if c.IO != "" && l.io() {
		errs = append(errs, limitIO(c.IO, c.v2, l))
	}
	if c.CPU != "" && l.CPUs > 0 {
		errs = append(errs, limitCPU(c.CPU, c.v2, l))
	}
	return errors.Join(errs...)
}

func limitMemory(dir string, v2 bool, l *Limits) error {
	files := map[bool][2]string{false: {"memory.limit_in_bytes", "memory.swappiness"}, true: {"memory.max", ""}}[v2]
	if l.Memory > 0 {
		if err := lowerMemory(dir, files[0], l.Memory); err != nil {
			return err
		}
	}
	if l.Swappiness != "" && files[1] != "" { // v2 has one swappiness for all
		return WriteLimit(dir, files[1], l.Swappiness)
	}
	return nil
}

// lowerMemory sets a limit below what is used. cgroup v1 refuses with EBUSY while too
// little can be freed at once, as where pages are being read or written.
func lowerMemory(dir, file string, limit int64) error {
	const most, pause = 5 * time.Second, 100 * time.Millisecond
	for begun := time.Now(); ; time.Sleep(pause) {
		err := WriteLimit(dir, file, strconv.FormatInt(limit, 10))
		if !errors.Is(err, unix.EBUSY) || time.Since(begun) > most {
			return err
		}
	}
}

func limitIO(dir string, v2 bool, l *Limits) error {
	var all []string
	for _, x := range []struct {
		v1, v2 string
		value  int64
	}{
		{"blkio.throttle.read_bps_device", "rbps", l.ReadBPS},
		{"blkio.throttle.write_bps_device", "wbps", l.WriteBPS},
		{"blkio.throttle.read_iops_device", "riops", l.ReadIOPS},
		{"blkio.throttle.write_iops_device", "wiops", l.WriteIOPS},
	} {
		if x.value == 0 {
			continue
		}
		all = append(all, fmt.Sprintf("%s=%d", x.v2, x.value))
		if !v2 {
			if err := WriteLimit(dir, x.v1, fmt.Sprintf("%s %d", l.Device, x.value)); err != nil {
				return err
			}
		}
	}
	if v2 {
		return WriteLimit(dir, "io.max", l.Device+" "+strings.Join(all, " "))
	}
	return nil
}

func limitCPU(dir string, v2 bool, l *Limits) error {
	const period = 100_000 // microseconds, the kernel's own choice
	quota := strconv.FormatInt(int64(l.CPUs*period), 10)
	// what else runs on the machine comes last, so that only the limit counts
	if v2 {
		return errors.Join(WriteLimit(dir, "cpu.max", fmt.Sprintf("%s %d", quota, period)), WriteLimit(dir, "cpu.weight", "10000"))
	}
	return errors.Join(WriteLimit(dir, "cpu.cfs_quota_us", quota), WriteLimit(dir, "cpu.shares", "262144"))
}

// WriteLimit writes a file of a cgroup, and waits until memory has been freed for it: os
// opens such files with O_NONBLOCK, and with that a lower memory.max frees nothing since
// c8e6002bd611 (6.16) before the cgroup asks for more.
func WriteLimit(dir, file, value string) error {
	fd, err := unix.Open(filepath.Join(dir, file), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(value))
		err = errors.Join(err, unix.Close(fd))
	}
	if err != nil {
		return fmt.Errorf("set %s of a cgroup to %q: %w", file, value, err)
	}
	return nil
}

// findPlace looks for a controller in the v1 hierarchies first: a controller
// is in one place only.
func findPlace(h *host.Host, v1, v2 string) (*place, error) {
	mounted, err := h.Cgroups()
	if err != nil {
		return nil, err
	}
	own, err := ownCgroups(h)
	if err != nil {
		return nil, err
	}
	if tree, ok := mounted.Controller(v1); ok && !tree.V2 {
		return &place{dir: filepath.Join(tree.Dir, own[v1]), path: own[v1]}, nil
	}
	if mounted.Unified == nil {
		return nil, fmt.Errorf("%w: cgroups are not mounted", ErrNoCgroup)
	}
	// A cgroup with processes in it cannot have limited children, except for
	// the root: go up until one can.
	for path := own[""]; ; path = filepath.Dir(path) {
		dir := filepath.Join(mounted.Unified.Dir, path)
		if hasWord(filepath.Join(dir, "cgroup.subtree_control"), v2) {
			return &place{dir: dir, path: path, v2: true}, nil
		}
		if hasWord(filepath.Join(dir, "cgroup.controllers"), v2) &&
			os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+v2), 0) == nil {
			return &place{dir: dir, path: path, v2: true}, nil
		}
		if path == "/" || path == "." {
			return nil, fmt.Errorf("%w %s for new cgroups", ErrNoCgroup, v2)
		}
	}
}

// ownCgroups maps controllers to our own cgroup's path; "" is the v2 hierarchy.
func ownCgroups(h *host.Host) (procfile.Cgroups, error) {
	own, err := procfile.ReadCgroups(h.Proc("self", "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("find our own cgroup: %w", err)
	}
	return own, nil
}

// OwnMemoryCgroup is the path of the memory cgroup that we are in, "" where that
// cannot be read.
func OwnMemoryCgroup(h *host.Host) string {
	own, err := ownCgroups(h)
	if err != nil {
		return ""
	}
	return own.Memory()
}

func hasWord(file, word string) bool {
	b, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

// DeviceOf is the whole block device under a path: its kernel name and its
// "major:minor".
func DeviceOf(h *host.Host, path string) (name, number string, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", "", fmt.Errorf("find the device of %s: %w", path, err)
	}
	dev := st.Dev
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		dev = st.Rdev
	}
	link := h.Sys("dev/block", fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)))
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", "", fmt.Errorf("find the device of %s: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	b, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return "", "", fmt.Errorf("find the device of %s: %w", path, err)
	}
	return filepath.Base(dir), string(bytes.TrimSpace(b)), nil
}
