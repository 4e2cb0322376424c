package pid

import (
	"slices"

	"iocause/internal/host"
)

// inherited is what processes took over in this window from those that ended.
func (s *source) inherited(found []outcome) map[int]host.IO {
	ended := map[int]host.Ended{}
	for pid, l := range s.before {
		i, ok := slices.BinarySearchFunc(found, pid, func(o outcome, pid int) int { return o.pid - pid })
		if !ok || gone(found[i].error) || found[i].error == nil && !found[i].same && found[i].look.stat.Start != l.stat.Start {
			x := host.Ended{Parent: l.stat.Parent}
			if l.hasIO {
				x.IO = l.io
			}
			ended[pid] = x
		}
	}
	return host.Inherited(ended)
}
