/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The programs that see threads wait for locks of the kernel.
 */
#pragma once
#include "kprobe.bpf.h"

/* include/trace/events/lock.h */
#define CONTENTION_SPIN 1
#define CONTENTION_READ 2
#define CONTENTION_WRITE 4
#define CONTENTION_RT 8
#define CONTENTION_PERCPU 16
#define CONTENTION_MUTEX 32

/* One of the functions that are called where a lock is not to be had at once. */
#define SLOW_PATH(function, flags)                                             \
	SEC("fentry/" #function)                                               \
	int COUNTING(enter_##function, void *lock)                             \
	{                                                                      \
		return slow_path_begins((u64)lock, flags);                     \
	}                                                                      \
	SEC("fexit/" #function)                                                \
	int COUNTING(leave_##function, void *lock)                             \
	{                                                                      \
		return slow_path_ends((u64)lock);                              \
	}                                                                      \
	SEC("kprobe")                                                          \
	int COUNTING_CALL(call_##function)                                     \
	{                                                                      \
		return slow_path_begins(ARGUMENT0(ctx), flags);                \
	}                                                                      \
	SEC("kprobe")                                                          \
	int COUNTING_CALL(return_##function)                                   \
	{                                                                      \
		return slow_path_ends(slow_path_lock());                       \
	}

/*
 * The programs of an object that does begins(lock, flags) when the running thread
 * begins to wait, and ends(lock) when it has the lock: at the tracepoints, and for
 * kernels before those (16edd9b511a1, 5.19) at the slow paths. Some of these spin
 * for a while before they sleep, which the tracepoints tell apart and they do not.
 * Where a kprobe sees a slow path return, the lock is what waits_for() has of the thread.
 */
#define CONTENTION_PROGRAMS(begins, ends, waits_for)                           \
	SEC("tp_btf/contention_begin")                                         \
	int COUNTING(on_lock, void *lock, unsigned int flags)                  \
	{                                                                      \
		return begins((u64)lock, flags);                               \
	}                                                                      \
	SEC("tp_btf/contention_end")                                           \
	int COUNTING(on_unlock, void *lock)                                    \
	{                                                                      \
		return ends((u64)lock);                                        \
	}                                                                      \
	static __noinline int slow_path_begins(u64 lock, u32 flags)            \
	{                                                                      \
		return begins(lock, flags);                                    \
	}                                                                      \
	static __noinline int slow_path_ends(u64 lock)                         \
	{                                                                      \
		return ends(lock);                                             \
	}                                                                      \
	static __noinline u64 slow_path_lock(void)                             \
	{                                                                      \
		return waits_for();                                            \
	}                                                                      \
	SLOW_PATH(rwsem_down_read_slowpath, CONTENTION_READ)                   \
	SLOW_PATH(rwsem_down_write_slowpath, CONTENTION_WRITE)                 \
	SLOW_PATH(__mutex_lock_slowpath, CONTENTION_MUTEX)                     \
	SLOW_PATH(__mutex_lock_killable_slowpath, CONTENTION_MUTEX)            \
	SLOW_PATH(__mutex_lock_interruptible_slowpath, CONTENTION_MUTEX)
