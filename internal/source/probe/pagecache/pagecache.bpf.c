//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The exact account of the page cache, per process and file, and the time
 * that tasks wait for I/O. How it counts, and why so, is in docs/pagecache.md.
 */
#include "iter.bpf.h"
#include "sampled.bpf.h"
#include "touched.bpf.h"
#include "waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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
		if (a->longest_lap != lap || a->longest < t->pending) {
			a->longest = t->pending;
			a->longest_lap = lap;
		}
	}
	t->pending = 0;
}

/*
 * While reads of cached data are counted in slices only, the loader attaches
 * the program for a little longer than a slice: the time of that varies, this
 * does not.
 */
static __always_inline bool in_slice(void)
{
	u64 now = bpf_ktime_get_ns(), until = slice_until;

	if (!until) {
		__sync_val_compare_and_swap(&slice_until, 0, now + slice_ns);
		return true;
	}
	return now < until;
}

/*
 * A read looks up a batch of folios: (index, last) is what is left of the
 * call. One call makes several events, all with the call's own end.
 */
SEC("tp_btf/mm_filemap_get_pages")
int COUNTING(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long end)
{
	struct inode *inode = mapping->host;
	u64 ino = inode->i_ino, size = inode->i_size, eof = size ? (size - 1) >> PAGE_SHIFT : 0;
	u64 last = end, from = index, n = 0, calls = 0, each = 1, to, file, now, *count;
	u32 dev = inode->i_sb->s_dev, way;
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t;

	if (weight > 1 && !in_slice())
		return 0;
	now = bpf_jiffies64();
	if (LOOK_IS_OVER(now))
		return 0;
	t = task_state_of(task);
	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	if (last > eof)
		last = eof;
	if (last < index)
		return 0;
	file = file_hash(ino, dev);
	way = way_of(task);
	if (t->way != way) {
		finish_scan(t);
		flush(t);
		t->way = way;
	}
	if (weight > 1)
		each = reads_for(t, task);
	else
		count_all(t, task);
	if (t->file != file) {
		finish_scan(t);
		flush(t);
		t->key.ino = ino;
		t->key.dev = dev;
		t->key.tgid = this_tgid();
		t->file = file;
		t->jiffies = now;
		account_of(inode, t->key.tgid);
		if (t->ra_file == file && t->ra_last == end && t->ra_index < index)
			from = t->ra_index;
		n = last - from + 1;
		calls = 1;
		t->request = end - from + 1;
	} else if (t->last == end && index > t->index && index != t->last) {
		/* the next batch of the same call */
		if (t->scan < from)
			from = t->scan;
	} else {
		if (t->scan != NO_SCAN)
			finish_scan(t);
		/* a batch whose last folio was not read yet returns without an
		 * event: find where the call began */
		if (t->ra_file == file && t->ra_last == end && t->ra_index < index)
			from = t->ra_index;
		else if (index > t->last + 1 && end - t->last - t->request <= 1)
			from = t->last + 1;
		n = last - from + 1;
		/* starts on the page where the last call ended: the same visit,
		 * as the kernel sees it too */
		if (t->last == from)
			n--;
		if (n || t->index == index)
			calls = 1;
		t->request = end - from + 1;
	}
	if (n)
		touch(file, last - n + 1, last);
	t->ra_file = 0;
	t->calls += calls * each;
	t->visits += n * each;
	if (weight > 1 && way == WAY_READ) {
		t->all_reads += calls;
		t->all_pages += n;
	}
	t->size = size;
	to = last;
	if (to > index + SCAN_PAGES - 1)
		to = index + SCAN_PAGES - 1;
	t->index = index;
	t->last = end;
	t->eof = eof;
	t->scan = to < last ? to + 1 : NO_SCAN;
	count = fresh_count(file);
	if (count && *count)
		count_cold(t, from, to);
	if (t->pending)
		charge_wait(t, inode);
	if (t->calls >= FLUSH_CALLS || now - t->jiffies > FLUSH_TICKS) {
		flush(t);
		t->jiffies = now;
	}
	return 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int COUNTING(on_add, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev), index = folio->index;
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
		bpf_loop((pages >> CHUNK_SHIFT) + 2, insert_chunk, &r, 0);
	again = *r.found;
	if (again) {
		ADD(a->reread, again);
		TOTAL(reread, again);
	}
	t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
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
	struct inode *inode = folio->mapping->host;
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev), index = folio->index, wasted;
	u32 pages = folio_pages(folio);
	struct task_struct *task = bpf_get_current_task_btf();
	struct range r = { .file = file, .from = index, .to = index + pages - 1 };
	struct account *a;

	wasted = use_folio(file, index, pages);
	/* reclaim runs with PF_MEMALLOC set, kswapd always does; truncation and
	 * drop_caches do not */
	if (!(task->flags & PF_MEMALLOC)) {
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
		bpf_loop((pages >> CHUNK_SHIFT) + 2, evict_chunk, &r, 0);
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
	inode = mapping->host;
	a = account_of(inode, this_tgid());
	if (!a)
		return 0;
	pages = folio_pages(folio);
	ADD(a->dirtied, pages);
	a->size = inode->i_size;
	allocated = use_folio(file_hash(inode->i_ino, inode->i_sb->s_dev), folio->index, pages);
	if (allocated) {
		ADD(a->write_alloc, allocated);
		TOTAL(write_alloc, allocated);
	}
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int COUNTING(on_sync_readahead, struct inode *inode, unsigned long index, void *ra, unsigned long request)
{
	struct task *t = task_state_of(bpf_get_current_task_btf());
	u64 file, last = index + request - 1;

	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	file = file_hash(inode->i_ino, inode->i_sb->s_dev);
	t->need_file = file;
	t->need_index = index;
	t->need_end = index + request;
	if (t->ra_file == file && t->ra_last == last)
		return 0;
	t->ra_file = file;
	t->ra_index = index;
	t->ra_last = last;
	return 0;
}

static __always_inline void used_by_mapping(struct inode *inode, u64 from, u64 to)
{
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev), *count = fresh_count(file), cold;
	struct range r = { .file = file, .from = from, .to = to };
	struct account *a;

	if (!count || !*count || to < from)
		return;
	r.found = new_count();
	if (!r.found)
		return;
	bpf_loop(MAX_CHUNKS, use_chunk, &r, 0);
	cold = *r.found;
	if (!cold)
		return;
	TOTAL(cold_mapped, cold);
	a = account_of(inode, this_tgid());
	if (a)
		ADD(a->cold_mapped, cold);
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

SEC("tp_btf/mm_filemap_fault")
int COUNTING(on_fault, struct address_space *mapping, unsigned long index)
{
	struct inode *inode = mapping->host;
	struct task *t = task_state_of(bpf_get_current_task_btf());
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev);
	struct account *a = account_of(inode, this_tgid());

	if (LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	if (a) {
		ADD(a->faults, 1);
		a->size = inode->i_size;
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

SEC("tp_btf/mm_filemap_map_pages")
int COUNTING(on_map_pages, struct address_space *mapping, unsigned long from, unsigned long to)
{
	struct inode *inode = mapping->host;
	struct task *t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);

	if (LOOK_IS_OVER(bpf_jiffies64()))
		return 0;
	if (t && to >= from)
		from = mapped_from(t, file_hash(inode->i_ino, inode->i_sb->s_dev), from, to);
	used_by_mapping(inode, from, to);
	if (t)
		charge_wait(t, inode);
	return 0;
}

SEC("tp_btf/iomap_dio_rw_begin")
int COUNTING(on_direct, struct kiocb *iocb, struct iov_iter *iter)
{
	struct inode *inode = iocb->ki_filp->f_inode;
	struct account *a = account_of(inode, this_tgid());
	struct task *t;
	u64 bytes = iter->count;

	if (!a)
		return 0;
	a->size = inode->i_size;
	if (iter->data_source) {
		ADD(a->direct_writes, 1);
		ADD(a->direct_write_bytes, bytes);
	} else {
		ADD(a->direct_reads, 1);
		ADD(a->direct_read_bytes, bytes);
	}
	t = task_state_of(bpf_get_current_task_btf());
	if (t) /* what it waited before belongs to no file that we know */
		t->pending = 0;
	return 0;
}

SEC("tp_btf/iomap_dio_complete")
int COUNTING(on_direct_done, struct kiocb *iocb)
{
	struct task *t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);

	if (t)
		charge_wait(t, iocb->ki_filp->f_inode);
	return 0;
}

static __always_inline int begin_pause(s64 pause)
{
	struct task *t;

	if (pause <= 0)
		return 0;
	t = task_state_of(bpf_get_current_task_btf());
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
	struct task *t = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!t)
		return 0;
	settle_reads(t, task, true);
	finish_scan(t);
	flush(t);
	return 0;
}

/* What a task holds when a window ends: its waiting and its reads. */
static __always_inline void settle_task(struct task_struct *task, struct task *t, u64 now)
{
	u64 off = t->off;

	settle_reads(t, task, false);
	if (settle_mode == SETTLE_LAP) {
		/* the wait goes on, unless the task was just woken */
		if (off && off < now && __sync_val_compare_and_swap(&t->off, off, now) == off)
			count_wait(task, t, now - off, false);
	} else if (off && off < now) {
		end_wait(task, t, now);
	}
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
		if (t && !t->off) {
			t->off = now;
			t->off_class = class;
			t->off_for = what;
		}
		return 0;
	}
	t = bpf_task_storage_get(&tasks, task, 0, 0);
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
