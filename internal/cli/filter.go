package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/host"
)

// filter narrows the question: all that is given must hold.
type filter struct {
	pid    int
	comm   string
	cgroup string
	device string
}

// bind adds the flags of a command that shows what they choose.
func (f *filter) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&f.pid, "pid", 0, "show this process")
	flags.StringVar(&f.comm, "comm", "", "show processes of this name")
	flags.StringVar(&f.cgroup, "cgroup", "", "show processes below this cgroup")
	flags.StringVar(&f.device, "device", "", "show this block device")
}

// given are the names of the filter flags that were set.
func (f *filter) given(c *cobra.Command) []string {
	var names []string
	for _, name := range []string{"pid", "comm", "cgroup", "device"} {
		if c.Flags().Changed(name) {
			names = append(names, name)
		}
	}
	return names
}

// target checks that what the filter names exists, and writes it the way
// samples name it.
func (f *filter) target(h *host.Host, given []string) (t diagnose.Target, err error) {
	for _, name := range given {
		switch name {
		case "pid":
			var pid int
			pid, err = processOf(h, f.pid)
			t.PIDs = []int{pid}
		case "comm":
			if f.comm == "" {
				err = &usageError{fmt.Errorf("reading --comm: the name is empty"), "give a name as 'ps -o comm' shows it"}
			}
			t.Comm = commOf(f.comm)
		case "cgroup":
			t.Cgroup, err = cgroupOf(h, f.cgroup)
		case "device":
			t.Device, err = diskOf(h, f.device)
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// recordedTarget is what a filter asks for, in the words of a recording: the
// machine may be another one, or those that were meant gone.
func (f *filter) recordedTarget(given []string) (t diagnose.Target, err error) {
	for _, name := range given {
		switch name {
		case "pid":
			if f.pid <= 0 {
				return t, &usageError{fmt.Errorf("reading --pid: %d is no process id", f.pid), "give a number as 'ps' showed it"}
			}
			t.PIDs = []int{f.pid}
		case "comm":
			if f.comm == "" {
				return t, &usageError{fmt.Errorf("reading --comm: the name is empty"), "give a name as 'ps -o comm' shows it"}
			}
			t.Comm = commOf(f.comm)
		case "cgroup":
			if f.cgroup == "" {
				return t, &usageError{fmt.Errorf("reading --cgroup: the path is empty"), "give a path as /proc/PID/cgroup shows it"}
			}
			t.Cgroup = path.Join("/", f.cgroup)
		case "device":
			if f.device == "" {
				return t, &usageError{fmt.Errorf("reading --device: the name is empty"), "give a name as 'lsblk' shows it"}
			}
			t.Device = strings.ReplaceAll(strings.TrimPrefix(f.device, "/dev/"), "/", "!")
		}
	}
	return t, nil
}

// onePID is the process that is asked for, 0 for all.
func onePID(t *diagnose.Target) int {
	if len(t.PIDs) == 0 {
		return 0
	}
	return t.PIDs[0]
}

// noAnswer is a filter that a command has no answer for.
type noAnswer struct {
	by      string   // with rows by this, "" with any
	flags   []string // of pid, comm, cgroup, device, file
	why     string
	instead string
}

// refused fails for a filter that was given and is without meaning: to show
// everything as though it had been narrowed would be wrong.
func refused(c *cobra.Command, refusals []noAnswer, by string) error {
	for _, r := range refusals {
		if r.by != "" && r.by != by {
			continue
		}
		for _, name := range r.flags {
			if c.Flags().Changed(name) {
				return &usageError{fmt.Errorf("reading --%s: %s", name, r.why), r.instead}
			}
		}
	}
	return nil
}

// processOf is the process that a process or thread id belongs to.
func processOf(h *host.Host, id int) (int, error) {
	if id <= 0 {
		return 0, &usageError{fmt.Errorf("reading --pid: %d is no process id", id), "give a number as 'ps' shows it"}
	}
	text, err := os.ReadFile(h.Proc(strconv.Itoa(id), "status"))
	if err != nil {
		return 0, fmt.Errorf("looking for process %d: %w; see 'ps -e' for those that run", id, err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return pid, nil
			}
		}
	}
	return id, nil
}

// commOf cuts a name where the kernel does: comm holds 15 bytes.
func commOf(name string) string {
	const most = 15
	if len(name) > most {
		return name[:most]
	}
	return name
}

// cgroupOf is a cgroup's path inside its hierarchy. It may be given as the
// directory that it is seen as, too.
func cgroupOf(h *host.Host, name string) (string, error) {
	if name == "" {
		return "", &usageError{fmt.Errorf("reading --cgroup: the path is empty"), "give a path as /proc/PID/cgroup shows it"}
	}
	if _, err := h.Cgroups(); err != nil {
		return "", fmt.Errorf("looking for cgroup %q: %w; mount the cgroup file system", name, err)
	}
	trees := hierarchies(h)
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

// hierarchies are the mounted cgroup trees that processes are named by.
func hierarchies(h *host.Host) []host.Hierarchy {
	cgroups, err := h.Cgroups()
	if err != nil {
		return nil
	}
	var trees []host.Hierarchy
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

// diskOf is the whole disk of a block device, given by its name, the name of a
// partition or a path below /dev.
func diskOf(h *host.Host, name string) (string, error) {
	short := name
	if strings.HasPrefix(name, "/") {
		if real, err := filepath.EvalSymlinks(name); err == nil { // /dev/disk/by-uuid, /dev/mapper
			short = real
		}
		short = strings.ReplaceAll(strings.TrimPrefix(short, "/dev/"), "/", "!")
	}
	devices, err := h.Devices()
	if err != nil {
		return "", fmt.Errorf("looking for block device %q: %w; see 'lsblk'", name, err)
	}
	for _, d := range devices.All() {
		if d.Name == short {
			return d.Disk, nil
		}
	}
	return "", fmt.Errorf("looking for block device %q: no such device; see 'lsblk'", name)
}
