package trace

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/view"
)

// Filter says which I/Os are wanted. All that is given must hold.
type Filter struct {
	filters.Filter
	File   string
	Min    time.Duration
	also   []string // other names of File
	byName bool     // the file cannot be chosen in the kernel: a directory, a pattern, one that is not there yet
}

// String is the filter for the header of a file; "" for none.
func (f *Filter) String() string {
	var parts []string
	add := func(name, value string, given bool) {
		if given {
			parts = append(parts, name+" "+value)
		}
	}
	add("pid", fmt.Sprint(f.PID), f.PID != 0)
	add("comm", f.Comm, f.Comm != "")
	add("cgroup", f.Cgroup, f.Cgroup != "")
	add("device", f.Device, f.Device != "")
	add("file", f.File, f.File != "")
	add("min", f.Min.String(), f.Min != 0)
	return strings.Join(parts, ", ")
}

// Options is the filter as the kernel programs take it; given are the names of
// what was asked for.
func (f *Filter) Options(h *host.Host, given []string) (o Options, err error) {
	o.Min = f.Min
	is := func(name string) bool { return slices.Contains(given, name) }
	if is("pid") {
		if o.PID, err = filters.InKernel(h, f.PID); err != nil {
			return o, err
		}
	}
	if is("comm") {
		if o.Comm, err = filters.Comm(f.Comm); err != nil {
			return o, err
		}
	}
	if is("device") {
		name, err := h.WholeDisk(f.Device)
		if err != nil {
			return o, err
		}
		devices, err := h.Devices()
		if err != nil {
			return o, err
		}
		o.Device, _ = devices.Number(name)
	}
	if is("file") {
		var st unix.Stat_t
		if err := unix.Stat(f.File, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR && strings.Contains(f.File, "/") {
			if o.File, err = filters.FileID(h, f.File); err != nil {
				return o, err
			}
		} else {
			f.byName = true
			if f.also, err = filters.OtherNames(h, f.File); err != nil {
				return o, err
			}
		}
	}
	if is("cgroup") {
		return o, f.cgroupOption(h, &o)
	}
	return o, nil
}

// Wanted tells of what the kernel could not choose; nil where it could.
func (f *Filter) Wanted() func(*sample.IO) bool {
	if !f.byName {
		return nil
	}
	return func(x *sample.IO) bool { return view.Named(x.File, f.File, f.also...) }
}

// cgroupOption finds the number of a cgroup. Requests are charged to a cgroup
// of the I/O controller; where version 1 has that in another tree, a cgroup
// that is only in the memory controller's stands for the threads in it.
func (f *Filter) cgroupOption(h *host.Host, o *Options) error {
	inside, err := filters.Cgroup(h, f.Cgroup)
	if err != nil {
		return err
	}
	controller, inode, err := h.CgroupInode(inside, "io", "blkio", "memory")
	if err != nil {
		return err
	}
	if inode == 0 {
		return fmt.Errorf("looking for cgroup %q: it is in neither the I/O nor the memory controller's tree; ask by --pid or --comm", f.Cgroup)
	}
	o.Cgroup, o.ByTask = inode, controller == "memory"
	if inside = path.Clean(inside); inside != "/" {
		o.CgroupLevel = strings.Count(inside, "/")
	}
	return nil
}

// Keeps is the filter for what is read from a file.
func (f *Filter) Keeps(x *sample.IO) bool {
	switch {
	case f.PID != 0 && x.PID != f.PID,
		f.Comm != "" && x.Comm != host.Comm(f.Comm),
		f.Device != "" && x.Disk != host.KernelName(f.Device),
		f.File != "" && !view.Named(x.File, f.File),
		x.Latency() < f.Min:
		return false
	}
	if f.Cgroup == "" {
		return true
	}
	group := path.Join("/", f.Cgroup)
	return group == "/" || x.Cgroup == group || strings.HasPrefix(x.Cgroup, group+"/")
}

// OutputFiles are the files that our own output goes to: they are not traced.
func OutputFiles(h *host.Host, files ...any) (ids []sample.FileID) {
	for _, f := range files {
		file, ok := f.(*os.File)
		if !ok || file == nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(file.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if id, err := filters.FileID(h, fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
