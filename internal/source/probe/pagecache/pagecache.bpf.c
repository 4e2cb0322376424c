//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The exact account of the page cache, per process and file, and the time
 * that tasks wait for I/O. How it counts, and why so, is in docs/pagecache.md.
 */
#include "iter.bpf.h"
#include "buffered.bpf.h"
#include "direct.bpf.h"
#include "events.bpf.h"
#include "touched.bpf.h"
#include "waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/mm_filemap_add_to_page_cache")
int COUNTING(on_add, struct folio *folio)
{
	struct inode *inode = FOLIO(folio, mapping)->host;
	u64 index = FOLIO(folio, index);

	return counts(inode, index) ? added(inode, index, folio_pages(folio)) : 0;
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
	struct task *t;
	int kept;

	if (set_aside(inode))
		return 0;
	wasted = use_folio(file, index, pages);
	if (wasted && !IS_FOLIO) {
		t = task_row(&tasks, task);
		if (t && has_copied(t, file, index)) {
			t->dropped += wasted;
			wasted = 0;
		}
	}
	/* reclaim runs with PF_MEMALLOC set, kswapd always does; truncation,
	 * fadvise and drop_caches do not. Of a file that ends before the page, or
	 * has no name any more, it is gone; else it will be read from disk again. */
	if (!(TASK(task, flags) & PF_MEMALLOC)) {
		kept = inode->i_nlink && index << page_shift < (u64)inode->i_size;
		if (!wasted && !kept)
			return 0;
		a = account_of(inode, this_tgid());
		if (a && wasted)
			ADD(a->wasted, wasted);
		if (a && kept)
			ADD(a->dropped, pages);
		if (wasted)
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
int COUNTING_TWICE(TWICE_BALANCE, on_balance)
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
	return exited(task);
}

/* What a task holds when a window ends: its waiting and its reads. */
static __always_inline void settle_task(struct task_struct *task, struct task *t, u64 now)
{
	settle_reads(t, task, false);
	settle_wait(task, t, now);
	if (!t->off)
		close_call(task, t);
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
			begin_wait(task, t, now, class, what, false);
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
