package cli

import (
	"fmt"
	"path"

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
			t.Comm, err = commOf(f.comm)
		case "cgroup":
			t.Cgroup, err = cgroupOf(h, f.cgroup)
		case "device":
			t.Device, err = h.WholeDisk(f.device)
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
			if t.Comm, err = commOf(f.comm); err != nil {
				return t, err
			}
		case "cgroup":
			if f.cgroup == "" {
				return t, &usageError{fmt.Errorf("reading --cgroup: the path is empty"), "give a path as /proc/PID/cgroup shows it"}
			}
			t.Cgroup = path.Join("/", f.cgroup)
		case "device":
			if f.device == "" {
				return t, &usageError{fmt.Errorf("reading --device: the name is empty"), "give a name as 'lsblk' shows it"}
			}
			t.Device = host.KernelName(f.device)
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
	return h.ProcessOf(id)
}

// cgroupOf is a cgroup's path inside its hierarchy.
func cgroupOf(h *host.Host, name string) (string, error) {
	if name == "" {
		return "", &usageError{fmt.Errorf("reading --cgroup: the path is empty"), "give a path as /proc/PID/cgroup shows it"}
	}
	return h.CgroupPath(name)
}

// commOf is a name as the kernel has it.
func commOf(name string) (string, error) {
	if name == "" {
		return "", &usageError{fmt.Errorf("reading --comm: the name is empty"), "give a name as 'ps -o comm' shows it"}
	}
	return host.Comm(name), nil
}

// nobody says that no process is one of those that the question is about: "no
// process is called x". It is "" when there is one, or when it cannot be known.
// To find nobody is not to find that all is well.
func nobody(h *host.Host, t diagnose.Target) string {
	switch {
	case t.Comm != "":
		if pids, err := h.Named(t.Comm); err == nil && len(pids) == 0 {
			return fmt.Sprintf("no process is called %q", t.Comm)
		}
	case t.Cgroup != "" && !h.AnyBelow(t.Cgroup):
		return fmt.Sprintf("no process is in cgroup %q", t.Cgroup)
	}
	return ""
}
