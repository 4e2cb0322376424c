package cli

import (
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/tool/trace"
	"iocause/internal/view"
)

// ioFilter says which I/Os are wanted. All that are given must hold.
type ioFilter struct {
	pid                        int
	comm, cgroup, device, file string
	min                        time.Duration
	byName                     string // file, where the kernel cannot choose it: a directory, a pattern, one that is not there yet
}

func (f *ioFilter) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&f.pid, "pid", 0, "only I/Os that this process asked for")
	flags.StringVar(&f.comm, "comm", "", "only I/Os that a thread of this name asked for")
	flags.StringVar(&f.cgroup, "cgroup", "", "only I/Os of this cgroup and those below it")
	flags.StringVar(&f.device, "device", "", "only I/Os on the disk of this block device")
	flags.StringVar(&f.file, "file", "", "only I/Os for a file, what is below a directory,\nor a pattern")
	flags.Var(timeIn(&f.min, 0), "min", "only I/Os that took so long (10ms) or longer")
}

// String is the filter for the header of a file; "" for none.
func (f *ioFilter) String() string {
	var parts []string
	add := func(name, value string, given bool) {
		if given {
			parts = append(parts, name+" "+value)
		}
	}
	add("pid", fmt.Sprint(f.pid), f.pid != 0)
	add("comm", f.comm, f.comm != "")
	add("cgroup", f.cgroup, f.cgroup != "")
	add("device", f.device, f.device != "")
	add("file", f.file, f.file != "")
	add("min", f.min.String(), f.min != 0)
	return strings.Join(parts, ", ")
}

// options is the filter as the kernel programs take it.
func (f *ioFilter) options(h *host.Host, c *cobra.Command) (o trace.Options, err error) {
	o.Min = f.min
	given := c.Flags().Changed
	if given("pid") {
		if o.PID, err = processOf(h, f.pid); err != nil {
			return o, err
		}
	}
	if given("comm") {
		if o.Comm, err = commOf(f.comm); err != nil {
			return o, err
		}
	}
	if given("device") {
		name, err := h.WholeDisk(f.device)
		if err != nil {
			return o, err
		}
		devices, err := h.Devices()
		if err != nil {
			return o, err
		}
		o.Device, _ = devices.Number(name)
	}
	if given("file") {
		var st unix.Stat_t
		if err := unix.Stat(f.file, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR && strings.Contains(f.file, "/") {
			o.File = fileID(&st)
		} else {
			f.byName = f.file
		}
	}
	if given("cgroup") {
		return o, f.cgroupOption(h, &o)
	}
	return o, nil
}

func fileID(st *unix.Stat_t) sample.FileID {
	return sample.FileID{Dev: uint32(host.MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev))), Ino: st.Ino}
}

// cgroupOption finds the number of a cgroup. Requests are charged to a cgroup
// of the I/O controller; where version 1 has that in another tree, a cgroup
// that is only in the memory controller's stands for the threads in it.
func (f *ioFilter) cgroupOption(h *host.Host, o *trace.Options) error {
	inside, err := cgroupOf(h, f.cgroup)
	if err != nil {
		return err
	}
	controller, inode, err := h.CgroupInode(inside, "io", "blkio", "memory")
	if err != nil {
		return err
	}
	if inode == 0 {
		return fmt.Errorf("looking for cgroup %q: it is in neither the I/O nor the memory controller's tree; ask by --pid or --comm", f.cgroup)
	}
	o.Cgroup, o.ByTask = inode, controller == "memory"
	if inside = path.Clean(inside); inside != "/" {
		o.CgroupLevel = strings.Count(inside, "/")
	}
	return nil
}

// keeps is the filter for what is read from a file.
func (f *ioFilter) keeps(x *sample.IO) bool {
	switch {
	case f.pid != 0 && x.PID != f.pid,
		f.comm != "" && x.Comm != host.Comm(f.comm),
		f.device != "" && x.Disk != host.KernelName(f.device),
		f.file != "" && !view.Named(x.File, f.file),
		x.Latency() < f.min:
		return false
	}
	if f.cgroup == "" {
		return true
	}
	group := path.Join("/", f.cgroup)
	return group == "/" || x.Cgroup == group || strings.HasPrefix(x.Cgroup, group+"/")
}

// outputFiles are the files that our own output goes to: they are not traced.
func outputFiles(files ...any) (ids []sample.FileID) {
	for _, f := range files {
		file, ok := f.(*os.File)
		if !ok || file == nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(file.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			ids = append(ids, fileID(&st))
		}
	}
	return ids
}
