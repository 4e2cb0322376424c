package host

// IO is what /proc/PID/io tells (proc_pid_io(5)): what the process, its ended
// threads and the children that it waited for did since they began, in bytes and
// calls.
type IO struct {
	ReadChars, WriteChars uint64
	ReadCalls, WriteCalls uint64
	ReadBytes, WriteBytes uint64 // from and to devices
	CancelledWriteBytes   uint64 // dirtied and then truncated away
}

// Ended is a process that ended in a window: its parent, and what it had done
// when the window began.
type Ended struct {
	Parent int
	IO     IO
}

// Inherited is what processes took over in a window from those that ended in it,
// by those that did: the kernel adds what a process ever read and wrote to the
// figures of the parent that waits for it (wait(2); wait_task_zombie in
// kernel/exit.c). What it did before the window is not what its parent did in
// it, nor, in the next of several windows, to be counted twice.
func Inherited(ended map[int]Ended) map[int]IO {
	all := map[int]IO{}
	for pid, x := range ended {
		parent := reaper(ended, pid)
		all[parent] = all[parent].plus(x.IO)
	}
	return all
}

// maxAbove bounds how far up parents that ended are followed.
const maxAbove = 16

// reaper is the process that takes over what an ended one had read and written.
// Where its parent ended as well, it is the next one above that did not, as for a
// shell that waits for its commands and is waited for; 0 where there is none.
func reaper(ended map[int]Ended, pid int) int {
	parent := ended[pid].Parent
	for range maxAbove {
		above, also := ended[parent]
		if !also || parent == 0 {
			return parent
		}
		parent = above.Parent
	}
	return 0
}

// With is x, the figures at the beginning of a window, with what the process took
// over from children in it. Where they were not waited for, as the parent ignores
// SIGCHLD, it took nothing over: then now, its figures at the end, may be less.
func (x IO) With(children, now IO) IO {
	sum := x.plus(children)
	if sum.ReadChars > now.ReadChars || sum.WriteChars > now.WriteChars || sum.ReadCalls > now.ReadCalls ||
		sum.WriteCalls > now.WriteCalls || sum.ReadBytes > now.ReadBytes || sum.WriteBytes > now.WriteBytes {
		return x
	}
	return sum
}

func (x IO) plus(y IO) IO {
	return IO{
		ReadChars: x.ReadChars + y.ReadChars, WriteChars: x.WriteChars + y.WriteChars,
		ReadCalls: x.ReadCalls + y.ReadCalls, WriteCalls: x.WriteCalls + y.WriteCalls,
		ReadBytes: x.ReadBytes + y.ReadBytes, WriteBytes: x.WriteBytes + y.WriteBytes,
		CancelledWriteBytes: x.CancelledWriteBytes + y.CancelledWriteBytes,
	}
}
