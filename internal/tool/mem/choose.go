package mem

import (
	"fmt"
	"slices"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/smaps"
	"iocause/internal/source/residency"
)

// Choice says which processes are shown: those of which all holds that is
// given.
type Choice struct {
	PIDs  []int        // nil for any
	Comm  string       // "" for any
	Below func() []int // the processes of a cgroup at this time; nil for any
	// Maps chooses processes that map such a file; nil for any.
	Maps func(dev host.DevNumber, path string) bool
	None string // what is said where no process is left; "" nothing
}

// Choose leaves out processes that are not asked for.
func (m *Memory) Choose(h *host.Host, c Choice) {
	m.chosen = true
	var below []int
	if c.Below != nil {
		below = c.Below()
	}
	failed := 0
	var first error
	m.Processes = slices.DeleteFunc(m.Processes, func(p smaps.Process) bool {
		if c.PIDs != nil && !slices.Contains(c.PIDs, p.PID) || c.Comm != "" && string(p.Comm) != c.Comm || c.Below != nil && !slices.Contains(below, p.PID) {
			return true
		}
		if c.Maps == nil {
			return false
		}
		maps, err := residency.Maps(h, p.PID, c.Maps)
		if err != nil {
			if failed++; first == nil {
				first = err
			}
		}
		return !maps
	})
	if len(m.Processes) == 0 && c.None != "" {
		m.notes = append(m.notes, c.None)
	}
	if failed > 0 {
		m.notes = append(m.notes, fmt.Sprintf("what is mapped could not be read of %s: %v", sample.Counted(failed, "process"), first))
	}
}
