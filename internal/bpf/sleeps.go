package bpf

// LockSleeps are kernel functions in which a thread sleeps uninterruptibly for a lock
// of the kernel.
func LockSleeps() []string {
	return []string{
		"rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "__mutex_lock", "__mutex_lock_slowpath", "mutex_lock",
		"percpu_rwsem_wait", "__percpu_down_read", "rt_mutex_slowlock", "__rt_mutex_slowlock", "__down", "down_write", "down_read",
	}
}

// MappingSleeps are those in which it does so for the lock of a mapping.
func MappingSleeps() []string {
	return []string{
		"vma_start_write", "__vma_start_write", "vma_start_write_killable", "vma_mark_detached", "__vma_exclude_readers",
	}
}

// ReclaimSleeps are those in which it frees memory, or waits for who does.
func ReclaimSleeps() []string {
	return []string{
		"throttle_direct_reclaim", "reclaim_throttle", "shrink_inactive_list", "try_to_free_pages", "try_to_free_mem_cgroup_pages",
		"mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high",
	}
}

// ForkSleeps are those in which it waits for the process that it has started.
func ForkSleeps() []string { return []string{"wait_for_vfork_done", "kernel_clone"} }

// StoppedSleeps are those of a thread that was frozen, stopped or is traced.
func StoppedSleeps() []string {
	return []string{"do_freezer_trap", "__refrigerator", "ptrace_stop", "do_signal_stop"}
}
