/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* From what a task has waited to the account of the file that it waited for. */
#pragma once

#include "batch.bpf.h"
#include "chunks.bpf.h"

/* Charges what the task waited since its last event to this file. */
static __always_inline void charge_wait(struct task *t, struct inode *inode)
{
	struct account *a;

	if (!t->pending)
		return;
	a = account_of(inode, this_tgid());
	if (a) {
		ADD(a->wait, t->pending - t->charged);
		if (t->pending >= slow_ns)
			ADD(a->slow, 1);
		if (a->longest_window != window || a->longest < t->pending) {
			a->longest = t->pending;
			a->longest_window = window;
		}
	}
	t->pending = t->charged = 0;
}

static __always_inline u64 hash_of(struct inode *inode)
{
	return file_hash(OF(inode, i_ino), OF(inode, i_sb, s_dev));
}

/* At a tracepoint: whether its program counts, and does not only note the inode for the one at its event. */
static __always_inline bool counts(struct inode *inode, u64 index)
{
	struct task *t;

	if (!by_events)
		return true;
	t = task_state_of(current_task());
	return t && note_inode(&t->noted, inode, index);
}

/* The running thread calls a function whose return will be seen, by a kprobe. */
static __always_inline int calls(void *ctx, u64 call)
{
	struct task *t = task_state_of(current_task());

	if (t)
		begin_call(&t->called, ctx, call);
	else
		ADD(lost_tasks, 1);
	return 0;
}

/* It returns from it: its row, 0 where there is nothing to count. */
static __always_inline struct task *returns(u64 call)
{
	struct task *t = task_row(&tasks, current_task());

	return t && end_call(&t->called, call) ? t : 0;
}
