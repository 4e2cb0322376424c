package bpf

// KernelLocks is waiting for locks of the kernel: at the tracepoints of an object
// with contention.bpf.h (5.19), else at the functions that are called where a lock
// is not to be had at once. A thread whose return from one the kernel does not tell
// waits until it next begins to.
func KernelLocks() Capability {
	w := Way{By: ByFunction, Grade: "exact, including the time spent spinning"}
	k := Way{By: ByKprobe, Grade: w.Grade}
	for _, f := range []string{
		"rwsem_down_read_slowpath", "rwsem_down_write_slowpath",
		"__mutex_lock_slowpath", "__mutex_lock_killable_slowpath", "__mutex_lock_interruptible_slowpath",
	} {
		w.Programs = append(w.Programs, Program{Name: "enter_" + f, Entry: f}, Program{Name: "leave_" + f, Exit: f})
		k.Programs = append(k.Programs, Program{Name: "return_" + f, Return: f}, Program{Name: "call_" + f, Call: f})
	}
	return Capability{Name: "locks", Ways: []Way{
		{By: ByTracepoint, Programs: []Program{{Name: "on_lock", Tracepoint: "contention_begin"}, {Name: "on_unlock", Tracepoint: "contention_end"}}},
		w, k,
	}}
}
