/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which work queue a kernel thread works for. */
#pragma once

#include "compat.bpf.h"

#define PF_WQ_WORKER 0x00000020

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Apart from task_struct, so that programs without use for it stay as they are. */
struct task_struct___worker {
	void *worker_private;
	int *set_child_tid; /* the same of kernel threads before e32cf5dfbe22 (5.17) */
};
struct kthread {
	void *data;
};
struct workqueue_struct {
	char name[24];
};
struct pool_workqueue {
	struct workqueue_struct *wq;
};
struct worker {
	struct pool_workqueue *current_pwq;
};

#pragma clang attribute pop

/*
 * Whether a task does the work of the queue of blk-throttle.c at this moment. A
 * worker's own name says only which pool it is of.
 */
static __always_inline bool is_throttle_worker(struct task_struct *task)
{
	static const char want[] = "kthrotld";
	char name[sizeof(want)] = {};
	struct workqueue_struct *queue;
	void *worker;
	u32 i;

	if (!(TASK(task, flags) & PF_WQ_WORKER))
		return false;
	if (bpf_core_field_exists(((struct task_struct___worker *)task)->worker_private))
		worker = TASK((struct task_struct___worker *)task, worker_private);
	else
		worker = TASK((struct task_struct___worker *)task, set_child_tid);
	worker = READ(struct kthread, worker, data);
	queue = READ(struct worker, worker, current_pwq, wq);
	bpf_core_read(&name, sizeof(name), &queue->name);
	for (i = 0; i < sizeof(want); i++)
		if (name[i] != want[i])
			return false;
	return true;
}
