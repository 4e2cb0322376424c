/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Visits of read calls before there was filemap_get_pages (5.12): the end of a read
 * that has copied is all that tells of it. Pages that the kernel drops while the
 * call goes on, as in one that is larger than its cgroup's memory, are gone by then:
 * how far the call had come shows what is left of its buffer.
 */
#pragma once

#include "reads.bpf.h"

/* A call begins; until its end its position is where it began. */
static __always_inline void begin_buffered(struct task *t)
{
	struct iov_iter *iter = (void *)t->called.argument[1];

	t->wanted = BPF_CORE_READ(iter, count);
	t->dropped = 0;
}

/* Whether the call that the thread is in has copied a page of a file, which the kernel drops. */
static __always_inline bool has_copied(struct task *t, u64 file, u64 index)
{
	struct kiocb *iocb = (void *)t->called.argument[0];
	struct iov_iter *iter = (void *)t->called.argument[1];
	struct file___mapping *of;
	struct inode *inode;
	u64 from, copied;

	if (t->called.call != CALL_BUFFERED_READ)
		return false;
	of = (void *)BPF_CORE_READ(iocb, ki_filp);
	inode = BPF_CORE_READ(of, f_mapping, host);
	if (file_hash(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev)) != file)
		return false;
	from = BPF_CORE_READ(iocb, ki_pos);
	copied = t->wanted - BPF_CORE_READ(iter, count);
	return index >= from >> page_shift && index < (from + copied) >> page_shift;
}

/* Takes the fresh marks off a range that is longer than one walk, and counts them. */
__noinline int use_walks_once(u64 file, u64 first, u64 last)
{
	u32 found = 0, i;

	for (i = 0; i < MOST_WALKS && first <= last; i++) {
		found += use_range_once(file, first, last);
		first = ((first >> CHUNK_SHIFT) + MAX_CHUNKS) << CHUNK_SHIFT;
	}
	return found;
}

static __always_inline int has_read(struct kiocb *iocb, s64 written, s64 copied)
{
	struct inode *inode;
	u64 end, from, last, n, tail;
	struct read r = {};
	struct task *t;

	if (copied <= written)
		return 0;
	inode = inode_of(iocb);
	end = OF(iocb, ki_pos);
	from = (end - (copied - written)) >> page_shift;
	last = (end - 1) >> page_shift;
	if (last < from || !begin_read(&r, inode, from))
		return 0;
	t = r.t;
	n = last - from + 1;
	if (!r.moved && t->last == from)
		n--; /* the same access, as above */
	begin_call_at(t, from);
	t->misses += t->dropped;
	t->dropped = 0;
	t->index = from;
	t->last = last;
	tail = from;
	if ((last >> CHUNK_SHIFT) - (from >> CHUNK_SHIFT) >= MAX_CHUNKS) {
		tail = ((last >> CHUNK_SHIFT) - MAX_CHUNKS + 1) << CHUNK_SHIFT;
		t->misses += (u32)use_walks_once(r.file, from, tail - 1);
	}
	end_read(&r, inode, n, n || t->last != from ? 1 : 0, last, tail, last);
	return 0;
}

SEC("fentry/generic_file_buffered_read")
int COUNTING(will_read, struct kiocb *iocb, struct iov_iter *iter)
{
	struct task *t = task_state_of(current_task());

	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	t->called.call = CALL_BUFFERED_READ;
	t->called.argument[0] = (u64)iocb;
	t->called.argument[1] = (u64)iter;
	begin_buffered(t);
	return 0;
}

SEC("fexit/generic_file_buffered_read")
int BPF_PROG(was_read, struct kiocb *iocb, struct iov_iter *iter, long written, long copied)
{
	struct task *t = task_row(&tasks, current_task());

	if (t)
		t->called.call = 0;
	return enabled ? has_read(iocb, written, copied) : 0;
}

SEC("kprobe")
int COUNTING_CALL(buffered_read_called)
{
	struct task *t;

	calls(ctx, CALL_BUFFERED_READ);
	t = task_row(&tasks, current_task());
	if (t)
		begin_buffered(t);
	return 0;
}

SEC("kprobe")
int buffered_read_returned(void *ctx)
{
	struct task *t = returns(CALL_BUFFERED_READ);

	return t ? has_read((void *)t->called.argument[0], t->called.argument[2], RETURNED(ctx)) : 0;
}
