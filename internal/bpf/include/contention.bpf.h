/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The programs that see threads wait for locks of the kernel. Each object says
 * what follows: lock_begins and lock_ends, of the running thread.
 */
#pragma once
#include "compat.bpf.h"

/* include/trace/events/lock.h */
#define CONTENTION_SPIN 1
#define CONTENTION_READ 2
#define CONTENTION_WRITE 4
#define CONTENTION_RT 8
#define CONTENTION_PERCPU 16
#define CONTENTION_MUTEX 32

static __always_inline int lock_begins(u64 lock, u32 flags);
static __always_inline int lock_ends(u64 lock);

SEC("tp_btf/contention_begin")
int COUNTING(on_lock, void *lock, unsigned int flags)
{
	return lock_begins((u64)lock, flags);
}

SEC("tp_btf/contention_end")
int COUNTING(on_unlock, void *lock)
{
	return lock_ends((u64)lock);
}

/*
 * Before those tracepoints (16edd9b511a1, 5.19): the functions that are called
 * where a lock is not to be had at once. Some spin for a while before they sleep,
 * which the tracepoints tell apart and this does not.
 */
static __noinline int slow_path_begins(u64 lock, u32 flags)
{
	return lock_begins(lock, flags);
}
static __noinline int slow_path_ends(u64 lock)
{
	return lock_ends(lock);
}

#define SLOW_PATH(function, flags)                      \
	SEC("fentry/" #function)                        \
	int COUNTING(enter_##function, void *lock)      \
	{                                               \
		return slow_path_begins((u64)lock, flags); \
	}                                               \
	SEC("fexit/" #function)                         \
	int COUNTING(leave_##function, void *lock)      \
	{                                               \
		return slow_path_ends((u64)lock);       \
	}

SLOW_PATH(rwsem_down_read_slowpath, CONTENTION_READ)
SLOW_PATH(rwsem_down_write_slowpath, CONTENTION_WRITE)
SLOW_PATH(__mutex_lock_slowpath, CONTENTION_MUTEX)
SLOW_PATH(__mutex_lock_killable_slowpath, CONTENTION_MUTEX)
SLOW_PATH(__mutex_lock_interruptible_slowpath, CONTENTION_MUTEX)
