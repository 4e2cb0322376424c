// Package filters has what narrows a question: the processes, cgroups, files and
// devices that people name, found on this machine, or put as a recording names
// them.
package filters

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
	"iocause/internal/host"
)

// Filter narrows a question: all that is given must hold.
type Filter struct {
	PID    int
	Comm   string
	Cgroup string
	Device string
}

// Names are what a filter is made of, as flags and Target call it.
func Names() []string { return []string{"pid", "comm", "cgroup", "device"} }

// Target checks that what the filter names exists, and writes it the way
// samples name it. given are the names of what was asked for.
func (f *Filter) Target(h *host.Host, given []string) (t diagnose.Target, err error) {
	for _, name := range given {
		switch name {
		case "pid":
			var pid int
			pid, err = InKernel(h, f.PID)
			t.PIDs = []int{pid}
		case "comm":
			t.Comm, err = Comm(f.Comm)
		case "cgroup":
			t.Cgroup, err = Cgroup(h, f.Cgroup)
		case "device":
			t.Device, err = h.WholeDisk(f.Device)
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// TargetInProc is the same for what /proc alone tells.
func (f *Filter) TargetInProc(h *host.Host, given []string) (diagnose.Target, error) {
	t, err := f.Target(h, slices.DeleteFunc(slices.Clone(given), func(name string) bool { return name == "pid" }))
	if err == nil && slices.Contains(given, "pid") {
		var pid int
		pid, err = Process(h, f.PID)
		t.PIDs = []int{pid}
	}
	return t, err
}

// Recorded is what a filter asks for, in the words of a recording: the machine
// may be another one, or those that were meant gone.
func (f *Filter) Recorded(given []string) (t diagnose.Target, err error) {
	for _, name := range given {
		switch name {
		case "pid":
			if f.PID <= 0 {
				return t, &ask.Error{Err: fmt.Errorf("reading --pid: %d is not a process id", f.PID), Next: "give a number as 'ps' showed it"}
			}
			t.PIDs = []int{f.PID}
		case "comm":
			if t.Comm, err = Comm(f.Comm); err != nil {
				return t, err
			}
		case "cgroup":
			if f.Cgroup == "" {
				return t, &ask.Error{Err: errors.New("reading --cgroup: the path is empty"), Next: "give a path as /proc/PID/cgroup shows it"}
			}
			t.Cgroup = path.Join("/", f.Cgroup)
		case "device":
			if f.Device == "" {
				return t, &ask.Error{Err: errors.New("reading --device: the name is empty"), Next: "give a name as 'lsblk' shows it"}
			}
			t.Device = host.KernelName(f.Device)
		}
	}
	return t, nil
}

// Words are the filters that are given, as they were.
func (f *Filter) Words(given []string) string {
	for _, name := range given {
		return "--" + name + " " + map[string]string{"pid": fmt.Sprint(f.PID), "comm": f.Comm, "cgroup": f.Cgroup, "device": f.Device}[name]
	}
	return ""
}

// OnePID is the process that is asked for, 0 for all.
func OnePID(t *diagnose.Target) int {
	if len(t.PIDs) == 0 {
		return 0
	}
	return t.PIDs[0]
}

// Process is the process that a process or thread id belongs to.
func Process(h *host.Host, id int) (int, error) {
	if id <= 0 {
		return 0, &ask.Error{Err: fmt.Errorf("reading --pid: %d is not a process id", id), Next: "give a number as 'ps' shows it"}
	}
	return h.ProcessOf(id)
}

// InKernel is the same where the kernel's programs are asked about it.
func InKernel(h *host.Host, id int) (int, error) {
	if h.HasOwnPIDs() {
		return 0, &ask.Error{Err: fmt.Errorf("reading --pid: %s", host.NumbersApart), Next: host.SharePIDs + ", or select by --comm or --cgroup"}
	}
	return Process(h, id)
}

// Cgroup is a cgroup's path inside its hierarchy.
func Cgroup(h *host.Host, name string) (string, error) {
	if name == "" {
		return "", &ask.Error{Err: errors.New("reading --cgroup: the path is empty"), Next: "give a path as /proc/PID/cgroup shows it"}
	}
	return h.CgroupPath(name)
}

// Comm is a name as the kernel has it.
func Comm(name string) (string, error) {
	if name == "" {
		return "", &ask.Error{Err: errors.New("reading --comm: the name is empty"), Next: "give a name as 'ps -o comm' shows it"}
	}
	return host.Comm(name), nil
}

// Nobody says that no process is one of those that the question is about: "no
// process is called x". It is "" when there is one, or when it cannot be known.
// To find nobody is not to find that all is well.
func Nobody(h *host.Host, t diagnose.Target) string {
	switch {
	case t.Comm != "":
		if pids, err := h.Named(t.Comm); err == nil && len(pids) == 0 {
			return fmt.Sprintf("there is no process called %q", t.Comm)
		}
	case t.Cgroup != "" && !h.AnyBelow(t.Cgroup):
		return fmt.Sprintf("there is no process in cgroup %q", t.Cgroup)
	}
	return ""
}

// Processes are those whose files are asked for: all that is given must hold.
// pids are those of --pid.
func (f *Filter) Processes(h *host.Host, pids []int, given []string) ([]int, error) {
	var lists [][]int
	if len(pids) > 0 {
		lists = append(lists, slices.Clone(pids))
	}
	if slices.Contains(given, "cgroup") {
		inside, err := Cgroup(h, f.Cgroup)
		if err != nil {
			return nil, err
		}
		list := h.Below(inside)
		if len(list) == 0 {
			return nil, fmt.Errorf("looking for files of cgroup %q: no process is in it or below it; what it has read may still be cached: try iocause resident --all", inside)
		}
		lists = append(lists, list)
	}
	if slices.Contains(given, "comm") {
		name, err := Comm(f.Comm)
		if err != nil {
			return nil, err
		}
		list, err := h.Named(name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("looking for processes named %q: none runs; see 'ps -e -o comm'", f.Comm)
		}
		lists = append(lists, list)
	}
	var wanted []int
	for i, list := range lists {
		if i == 0 {
			wanted = list
			continue
		}
		wanted = slices.DeleteFunc(wanted, func(pid int) bool { return !slices.Contains(list, pid) })
	}
	if len(lists) > 0 && len(wanted) == 0 {
		return nil, errors.New("looking for the processes: none matches all filters; leave out one of --pid, --comm and --cgroup")
	}
	return wanted, nil
}
