/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* From what a task has counted to the account of its process and file. */
#pragma once

#include "chunks.bpf.h"

/* Looks at the pages of the previous call that its last event left over. */
static __noinline int finish_scan(struct task *t)
{
	u64 to;

	if (!t || !t->file || t->scan == NO_SCAN)
		return 0;
	to = t->last < t->eof ? t->last : t->eof;
	count_misses(t, t->scan, to);
	t->scan = NO_SCAN;
	return 0;
}

static __noinline int publish(struct task *t, u64 way, u64 accesses, u64 calls, u64 misses)
{
	struct file_key key;
	struct account *a;

	if (!t)
		return 0;
	key = t->key;
	TOTAL(accesses, accesses);
	TOTAL(calls, calls);
	TOTAL(misses, misses);
	a = find_account(&key);
	if (!a) {
		ADD(lost_accounts, 1);
		return 0;
	}
	ADD(a->accesses, accesses);
	ADD(a->misses, misses);
	ADD(a->calls, calls);
	asm volatile("" : "+r"(way)); /* else the compiler drops the bound that the verifier wants */
	if (way < WAYS) {
		ADD(a->way_accesses[way], accesses);
		ADD(a->way_misses[way], misses);
	}
	a->size = t->size;
	return 0;
}

/* Publishes what the task has counted. */
static __noinline int flush(struct task *t)
{
	u64 accesses, misses, calls;

	if (!t || !t->file)
		return 0;
	accesses = t->accesses;
	misses = t->misses;
	calls = t->calls;
	t->accesses = 0;
	t->misses = 0;
	t->calls = 0;
	if (accesses || calls || misses)
		publish(t, t->way, accesses, calls, misses);
	return 0;
}

/* A thread's part of io_uring, since 0f2122045b94 (5.10). */
struct task_struct___uring {
	struct io_uring_task *io_uring;
} __attribute__((preserve_access_index));

/*
 * How a task reads in a call that reads nothing itself: io_uring goes on with a read as task work
 * at the end of any call, and on the way back from an interrupt. Not static: the verifier
 * looks at it once.
 */
__noinline u32 way_beside_calls(void)
{
	struct task_struct___uring *t = (void *)current_task();

	return bpf_core_field_exists(t->io_uring) && BPF_CORE_READ(t, io_uring) ? WAY_URING : WAY_READ;
}

/* How a task reads: its system call, or who it works for. */
static __always_inline u32 way_of(struct task_struct *t)
{
	u32 way;
	s64 nr;

	if (TASK(t, flags) & PF_KTHREAD)
		return WAY_KERNEL;
	if (TASK(t, flags) & PF_IO_WORKER)
		return WAY_URING;
	nr = task_syscall(t);
	if (nr < 0 || nr >= SYSCALLS)
		nr = SYSCALLS - 1; /* no call has that number */
	asm volatile("" : "+r"(nr));
	way = syscall_way[nr & (SYSCALLS - 1)];
	return way < WAYS ? way : way_beside_calls();
}
