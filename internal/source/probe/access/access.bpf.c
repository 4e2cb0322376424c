//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What happens to a sample of the page cache's pages: they are put in, asked
 * for, written, evicted. Of each aligned run of pages exactly one is watched,
 * which one a hash tells (stratified SHARDS: Waldspurger et al., FAST '15), so
 * that most accesses cost the hash and nothing else. docs/predict.md says what
 * is made of it.
 */
#include "readers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The thread asks for the pages from..last that it did not ask for before. */
static __always_inline int ask(struct place *p, struct range *r, u64 from, u64 last)
{
	u64 run = from >> shift, hash;

	if (last >= from)
		p->asked += last - from + 1;
	if (p->asked >= HELD || p->calls >= HELD)
		count_asked(p);
	if (last < from)
		return 0;
	r->from = from;
	r->to = last;
	if (run == last >> shift) { /* most calls: nothing is called for pages that are not watched */
		hash = run_hash(r->file, run);
		if (!is_watched(r, page_of(run, hash), hash))
			return 0;
	}
	return look_at(r);
}

/* The next batch of the same call. */
static __always_inline bool goes_on(struct place *p, u64 file, u64 index, u64 end)
{
	return p->file == file && p->last == end && index > p->index && index != p->last;
}

/*
 * Whether the pages behind the call before are the beginning of the one that looks up
 * index. io_uring goes on with a call without waiting.
 */
static __always_inline bool left_out(struct place *p, u64 file, u64 index, u64 end, bool waited)
{
	return p->file == file && may_follow(p->last, p->request, index, end) && (waited || in_uring());
}

/* A call asks for from..end, and looks up index; last is the last of them that the file has. */
static __always_inline int begins(struct place *p, struct range *r, u64 index, u64 from, u64 end, u64 last)
{
	p->request = end - from + 1;
	if (p->file == r->file && p->last == from)
		from++; /* starts on the page where the last call ended: the same access, as the kernel sees it too */
	p->file = r->file;
	p->index = index;
	p->last = end;
	return ask(p, r, from, last);
}

/* One call makes several events, all with the call's own end: only the first
 * counts. docs/pagecache.md has the rules. */
static __always_inline int visited(struct inode *inode, u64 index, u64 end)
{
	u64 size = inode->i_size, eof = size ? (size - 1) >> page_shift : 0, last = end < eof ? end : eof, from = index;
	struct range r = { .ino = inode->i_ino, .dev = inode->i_sb->s_dev, .kind = PAGE_READ };
	struct seat *s = seat_here();
	struct reader *t;

	if (last < index)
		return 0;
	r.file = file_hash(r.ino, r.dev);
	if (s && s->taken) {
		if (goes_on(&s->at, r.file, index, end)) {
			s->at.index = index;
			return 0;
		}
		count_cycle(s);
		s->at.calls++;
		if (left_out(&s->at, r.file, index, end, false)) /* who waits leaves the seat */
			from = s->at.last + 1;
		begins(&s->at, &r, index, from, end, last);
		call_goes_on(s);
		return 0;
	}
	t = reader_of(current_task());
	if (!t)
		return 0;
	if (goes_on(&t->at, r.file, index, end)) {
		t->at.index = index;
		if (t->missed_at)
			t->missing += end_miss(t);
		return 0;
	}
	begin_read(t);
	if (t->ra_file == r.file && t->ra_last == end) {
		if (t->ra_index < index)
			from = t->ra_index;
	} else if (left_out(&t->at, r.file, index, end, t->missing)) {
		from = t->at.last + 1;
	}
	t->ra_file = 0;
	begins(&t->at, &r, index, from, end, last);
	take_seat(s, t);
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int COUNTING(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long end)
{
	struct inode *inode = mapping->host;
	struct reader *t;

	if (by_events) {
		t = reader_of(current_task());
		if (!t || !note_inode(&t->noted, inode, index))
			return 0;
	}
	return visited(inode, index, end);
}

SEC("tracepoint/filemap/mm_filemap_get_pages")
int COUNTING_EVENT(event_get_pages, trace_event_raw_mm_filemap_op_page_cache_range)
{
	struct reader *t = reader_of(current_task());
	struct inode *inode = t ? inode_noted(&t->noted, event->i_ino, event->s_dev, event->index) : 0;

	return inode ? visited(inode, event->index, event->last_index) : 0;
}

/* Where a look-up ends: it tells of the pages that the call is about to copy. */
static __always_inline int found_pages(struct kiocb *iocb, u64 count, struct folio_batch *batch, const void *at)
{
	struct inode *inode = inode_of(iocb);
	struct range r = { .ino = OF(inode, i_ino), .dev = OF(inode, i_sb, s_dev), .kind = PAGE_READ };
	u64 pos = OF(iocb, ki_pos), size = OF(inode, i_size), eof = size ? (size - 1) >> page_shift : 0, from = pos >> page_shift, last, end;
	u32 nr = batch_size(batch);
	struct reader *t;

	if (!count || !nr)
		return 0;
	last = (pos + count - 1) >> page_shift;
	if (last - from >= nr) { /* else every folio is a page of the call at least */
		end = batch_end(at, nr);
		if (last > end)
			last = end;
	}
	if (last > eof)
		last = eof;
	if (last < from)
		return 0;
	t = reader_of(current_task());
	if (!t)
		return 0;
	begin_read(t);
	r.file = file_hash(r.ino, r.dev);
	if (t->at.file == r.file && t->at.last == from)
		from++; /* the same access, as above */
	t->at.file = r.file;
	t->at.last = last;
	return ask(&t->at, &r, from, last);
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

SEC("kprobe")
int COUNTING_CALL(get_pages_called)
{
	struct reader *t = reader_of(current_task());

	if (t)
		begin_call(&t->called, ctx, CALL_GET_PAGES);
	return 0;
}

/* The thread's row, where the look-up that returns found something. */
static __always_inline struct reader *has_found(void *ctx)
{
	struct reader *t = task_row(&readers, current_task());

	return t && end_call(&t->called, CALL_GET_PAGES) && !(s32)RETURNED(ctx) ? t : 0;
}

SEC("kprobe")
int get_pages_returned(void *ctx)
{
	struct reader *t = has_found(ctx);

	return t ? found_pages((void *)t->called.argument[0], t->called.argument[1], (void *)t->called.argument[2], &t->called.argument[2]) : 0;
}

SEC("kprobe")
int get_pages_iter_returned(void *ctx)
{
	struct reader *t = has_found(ctx);
	struct iov_iter *iter;

	if (!t)
		return 0;
	iter = (void *)t->called.argument[1];
	return found_pages((void *)t->called.argument[0], BPF_CORE_READ(iter, count), (void *)t->called.argument[2], &t->called.argument[2]);
}

/*
 * Before filemap_get_pages (5.12): the end of a read that has copied, which is
 * all that tells of it. written was copied before, past the cache.
 */
static __always_inline int has_read(struct kiocb *iocb, s64 written, s64 copied)
{
	struct inode *inode;
	struct range r = { .kind = PAGE_READ };
	u64 end, from, last;
	struct reader *t;

	if (copied <= written)
		return 0;
	t = reader_of(current_task());
	if (!t)
		return 0;
	begin_read(t); /* of this call it is the end: what was missed was missed in it */
	inode = inode_of(iocb);
	r.ino = OF(inode, i_ino);
	r.dev = OF(inode, i_sb, s_dev);
	r.file = file_hash(r.ino, r.dev);
	end = OF(iocb, ki_pos);
	from = (end - (copied - written)) >> page_shift;
	last = (end - 1) >> page_shift;
	if (t->at.file == r.file && t->at.last == from)
		from++; /* the same access, as above */
	t->at.file = r.file;
	t->at.last = last;
	return ask(&t->at, &r, from, last);
}

SEC("fexit/generic_file_buffered_read")
int COUNTING(was_read, struct kiocb *iocb, struct iov_iter *iter, long written, long copied)
{
	return has_read(iocb, written, copied);
}

SEC("kprobe")
int COUNTING_CALL(buffered_read_called)
{
	struct reader *t = reader_of(current_task());

	if (t)
		begin_call(&t->called, ctx, CALL_BUFFERED_READ);
	return 0;
}

SEC("kprobe")
int buffered_read_returned(void *ctx)
{
	struct reader *t = task_row(&readers, current_task());

	return t && end_call(&t->called, CALL_BUFFERED_READ) ? has_read((void *)t->called.argument[0], t->called.argument[2], RETURNED(ctx)) : 0;
}

static __always_inline int needed(u64 file, u64 index, u64 request)
{
	struct reader *t;

	leave_seat(current_task());
	t = reader_of(current_task());
	if (!t)
		return 0;
	if (!t->ra_file) /* the call's first: what was noted before led to no event, as in a direct read */
		t->missed_at = 0;
	missed(t, current_task());
	if (t->ra_file == file && t->ra_last == index + request - 1)
		return 0;
	t->ra_file = file;
	t->ra_index = index;
	t->ra_last = index + request - 1;
	return 0;
}

READAHEAD_PROGRAMS(needed)

static __always_inline void look_at_folio(struct folio *folio, struct inode *inode, u32 kind)
{
	struct range r = { .ino = inode->i_ino, .dev = inode->i_sb->s_dev, .from = FOLIO(folio, index), .kind = kind };
	u64 memcg;

	r.file = file_hash(r.ino, r.dev);
	r.to = r.from + folio_pages(folio) - 1;
	if (kind != PAGE_WRITTEN) {
		memcg = folio_memcg(folio);
		if (memcg)
			r.cgroup = BPF_CORE_READ((struct mem_cgroup *)memcg, css.cgroup, kn, id);
	}
	look_at(&r);
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int COUNTING(on_add, struct folio *folio)
{
	leave_seat(current_task()); /* a call that puts pages in, be it for later ones, is none of those that miss nothing */
	look_at_folio(folio, FOLIO(folio, mapping)->host, PAGE_ADDED);
	return 0;
}

/* The cgroup that a page is put in for is the thread's, but for what a worker reads for others. */
SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int COUNTING_EVENT(event_add, trace_event_raw_mm_filemap_op_page_cache)
{
	struct range r = { .ino = event->i_ino, .dev = event->s_dev, .from = event->index, .kind = PAGE_ADDED };

	r.file = file_hash(r.ino, r.dev);
	r.to = r.from + (1ULL << (event->order & 31)) - 1;
	leave_seat(current_task());
	look_at(&r);
	return 0;
}

/* Reclaim runs with PF_MEMALLOC set, truncation and drop_caches do not. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int COUNTING(on_delete, struct folio *folio)
{
	bool reclaim = TASK(current_task(), flags) & PF_MEMALLOC;

	look_at_folio(folio, FOLIO(folio, mapping)->host, reclaim ? PAGE_EVICTED : PAGE_DROPPED);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int COUNTING(on_dirty, struct folio *folio, struct address_space *mapping)
{
	if (mapping)
		look_at_folio(folio, mapping->host, PAGE_WRITTEN);
	return 0;
}

static __always_inline int fault_of(u64 ino, u32 dev, u64 index)
{
	struct range r = { .ino = ino, .dev = dev, .from = index, .to = index, .kind = PAGE_FAULTED };

	r.file = file_hash(r.ino, r.dev);
	look_at(&r);
	return 0;
}

static __always_inline int faulted(struct inode *inode, u64 index)
{
	return fault_of(OF(inode, i_ino), OF(inode, i_sb, s_dev), index);
}

SEC("tracepoint/filemap/mm_filemap_fault")
int COUNTING_EVENT(event_fault, trace_event_raw_mm_filemap_fault)
{
	return fault_of(event->i_ino, event->s_dev, event->index);
}

#define ALWAYS(inode, index) true
FAULT_PROGRAMS(ALWAYS, faulted)

/* Threads that have read are timed while they wait for I/O, and for the processor. */
SEC("tp_btf/sched_switch")
int COUNTING(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct reader *t;
	struct process *w;
	u64 ns, queued;

	leave_seat(prev);
	switch_out(prev, preempt);
	if (!next->pid)
		return 0;
	t = task_row(&readers, next);
	if (t && t->away_at) {
		t->away += bpf_ktime_get_ns() - t->away_at;
		t->away_at = 0;
	}
	if (t && t->off) {
		ns = bpf_ktime_get_ns() - t->off;
		queued = queued_of(next) - t->off_queued;
		w = process_of(next->tgid);
		if (w && queued < ns) /* both clocks were read at slightly different instants */
			ADD(w->ns, ns - queued);
		t->off = 0;
	} else if (t && t->lost_at) {
		t->late += bpf_ktime_get_ns() - t->lost_at;
		t->lost_at = 0;
	}
	return 0;
}

/* The program runs in the thread that ends. */
SEC("tp_btf/sched_process_exit")
int COUNTING(on_end, struct task_struct *task)
{
	ends(task);
	return 0;
}
