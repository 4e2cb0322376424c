package pid

import "slices"

// When a process has been waited for (wait(2)), the kernel adds all that it ever
// read and wrote to the figures of its parent, wait_task_zombie in kernel/exit.c.
// What it did before the window is not what the parent did in it, nor, in the
// next of several windows, to be counted twice.

// heirs are the processes whose children ended in the window, with what these had
// counted when it began. That of a process whose parent ended as well comes to
// the next one above that did not: so it is for a shell that waits for its
// commands and is waited for.
func (s *source) heirs(found []outcome) map[int]IO {
	var all map[int]IO
	lives := func(pid int, l look) bool {
		i, ok := slices.BinarySearchFunc(found, pid, func(o outcome, pid int) int { return o.pid - pid })
		return ok && (found[i].same || found[i].error != nil && !gone(found[i].error) || found[i].look.stat.Start == l.stat.Start)
	}
	for pid, l := range s.before {
		if !l.hasIO || lives(pid, l) {
			continue
		}
		parent, above := l.stat.Parent, s.before[l.stat.Parent]
		for range maxDepth {
			if parent == 0 || lives(parent, above) {
				break
			}
			parent, above = above.stat.Parent, s.before[above.stat.Parent]
		}
		if parent == 0 {
			continue
		}
		if all == nil {
			all = map[int]IO{}
		}
		all[parent] = all[parent].sum(l.io)
	}
	return all
}

// maxDepth bounds how far up the parents that ended are followed.
const maxDepth = 16

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
