package pid

import "iocause/internal/host"

// inherited is what processes took over in this window from those that ended.
func (s *source) inherited(found []outcome) map[int]host.IO {
	ended := map[int]host.Ended{}
	i := 0
	for _, pid := range s.pids {
		for i < len(found) && found[i].pid < pid {
			i++
		}
		ok := i < len(found) && found[i].pid == pid
		if ok && found[i].same {
			continue
		}
		l := s.before[pid]
		if !ok || gone(found[i].error) || found[i].error == nil && found[i].look.stat.Start != l.stat.Start {
			x := host.Ended{Parent: l.stat.Parent}
			if l.hasIO {
				x.IO = l.io
			}
			ended[pid] = x
		}
	}
	return host.Inherited(ended)
}
