/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Programs at tracepoints that threads pass with preemption on, and at functions. Since
 * a46023d5616e (7.0) the kernel may preempt one there, and passes over it on that
 * processor until it is over, for all other threads. So the loader attaches two of each in a row: the
 * first notes with the thread what it has counted, and the second counts what the
 * first did not. Where a program is not preempted, there is one, and of this nothing
 * is left in it.
 */
#pragma once

#include "compat.bpf.h"

/* A thread has one event of each at a time; an interrupt in between may have one of another. Objects have some of them. */
enum twice {
	TWICE_START, TWICE_BIO, TWICE_BACK, TWICE_FRONT, TWICE_REMAP, TWICE_SPLIT, TWICE_BALANCE,
	TWICE_RECLAIM = 0, TWICE_RECLAIM_END, TWICE_CGROUP, TWICE_CGROUP_END, TWICE_COMPACTION, TWICE_COMPACTION_END, TWICE_RETURN,
	TWICE_DIRECT = 0, TWICE_DIRECT_DONE, TWICE_READ, TWICE_FAULT, TWICE_NEED, TWICE_MARK, TWICE_MAP = 7,
	TWICE_SIZE = 8
};

struct twice_row {
	u64 counted[TWICE_SIZE]; /* what the first program has counted, and the second has not passed yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct twice_row);
} twice SEC(".maps");

/* The loader puts another number in the place of this one (twice.go): 0 where there is no other program. */
#define FIRST_OF_TWO 1
#define SECOND_OF_TWO 2
static __always_inline u64 which_of_two(void)
{
	u64 which;

	asm volatile("%0 = 0x74776963" : "=r"(which));
	return which;
}

/* Whether the program is a copy that comes after another one, which may have counted the event. */
static __always_inline bool is_second_of_two(void)
{
	return which_of_two() == SECOND_OF_TWO;
}

/* Whether the program leaves an event to the other of the two. */
static __always_inline bool left_to_other(enum twice what, u64 event)
{
	u64 which = which_of_two();
	struct twice_row *row;

	if (!which)
		return false;
	if (which == FIRST_OF_TWO) {
		row = bpf_task_storage_get(&twice, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!row)
			return true;
		row->counted[what] = event + 1;
		return false;
	}
	row = bpf_task_storage_get(&twice, bpf_get_current_task_btf(), 0, 0);
	if (!row || row->counted[what] != event + 1)
		return false;
	row->counted[what] = 0;
	return true;
}

/* COUNTING for such a program. */
#define COUNTING_TWICE(what, name, args...) COUNTING_UNLESS(!enabled || left_to_other(what, ctx[0]), name, ##args)
