/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Visits of read calls, and what a read had to fetch: by the kernel's
 * tracepoints where it has them (6.12; 6.15 for read-ahead), else at the
 * functions that they were put into.
 */
#pragma once

#include "calls.bpf.h"
#include "charge.bpf.h"
#include "sampled.bpf.h"
#include "touched.bpf.h"

/*
 * While reads of cached data are counted in slices only, the loader attaches
 * the program for a little longer than a slice: the time of that varies, this
 * does not.
 */
static __always_inline bool in_slice(void)
{
	u64 now = bpf_ktime_get_ns(), until = slice_until;

	if (!until) {
		COMPARE_AND_SWAP(&slice_until, 0, now + slice_ns);
		return true;
	}
	return now < until;
}

/*
 * Where calls of io_uring began that had to fetch something, besides the newest
 * one of each thread: many are under way at a time. What it could serve at once it
 * copies without an event, and goes on later, often in another thread.
 */
struct call_key {
	u64 file, last, tgid;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct call_key);
	__type(value, u64);
} begun SEC(".maps");

/* Keeps the beginning of the thread's newest call, before it is forgotten. */
static __always_inline void keep_begun(struct task *t, u32 way)
{
	struct call_key key = { t->ra_file, t->ra_last, this_tgid() };

	if (t->ra_file && way == WAY_URING)
		bpf_map_update_elem(&begun, &key, &t->ra_index, BPF_ANY);
}

/* A look-up of pages of a file, for a task. */
struct read {
	struct task *t;
	u64 file, size, eof, now;
	u64 each; /* reads that it stands for */
	u32 way;
	bool moved; /* the task read another file before */
};

/* False when it is not to be counted, as behind the end of the file. */
static __always_inline bool begin_read(struct read *r, struct inode *inode, u64 index)
{
	u64 ino = OF(inode, i_ino), size = OF(inode, i_size);
	u32 dev = OF(inode, i_sb, s_dev);
	struct task_struct *task;
	struct task *t;

	if (weight > 1 && !in_slice())
		return false;
	r->now = bpf_jiffies64();
	if (LOOK_IS_OVER(r->now))
		return false;
	task = current_task();
	t = task_state_of(task);
	if (!t) {
		ADD(lost_tasks, 1);
		return false;
	}
	r->size = size;
	r->eof = size ? (size - 1) >> page_shift : 0;
	if (index > r->eof)
		return false;
	r->t = t;
	r->file = file_hash(ino, dev);
	r->way = way_of(task);
	if (t->way != r->way) {
		finish_scan(t);
		flush(t);
		t->way = r->way;
	}
	r->each = 1;
	if (weight > 1)
		r->each = reads_for(t, task);
	else
		count_all(t, task);
	r->moved = t->file != r->file;
	if (r->moved) {
		finish_scan(t);
		flush(t);
		t->key.ino = ino;
		t->key.dev = dev;
		t->key.tgid = this_tgid();
		t->file = r->file;
		t->jiffies = r->now;
		account_of(inode, t->key.tgid);
	}
	return true;
}

static __always_inline void begin_call_at(struct task *t, u64 from)
{
	t->call_from = from;
	t->call_misses = 0;
}

/* Where the call began that asks for index..end, as far as that was noted. */
static __always_inline u64 call_begin(struct read *r, u64 index, u64 end)
{
	struct task *t = r->t;
	struct call_key key = { r->file, end };
	u64 *count, *begin, from = index;

	if (t->ra_file == r->file && t->ra_last == end)
		return t->ra_index < index ? t->ra_index : index;
	count = fresh_count(r->file);
	if (r->way != WAY_URING || !count || !*count)
		return index;
	key.tgid = this_tgid();
	begin = bpf_map_lookup_elem(&begun, &key);
	if (!begin)
		return index;
	if (*begin < index)
		from = *begin;
	bpf_map_delete_elem(&begun, &key);
	return from;
}

/*
 * Whether the pages behind the call before are the beginning of this one: the thread
 * waits for the folio for which nothing was told; io_uring goes on later without
 * waiting. Where read-ahead was asked for, it told where the call began.
 */
static __always_inline bool left_out(struct read *r, u64 index, u64 end)
{
	struct task *t = r->t;

	if (t->ra_file == r->file && t->ra_last == end)
		return false;
	return (t->pending || r->way == WAY_URING) && may_follow(t->last, t->request, index, end);
}

/* The look-up visits n pages, up to last; those from..to are there by now. */
static __always_inline void end_read(struct read *r, struct inode *inode, u64 n, u64 calls, u64 last, u64 from, u64 to)
{
	struct task *t = r->t;
	u64 *count;

	if (n)
		touch(r->file, last - n + 1, last);
	t->ra_file = 0;
	t->calls += calls * r->each;
	t->accesses += n * r->each;
	if (weight > 1 && r->way == WAY_READ) {
		t->all_reads += calls;
		t->all_pages += n;
	}
	t->size = r->size;
	t->eof = r->eof;
	t->scan = to < last ? to + 1 : NO_SCAN;
	count = fresh_count(r->file);
	if (count && *count)
		count_misses(t, from, to);
	if (t->pending)
		charge_wait(t, inode);
	if (t->calls >= FLUSH_CALLS || r->now - t->jiffies > FLUSH_TICKS) {
		flush(t);
		t->jiffies = r->now;
	}
}

/*
 * A read looks up a batch of folios: (index, last) is what is left of the
 * call. One call makes several events, all with the call's own end.
 */
static __always_inline int visited(struct inode *inode, u64 index, u64 end)
{
	u64 from = index, last = end, n = 0, calls = 0, to;
	struct read r = {};
	struct task *t;

	if (end < index || !begin_read(&r, inode, index))
		return 0;
	t = r.t;
	if (t->ra_file != r.file || t->ra_last != end)
		keep_begun(t, r.way);
	if (last > r.eof)
		last = r.eof;
	if (r.moved) {
		from = call_begin(&r, index, end);
		n = last - from + 1;
		calls = 1;
		t->request = end - from + 1;
		begin_call_at(t, from);
	} else if (t->last == end && index > t->index && index != t->last) {
		/* the next batch of the same call, and those without an event before it */
		if (t->come < from)
			from = t->come;
	} else {
		if (t->scan != NO_SCAN)
			finish_scan(t);
		from = call_begin(&r, index, end);
		if (from == index && left_out(&r, index, end))
			from = t->last + 1;
		n = last - from + 1;
		/* starts on the page where the last call ended: the same access,
		 * as the kernel sees it too */
		if (t->last == from)
			n--;
		if (n || t->index == index)
			calls = 1;
		t->request = end - from + 1;
		if (t->silent == end)
			t->call_from = from;
		else
			begin_call_at(t, from);
	}
	to = last;
	if (to > index + SCAN_PAGES - 1)
		to = index + SCAN_PAGES - 1;
	t->index = t->come = index;
	t->last = end;
	t->silent = NO_CALL;
	end_read(&r, inode, n, calls, last, from, to);
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int COUNTING(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long end)
{
	struct inode *inode = LOOSE(struct address_space, mapping)->host;

	return counts(inode, index) ? visited(inode, index, end) : 0;
}

/*
 * The same, where a look-up ends that found a batch of folios: each event tells
 * of the pages that the call is about to copy, so nothing has to be guessed.
 */
static __always_inline int found_pages(struct kiocb *iocb, u64 count, struct folio_batch *batch, const void *at)
{
	struct inode *inode = inode_of(iocb);
	u64 pos = OF(iocb, ki_pos), from = pos >> page_shift, end, last, n, calls = 1;
	struct read r = {};
	struct task *t;
	u32 nr = batch_size(batch);

	if (!count || !nr || !begin_read(&r, inode, from))
		return 0;
	t = r.t;
	last = end = (pos + count - 1) >> page_shift;
	if (end - from >= nr) { /* else every folio is a page of the call at least */
		last = batch_end(at, nr);
		if (last > end)
			last = end;
	}
	if (last > r.eof)
		last = r.eof;
	if (last < from)
		return 0;
	n = last - from + 1;
	if (!r.moved) {
		if (t->last == from)
			n--; /* the same access, as above */
		if (t->end == end && t->last + 1 == from) {
			calls = 0; /* the next batch of the same call */
			r.each = t->each;
		} else if (!n && t->index != from) {
			calls = 0;
		}
	}
	begin_call_at(t, from);
	t->index = from;
	t->last = last;
	t->end = end;
	t->each = r.each;
	end_read(&r, inode, n, calls, last, from, last);
	return 0;
}

/* (iocb, count, batch, need_uptodate), since 6.7 */
SEC("fexit/filemap_get_pages")
int COUNTING_TWICE(TWICE_READ, got_pages, struct kiocb *iocb, unsigned long count, struct folio_batch *batch, bool whole, int failed)
{
	return failed ? 0 : found_pages(iocb, count, batch, &ctx[2]);
}

/* (iocb, iter, batch) before */
SEC("fexit/filemap_get_pages")
int COUNTING(got_pages_iter, struct kiocb *iocb, struct iov_iter *iter, struct folio_batch *batch, int failed)
{
	return failed ? 0 : found_pages(iocb, iter->count, batch, &ctx[2]);
}

/* The same by kprobes. */
SEC("kprobe")
int COUNTING_CALL(get_pages_called)
{
	return calls(ctx, CALL_GET_PAGES);
}

SEC("kprobe")
int get_pages_returned(void *ctx)
{
	struct task *t = returns(CALL_GET_PAGES);

	if (!t || (s32)RETURNED(ctx))
		return 0;
	return found_pages((void *)t->called.argument[0], t->called.argument[1], (void *)t->called.argument[2], &t->called.argument[2]);
}

SEC("kprobe")
int get_pages_iter_returned(void *ctx)
{
	struct task *t = returns(CALL_GET_PAGES);
	struct iov_iter *iter;

	if (!t || (s32)RETURNED(ctx))
		return 0;
	iter = (void *)t->called.argument[1];
	return found_pages((void *)t->called.argument[0], BPF_CORE_READ(iter, count), (void *)t->called.argument[2], &t->called.argument[2]);
}

/*
 * Read-ahead of either sort tells how far the thread's call has come, where it makes no
 * event, too. What lies before is copied, and is looked at then: memory may be taken
 * back for what is read ahead. Not at functions, where each batch tells of itself.
 */
static __always_inline bool tells_of_calls(struct task *t, u64 file)
{
	return t->file == file && !t->end && !LOOK_IS_OVER(bpf_jiffies64());
}

/* Whether it is one that has told of itself before, by an event or by read-ahead. */
static __always_inline bool is_known(struct task *t, u64 last)
{
	return last == t->last || last == t->silent;
}

static __always_inline void begin_silently(struct task *t, u64 index, u64 last)
{
	finish_scan(t);
	t->come = may_follow(t->last, t->request, index, last) ? t->last + 1 : index;
	t->silent = last;
	begin_call_at(t, t->come);
}

static __always_inline void comes_to(struct task *t, u64 index)
{
	if (index <= t->come)
		return;
	count_misses(t, t->come, index - 1);
	t->come = index;
}

static __always_inline int needed(u64 file, u64 index, u64 request)
{
	struct task *t = task_state_of(current_task());
	u64 last = index + request - 1;

	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	if (tells_of_calls(t, file)) {
		if (!is_known(t, last) || index < t->come)
			begin_silently(t, index, last);
		comes_to(t, index);
	}
	t->need_file = file;
	t->need_index = index;
	t->need_end = index + request;
	if (t->ra_file == file && t->ra_last == last)
		return 0;
	if (t->ra_file)
		keep_begun(t, way_of(current_task()));
	t->ra_file = file;
	t->ra_index = index;
	t->ra_last = last;
	return 0;
}

READAHEAD_PROGRAMS(needed)

/* More is read ahead for a folio that is there; it may begin before what the call asks for. */
static __always_inline int marked(u64 file, u64 index, u64 request)
{
	struct task *t = task_row(&tasks, current_task());
	u64 last = index + request - 1;

	if (!t || !tells_of_calls(t, file))
		return 0;
	if (!is_known(t, last)) {
		if (!may_follow(t->last, t->request, index, last))
			return 0;
		begin_silently(t, index, last);
	}
	comes_to(t, index);
	return 0;
}

SEC("tp_btf/page_cache_async_ra")
int COUNTING(on_async_readahead, struct inode *inode, unsigned long index, void *ra, unsigned long request)
{
	inode = LOOSE(struct inode, inode);
	return marked(file_hash(inode->i_ino, inode->i_sb->s_dev), index, request);
}

SEC("tracepoint/readahead/page_cache_async_ra")
int COUNTING_EVENT(event_async_readahead, trace_event_raw_page_cache_ra_op)
{
	return marked(file_hash(event->i_ino, event->s_dev), event->index, event->req_count);
}

static __always_inline int marks(struct readahead_control *control, u64 index, u64 request)
{
	struct inode *inode = OF(control, mapping, host);

	return marked(file_hash(OF(inode, i_ino), OF(inode, i_sb, s_dev)), index, request);
}

SEC("fentry/page_cache_async_ra")
int COUNTING_TWICE(TWICE_MARK, async_readahead, struct readahead_control *control, struct folio *folio, unsigned long request)
{
	return marks(LOOSE(struct readahead_control, control), FOLIO(folio, index), request);
}

SEC("kprobe")
int COUNTING_CALL(async_readahead_called)
{
	struct folio *folio = (void *)ARGUMENT1(ctx);

	return marks((void *)ARGUMENT0(ctx), READ_FOLIO(folio, index), ARGUMENT2(ctx));
}

/* Pages are put into the cache. */
static __always_inline int added(struct inode *inode, u64 index, u32 pages)
{
	u64 file = file_hash(inode->i_ino, inode->i_sb->s_dev);
	struct range r = { .file = file, .from = index, .to = index + pages - 1 };
	struct account *a;
	struct task *t;
	u64 from, to, again;

	if (set_aside(inode))
		return 0;
	a = account_of(inode, this_tgid());
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

/* A thread ends. */
static __always_inline int exited(struct task_struct *task)
{
	struct task *t = task_row(&tasks, task);

	if (!t)
		return 0;
	if (t->called.call) /* it is in none any more */
		ADD(lost_returns, 1);
	if (t->noted.unknown)
		ADD(lost_inodes, 1);
	settle_reads(t, task, true);
	close_call(task, t);
	finish_scan(t);
	flush(t);
	forget_task(&tasks, task);
	return 0;
}
