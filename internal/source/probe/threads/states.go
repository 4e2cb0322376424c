package threads

// State is what a thread is doing; docs/threads.md says how each is told.
type State int

// The states, in the order of enum state in thread.bpf.h.
const (
	Unseen     State = iota
	Run              // on a processor
	ReclaimRun       // on a processor, in direct reclaim
	Runnable         // woken, waits for a processor
	Preempted        // lost the processor to another, waits for it
	Disk             // block I/O in a system call or a kernel thread
	FileSystem       // a journal commit, a log, a network file system or FUSE
	FaultDisk        // block I/O in a page fault
	Fault            // a page fault that waits for something else
	DirtyPause       // paused in balance_dirty_pages
	Reclaim          // asleep in direct reclaim
	MmapLock         // the process's mmap_lock
	KernelLock       // another lock of the kernel
	Mutex            // a contended mutex, semaphore or file lock of the program
	Futex            // another futex: condition variable, join, parked thread
	Network          // an Internet or vsock socket
	IPC              // a pipe, a Unix socket or a message queue
	Idle             // sleep, poll, select, epoll, wait for children, terminals
	Stopped          // by a signal, a debugger or the freezer
	Other            // blocked, for a reason that no rule knows
	States           // how many
)

// Key names a state for programs.
func (s State) Key() string {
	return [States]string{
		"unseen", "cpu", "reclaim_cpu", "runnable", "preempted", "disk", "filesystem", "fault_disk", "fault",
		"dirty_pause", "reclaim", "mmap_lock", "kernel_lock", "mutex", "futex", "network", "ipc", "idle", "stopped", "other",
	}[s]
}

// MarshalText implements encoding.TextMarshaler: the key.
func (s State) MarshalText() ([]byte, error) { return []byte(s.Key()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A state of a later version
// is Unseen.
func (s *State) UnmarshalText(b []byte) error {
	*s = Unseen
	for known := range States {
		if known.Key() == string(b) {
			*s = known
		}
	}
	return nil
}

// IsBusy tells whether a thread in this state has work to do and either does it
// or is held up, as far as the kernel can know: threads that wait for the
// network, another process or a condition variable may as well have none.
func (s State) IsBusy() bool {
	switch s {
	case Unseen, Futex, Network, IPC, Idle, Stopped, Other:
		return false
	}
	return true
}
