package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// In tells whether such a process is in a window, be it gone by now.
func (t Target) In(w *sample.Window) bool {
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

// Missing says that what is asked for is not in a window, "" when it is. To find
// nobody is not to find that all is well.
func (t Target) Missing(w *sample.Window) string {
	for _, pid := range t.PIDs {
		if _, ok := w.Processes[pid]; !ok && len(t.PIDs) == 1 {
			return fmt.Sprintf("there is no process %d", pid)
		}
	}
	switch {
	case t.Comm != "" && !Target{Comm: t.Comm}.In(w):
		return fmt.Sprintf("there is no process called %q", t.Comm)
	case t.Cgroup != "" && !Target{Cgroup: t.Cgroup}.In(w):
		return fmt.Sprintf("there is no process in cgroup %q", t.Cgroup)
	case t.Device != "" && !hasDevice(w, t.Device):
		return fmt.Sprintf("there is no device called %q", t.Device)
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
