/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* From what a task has waited to the account of the file that it waited for. */
#pragma once

#include "chunks.bpf.h"

/* Apart from struct file, so that programs without use for it stay as they are. */
struct file___mapping {
	struct address_space *f_mapping;
} __attribute__((preserve_access_index));

/* Charges what the task waited since its last event to this file. */
static __always_inline void charge_wait(struct task *t, struct inode *inode)
{
	struct account *a;

	if (!t->pending)
		return;
	a = account_of(inode, this_tgid());
	if (a) {
		ADD(a->wait, t->pending);
		if (t->pending >= slow_ns)
			ADD(a->slow, 1);
		if (a->longest_window != window || a->longest < t->pending) {
			a->longest = t->pending;
			a->longest_window = window;
		}
	}
	t->pending = 0;
}
