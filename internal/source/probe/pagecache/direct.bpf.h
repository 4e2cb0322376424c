/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * I/O of files past the page cache: by the kernel's tracepoints where it has
 * them (6.5), else at functions beside them.
 */
#pragma once

#include "charge.bpf.h"

#define IOMAP_WRITE (1 << 0)
#define IOMAP_DIRECT (1 << 4)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct iomap {
	u64 length;
};
struct iomap_iter {
	struct inode *inode;
	u64 len;
	unsigned int flags;
	struct iomap iomap;
};
struct iomap_dio {
	struct kiocb *iocb;
};

#pragma clang attribute pop

static __always_inline int direct(struct inode *inode, u64 bytes, bool writes)
{
	struct account *a = account_of(inode, this_tgid());
	struct task *t;

	if (!a)
		return 0;
	a->size = OF(inode, i_size);
	if (writes) {
		ADD(a->direct_writes, 1);
		ADD(a->direct_write_bytes, bytes);
	} else {
		ADD(a->direct_reads, 1);
		ADD(a->direct_read_bytes, bytes);
	}
	t = task_state_of(current_task());
	if (t) /* what it waited before belongs to no file that we know */
		t->pending = t->charged = 0;
	return 0;
}

/* iov_iter.data_source was a bit of its type before de4eda9de2d9 (6.2). */
struct iov_iter___type {
	unsigned int type;
} __attribute__((preserve_access_index));

static __always_inline bool iov_writes(struct iov_iter *iter)
{
	if (bpf_core_field_exists(iter->data_source))
		return iter->data_source;
	return ((struct iov_iter___type *)iter)->type & 1; /* WRITE */
}

SEC("tp_btf/iomap_dio_rw_begin")
int COUNTING_TWICE(TWICE_DIRECT, on_direct, struct kiocb *iocb, struct iov_iter *iter)
{
	return direct(LOOSE(struct kiocb, iocb)->ki_filp->f_inode, iter->count, iter->data_source);
}

/*
 * What is called for each extent, of whatever kind: __iomap_dio_rw itself has
 * more arguments than x86 passes to programs before 6.6.
 */
SEC("fentry/iomap_iter")
int COUNTING(direct_iter, struct iomap_iter *iter)
{
	if (!(iter->flags & IOMAP_DIRECT) || iter->iomap.length)
		return 0; /* the next extent of one that was counted */
	return direct(LOOSE(struct iomap_iter, iter)->inode, iter->len, iter->flags & IOMAP_WRITE);
}

/* The same at the function itself, where it has no more arguments than x86 passes. */
SEC("fentry/__iomap_dio_rw")
int COUNTING(direct_begins, struct kiocb *iocb, struct iov_iter *iter)
{
	if (!iter->count)
		return 0;
	return direct(LOOSE(struct kiocb, iocb)->ki_filp->f_inode, iter->count, iov_writes(iter));
}

/* The same by a kprobe, which is passed any number of arguments. */
SEC("kprobe")
int COUNTING_CALL(direct_called)
{
	struct kiocb *iocb = (void *)ARGUMENT0(ctx);
	struct iov_iter *iter = (void *)ARGUMENT1(ctx);
	u64 count = BPF_CORE_READ(iter, count);
	bool writes;

	if (!count)
		return 0;
	if (bpf_core_field_exists(iter->data_source))
		writes = BPF_CORE_READ(iter, data_source);
	else
		writes = BPF_CORE_READ((struct iov_iter___type *)iter, type) & 1;
	return direct(BPF_CORE_READ(iocb, ki_filp, f_inode), count, writes);
}

static __always_inline int direct_is_done(struct kiocb *iocb)
{
	struct task *t = task_row(&tasks, current_task());

	if (t)
		charge_wait(t, OF(iocb, ki_filp, f_inode));
	return 0;
}

SEC("tp_btf/iomap_dio_complete")
int COUNTING_TWICE(TWICE_DIRECT_DONE, on_direct_done, struct kiocb *iocb)
{
	return direct_is_done(LOOSE(struct kiocb, iocb));
}

SEC("fentry/iomap_dio_complete")
int COUNTING(direct_done, struct iomap_dio *dio)
{
	return direct_is_done(LOOSE(struct iomap_dio, dio)->iocb);
}

SEC("kprobe")
int COUNTING_CALL(direct_done_called)
{
	struct iomap_dio *dio = (void *)ARGUMENT0(ctx);

	return direct_is_done(BPF_CORE_READ(dio, iocb));
}
