/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Programs at events of tracepoints, as perf records them. Since a46023d5616e (7.0)
 * a program at the tracepoint itself may be preempted, and the kernel passes over
 * it on that processor until it is over, for all other threads. At the event none
 * is preempted (16718274ee75), but it is told numbers in place of the inode. So the
 * program at the tracepoint notes with the thread which inode it is, and counts
 * nothing. Where it was passed over, the inode is mostly the one before, or one
 * that was noted before. Which of both is called first depends on who else asks for
 * the event: of one whose inode is not known yet, the program at the tracepoint
 * counts, which comes next.
 */
#pragma once

#include "compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct trace_event_raw_mm_filemap_op_page_cache_range {
	u64 i_ino;
	u32 s_dev;
	unsigned long index, last_index;
};
struct trace_event_raw_mm_filemap_op_page_cache {
	u64 i_ino;
	unsigned long index;
	u32 s_dev;
	unsigned char order;
};
struct trace_event_raw_mm_filemap_fault {
	u64 i_ino;
	u32 s_dev;
	unsigned long index;
};
struct trace_event_raw_page_cache_ra_op {
	u64 i_ino;
	unsigned long index, req_count;
	u32 s_dev;
};

#pragma clang attribute pop

/* COUNTING for a program at an event. */
#define COUNTING_EVENT(name, record)                                  \
	name(struct record *event);                                   \
	static __always_inline int counting_##name(struct record *event); \
	int name(struct record *event)                                \
	{                                                             \
		return enabled ? counting_##name(event) : 0;          \
	}                                                             \
	static __always_inline int counting_##name(struct record *event)

const volatile u32 by_events; /* programs at tracepoints note, and those at events count */

/* The inode that a thread's newest event is of, the one that is in the table, and the event whose inode was not known. */
struct noted {
	u64 inode, kept, unknown;
};

struct event_file {
	u64 ino, dev;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct event_file);
	__type(value, u64); /* address of the inode */
} inodes SEC(".maps");

u64 lost_inodes; /* events of which the inode was not known */

static __always_inline u64 event_id(struct event_file *file, u64 index)
{
	return (file->ino ^ file->dev << 32) * 0x9E3779B97F4A7C15ULL + index + 1;
}

static __always_inline void keep_inode(struct noted *n, struct event_file *file, u64 at)
{
	u64 *known = bpf_map_lookup_elem(&inodes, file);

	n->kept = at;
	if (!known)
		bpf_map_update_elem(&inodes, file, &at, BPF_ANY);
	else if (*known != at)
		*known = at;
}

/* At the tracepoint: true where the event waits to be counted by this program. */
static __always_inline bool note_inode(struct noted *n, struct inode *inode, u64 index)
{
	struct event_file file;

	n->inode = (u64)inode;
	if (!n->unknown)
		return false;
	file.ino = inode->i_ino;
	file.dev = inode->i_sb->s_dev;
	if (n->unknown != event_id(&file, index))
		return false;
	n->unknown = 0;
	keep_inode(n, &file, (u64)inode);
	return true;
}

/* Whatever is at the address now: it may be another inode by now, or none. */
static __always_inline bool is_inode(struct inode *inode, struct event_file *file)
{
	return inode->i_ino == file->ino && inode->i_sb->s_dev == file->dev;
}

/* At the event: its inode; 0 where it is not known. */
static __always_inline struct inode *inode_noted(struct noted *n, u64 ino, u32 dev, u64 index)
{
	struct event_file file = { ino, dev };
	struct inode *inode = KERNEL(struct inode, n->inode);
	u64 *known;

	if (is_inode(inode, &file)) {
		if (n->kept != n->inode)
			keep_inode(n, &file, n->inode);
		return inode;
	}
	known = bpf_map_lookup_elem(&inodes, &file);
	if (known) {
		inode = KERNEL(struct inode, *known);
		if (is_inode(inode, &file))
			return inode;
	}
	if (n->unknown) /* the one before was not counted at its tracepoint either */
		__sync_fetch_and_add(&lost_inodes, 1);
	n->unknown = event_id(&file, index);
	return 0;
}
