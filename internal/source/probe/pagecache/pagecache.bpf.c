//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The exact account of the page cache, per process and file, and the time
 * that tasks wait for I/O. How it counts, and why so, is in docs/pagecache.md.
 */
#include "iter.bpf.h"
#include "direct.bpf.h"
#include "mapped.bpf.h"
#include "reads.bpf.h"
#include "touched.bpf.h"
#include "waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/mm_filemap_add_to_page_cache")
int COUNTING(on_add, struct folio *folio)
{
	struct inode *inode = FOLIO(folio, mapping)->host;
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev), index = FOLIO(folio, index);
	u32 pages = folio_pages(folio);
	struct range r = { .file = file, .from = index, .to = index + pages - 1 };
	struct account *a = account_of(inode, this_tgid());
	struct task *t;
	u64 from, to, again;

	if (LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	r.found = new_count();
	if (!a || !r.found)
		return 0;
	ADD(a->inserted, pages);
	TOTAL(inserted, pages);
	if (pages == 1)
		insert_chunk(0, &r);
	else
		LOOP(FOLIO_CHUNKS, (pages >> CHUNK_SHIFT) + 2, insert_chunk, insert_chunk, &r);
	again = *r.found;
	if (again) {
		ADD(a->reread, again);
		TOTAL(reread, again);
	}
	t = task_row(&tasks, current_task());
	if (!t)
		return 0;
	if (t->fault_file == file && t->fault_index - index < pages) {
		ADD(a->major, 1);
		t->fault_file = 0;
	}
	if (t->need_file == file) {
		from = index > t->need_index ? index : t->need_index;
		to = index + pages < t->need_end ? index + pages : t->need_end;
		if (from < to)
			ADD(a->demand, to - from);
	}
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int COUNTING(on_delete, struct folio *folio)
{
	struct inode *inode = FOLIO(folio, mapping)->host;
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev), index = FOLIO(folio, index), wasted;
	u32 pages = folio_pages(folio);
	struct task_struct *task = current_task();
	struct range r = { .file = file, .from = index, .to = index + pages - 1 };
	struct account *a;

	wasted = use_folio(file, index, pages);
	/* reclaim runs with PF_MEMALLOC set, kswapd always does; truncation and
	 * drop_caches do not */
	if (!(TASK(task, flags) & PF_MEMALLOC)) {
		if (!wasted)
			return 0;
		a = account_of(inode, this_tgid());
		if (a)
			ADD(a->wasted, wasted);
		TOTAL(wasted, wasted);
		return 0;
	}
	a = account_of(inode, this_tgid());
	if (a) {
		ADD(a->evicted, pages);
		if (wasted)
			ADD(a->wasted, wasted);
	}
	TOTAL(evicted, pages);
	if (wasted)
		TOTAL(wasted, wasted);
	if (pages == 1)
		evict_chunk(0, &r);
	else
		LOOP(FOLIO_CHUNKS, (pages >> CHUNK_SHIFT) + 2, evict_chunk, evict_chunk, &r);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int COUNTING(on_dirty, struct folio *folio, struct address_space *mapping)
{
	struct account *a;
	struct inode *inode;
	u64 allocated;
	u32 pages;

	if (!mapping || LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	inode = LOOSE(struct address_space, mapping)->host;
	a = account_of(inode, this_tgid());
	if (!a)
		return 0;
	pages = folio_pages(folio);
	ADD(a->dirtied, pages);
	a->size = inode->i_size;
	allocated = use_folio(file_hash(inode->i_ino, inode->i_sb->s_dev), FOLIO(folio, index), pages);
	if (allocated) {
		ADD(a->write_alloc, allocated);
		TOTAL(write_alloc, allocated);
	}
	return 0;
}

static __always_inline int begin_pause(s64 pause)
{
	struct task *t;

	if (pause <= 0)
		return 0;
	t = task_state_of(current_task());
	if (t)
		t->pausing = 1;
	else
		ADD(lost_tasks, 1);
	return 0;
}

/* (wb, dtc, base rate, task rate, dirtied, period, pause, start), since 6.17 */
SEC("tp_btf/balance_dirty_pages")
int COUNTING(on_balance)
{
	return begin_pause(ctx[6]);
}

/* (wb, thresh, bg_thresh, dirty, bdi_thresh, bdi_dirty, base rate, ...) before */
SEC("tp_btf/balance_dirty_pages")
int COUNTING(on_balance_old)
{
	return begin_pause(ctx[10]);
}

SEC("tp_btf/sched_process_exit")
int COUNTING(on_exit, struct task_struct *task)
{
	struct task *t = task_row(&tasks, task);

	if (!t)
		return 0;
	if (t->called.call) /* it is in none any more */
		ADD(lost_returns, 1);
	settle_reads(t, task, true);
	finish_scan(t);
	flush(t);
	forget_task(&tasks, task);
	return 0;
}

/* What a task holds when a window ends: its waiting and its reads. */
static __always_inline void settle_task(struct task_struct *task, struct task *t, u64 now)
{
	settle_reads(t, task, false);
	settle_wait(task, t, now);
	finish_scan(t);
	flush(t);
}

/*
 * Starts and closes the account for tasks that make no event of their own:
 * those that already wait at the start, and what tasks hold when a window
 * ends; also the calls that they made between slices.
 */
SEC("iter/task")
int settle(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u64 now = bpf_ktime_get_ns();
	struct task *t;
	u32 class, what;

	if (!task)
		return 0;
	if (settle_mode == SETTLE_BEGIN) {
		next_span(task, true);
		if (!task_state(task))
			return 0;
		class = wait_class(0, task, &what);
		if (class == WAIT_CLASSES)
			return 0;
		t = task_state_of(task);
		if (t && !t->off)
			begin_wait(task, t, now, class, what);
		return 0;
	}
	if (settle_mode == SETTLE_FORGET) {
		delete_task_row(&tasks, task);
		return 0;
	}
	t = task_row(&tasks, task);
	if (settle_mode == SETTLE_SAMPLED || settle_mode == SETTLE_EXACT) {
		if (!t)
			return 0;
		if (settle_mode == SETTLE_SAMPLED) {
			begin_sampling(t, task);
			return 0;
		}
		settle_reads(t, task, false);
		t->slice = 0;
		flush(t);
		return 0;
	}
	if (t)
		settle_task(task, t, now);
	next_span(task, false);
	return 0;
}
