package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Met tells whether such a process was observed, be it gone by now.
func (t Target) Met(w *sample.Window) bool {
	top := strings.TrimSuffix(t.Cgroup, "/") + "/"
	for _, p := range w.Processes {
		switch {
		case t.Comm != "" && p.Comm == t.Comm,
			t.Cgroup != "" && (strings.HasPrefix(p.MemoryCgroup+"/", top) || strings.HasPrefix(p.IOCgroup+"/", top)):
			return true
		}
	}
	return false
}

// Unmet says that what is asked for is not in a window, "" when it is. To find
// nobody is not to find that all is well.
func (t Target) Unmet(w *sample.Window) string {
	for _, pid := range t.PIDs {
		if _, ok := w.Processes[pid]; !ok && len(t.PIDs) == 1 {
			return fmt.Sprintf("process %d was not met", pid)
		}
	}
	switch {
	case t.Comm != "" && !Target{Comm: t.Comm}.Met(w):
		return fmt.Sprintf("no process called %q was met", t.Comm)
	case t.Cgroup != "" && !Target{Cgroup: t.Cgroup}.Met(w):
		return fmt.Sprintf("no process in cgroup %q was met", t.Cgroup)
	case t.Device != "" && !hasDevice(w, t.Device):
		return fmt.Sprintf("no device is called %q", t.Device)
	}
	return ""
}

func hasDevice(w *sample.Window, device string) bool {
	return slices.ContainsFunc([]sample.Metric{sample.DiskBusy, sample.DiskInFlight, sample.DeviceReadAhead, sample.BlockOps, sample.NetReceived}, func(m sample.Metric) bool {
		has := false
		w.Each(m, func(e sample.Entity, _ *sample.Series) { has = has || e.Device == device })
		return has
	})
}
