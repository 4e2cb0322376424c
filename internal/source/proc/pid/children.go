package pid

import (
	"slices"

	"iocause/internal/host"
)

// A process that waits for the end of another takes over all that this ever read
// and wrote (host.Heir). What that did before the window is not what its parent
// did in it, nor, in the next of several windows, to be counted twice.

// heirs are the processes that took such figures over in the window, with those
// of its beginning.
func (s *source) heirs(found []outcome) map[int]IO {
	ended := map[int]int{}
	for pid, l := range s.before {
		i, ok := slices.BinarySearchFunc(found, pid, func(o outcome, pid int) int { return o.pid - pid })
		if !ok || gone(found[i].error) || found[i].error == nil && !found[i].same && found[i].look.stat.Start != l.stat.Start {
			ended[pid] = l.stat.Parent
		}
	}
	all := map[int]IO{}
	for pid := range ended {
		if l := s.before[pid]; l.hasIO {
			heir := host.Heir(ended, pid)
			all[heir] = all[heir].sum(l.io)
		}
	}
	return all
}

// plus is x with what a process took over from its children. Where they were not
// waited for, as the parent ignores SIGCHLD, it took nothing over: then now, its
// figures at the end of the window, may be less than that.
func (x IO) plus(children IO, now *IO) IO {
	sum := x.sum(children)
	if sum.ReadChars > now.ReadChars || sum.WriteChars > now.WriteChars || sum.ReadCalls > now.ReadCalls ||
		sum.WriteCalls > now.WriteCalls || sum.ReadBytes > now.ReadBytes || sum.WriteBytes > now.WriteBytes {
		return x
	}
	return sum
}

func (x IO) sum(y IO) IO {
	return IO{
		ReadChars: x.ReadChars + y.ReadChars, WriteChars: x.WriteChars + y.WriteChars,
		ReadCalls: x.ReadCalls + y.ReadCalls, WriteCalls: x.WriteCalls + y.WriteCalls,
		ReadBytes: x.ReadBytes + y.ReadBytes, WriteBytes: x.WriteBytes + y.WriteBytes,
		CancelledWriteBytes: x.CancelledWriteBytes + y.CancelledWriteBytes,
	}
}
