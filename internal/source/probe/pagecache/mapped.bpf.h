/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Faults of mapped files: by the kernel's tracepoints where it has them (6.12),
 * else at the functions that they were put into.
 */
#pragma once

#include "charge.bpf.h"

static __always_inline void used_by_mapping(struct inode *inode, u64 from, u64 to)
{
	u64 file = hash_of(inode), *count = fresh_count(file), misses;
	struct range r = { .file = file, .from = from, .to = to };
	struct account *a;

	if (!count || !*count || to < from)
		return;
	r.found = new_count();
	if (!r.found)
		return;
	misses = use_range(&r);
	if (!misses)
		return;
	TOTAL(mapped_misses, misses);
	a = account_of(inode, this_tgid());
	if (a)
		ADD(a->mapped_misses, misses);
}

/*
 * Since 6.18 a fault maps a large folio whole, and so did it a huge page before;
 * the events tell of the pages around the fault at most. So where a thread goes
 * on at most a folio behind what it mapped last, it had no need to fault in what
 * lies between: the first page of that is returned.
 */
static __always_inline u64 mapped_from(struct task *t, u64 file, u64 from, u64 to)
{
	u64 next = t->mapped_file == file ? t->mapped_next : ~0ULL;

	t->mapped_file = file;
	t->mapped_next = to + 1;
	return from > next && from - next < FOLIO_PAGES ? next : from;
}

static __always_inline int faulted(struct inode *inode, u64 index)
{
	struct task *t = task_state_of(current_task());
	u64 file = hash_of(inode);
	struct account *a = account_of(inode, this_tgid());

	if (LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	if (a) {
		ADD(a->faults, 1);
		a->size = OF(inode, i_size);
	}
	used_by_mapping(inode, t ? mapped_from(t, file, index, index) : index, index);
	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	t->fault_file = file;
	t->fault_index = index;
	charge_wait(t, inode);
	return 0;
}

FAULT_PROGRAMS(counts, faulted)

static __always_inline int mapped(struct inode *inode, u64 from, u64 to)
{
	struct task *t = task_row(&tasks, current_task());

	if (LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	if (t && to >= from)
		from = mapped_from(t, hash_of(inode), from, to);
	used_by_mapping(inode, from, to);
	if (t)
		charge_wait(t, inode);
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int COUNTING(on_map_pages, struct address_space *mapping, unsigned long from, unsigned long to)
{
	struct inode *inode = LOOSE(struct address_space, mapping)->host;

	return counts(inode, from) ? mapped(inode, from, to) : 0;
}

static __always_inline int maps(struct vm_fault *vmf, u64 from, u64 to)
{
	struct inode *inode;
	u64 size, eof;

	if (!OF(vmf, pte)) /* none of them was there */
		return 0;
	inode = faulting(vmf);
	size = OF(inode, i_size);
	eof = size ? (size - 1) >> page_shift : 0;
	return mapped(inode, from, to < eof ? to : eof);
}

SEC("fexit/filemap_map_pages")
int COUNTING_TWICE(TWICE_MAP, map_pages, struct vm_fault *vmf, unsigned long from, unsigned long to)
{
	return maps(vmf, from, to);
}

SEC("kprobe")
int COUNTING_CALL(map_pages_called)
{
	return calls(ctx, CALL_MAP_PAGES);
}

SEC("kprobe")
int map_pages_returned(void *ctx)
{
	struct task *t = returns(CALL_MAP_PAGES);

	return t ? maps((void *)t->called.argument[0], t->called.argument[1], t->called.argument[2]) : 0;
}
