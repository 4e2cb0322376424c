package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/smaps"
	"iocause/internal/source/residency"
)

// memFilter makes what leaves out processes that are not asked for, and says
// what it could not tell; nil without a filter.
func (a *app) memFilter(c *cobra.Command, o *memOptions) (func([]smaps.Process) ([]smaps.Process, []string, error), error) {
	files, err := newFileFilter(a.host, c, o.file, o.filter.device)
	if err != nil {
		return nil, err
	}
	given := o.filter.given(c)
	byFile := files.narrow()
	given = slices.DeleteFunc(given, func(name string) bool { return name == "device" })
	if len(given) == 0 && !byFile {
		return nil, nil
	}
	target, err := o.filter.target(a.host, given)
	if err != nil {
		return nil, err
	}
	return func(all []smaps.Process) (some []smaps.Process, notes []string, err error) {
		var below []int
		if target.Cgroup != "" {
			below = processesBelow(a.host, target.Cgroup)
		}
		failed := 0
		var first error
		for _, x := range all {
			if len(target.PIDs) > 0 && !slices.Contains(target.PIDs, x.PID) || target.Comm != "" && x.Comm != target.Comm ||
				target.Cgroup != "" && !slices.Contains(below, x.PID) {
				continue
			}
			if byFile {
				maps, err := residency.Maps(a.host, x.PID, func(dev host.DevNumber, path string) bool { return files.named(path) && files.on(dev) })
				if err != nil {
					if failed++; first == nil {
						first = err
					}
				}
				if !maps {
					continue
				}
			}
			some = append(some, x)
		}
		if failed > 0 {
			notes = append(notes, fmt.Sprintf("what is mapped could not be read of %s: %v", sample.Counted(failed, "process"), first))
		}
		return some, notes, nil
	}, nil
}
