/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The account at events, for kernels that may preempt programs at tracepoints. */
#pragma once

#include "mapped.bpf.h"
#include "reads.bpf.h"

static __always_inline struct inode *event_inode(u64 ino, u32 dev, u64 index)
{
	struct task *t = task_state_of(current_task());

	if (t)
		return inode_noted(&t->noted, ino, dev, index);
	ADD(lost_tasks, 1);
	return 0;
}

SEC("tracepoint/filemap/mm_filemap_get_pages")
int COUNTING_EVENT(event_get_pages, trace_event_raw_mm_filemap_op_page_cache_range)
{
	struct inode *inode;

	if (weight > 1 && !in_slice())
		return 0;
	inode = event_inode(event->i_ino, event->s_dev, event->index);
	return inode ? visited(inode, event->index, event->last_index) : 0;
}

SEC("tracepoint/filemap/mm_filemap_fault")
int COUNTING_EVENT(event_fault, trace_event_raw_mm_filemap_fault)
{
	struct inode *inode = event_inode(event->i_ino, event->s_dev, event->index);

	return inode ? faulted(inode, event->index) : 0;
}

SEC("tracepoint/filemap/mm_filemap_map_pages")
int COUNTING_EVENT(event_map_pages, trace_event_raw_mm_filemap_op_page_cache_range)
{
	struct inode *inode = event_inode(event->i_ino, event->s_dev, event->index);

	return inode ? mapped(inode, event->index, event->last_index) : 0;
}

SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int COUNTING_EVENT(event_add, trace_event_raw_mm_filemap_op_page_cache)
{
	struct inode *inode = event_inode(event->i_ino, event->s_dev, event->index);

	return inode ? added(inode, event->index, 1U << (event->order & 31)) : 0;
}

/* The thread that ends is the one that runs. */
SEC("tracepoint/sched/sched_process_exit")
int event_exit(void *event)
{
	return enabled ? exited(current_task()) : 0;
}
