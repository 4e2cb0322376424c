//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What happens to a sample of the page cache's pages: they are put in, asked
 * for, written, evicted. Of each aligned run of pages exactly one is watched,
 * which one a hash tells (stratified SHARDS: Waldspurger et al., FAST '15), so
 * that most accesses cost the hash and nothing else. docs/predict.md says what
 * is made of it.
 */
#include "batch.bpf.h"
#include "hist.bpf.h"
#include "queue.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define HELD 64 /* pages that a thread counts for itself */
#define MAX_RUNS 4096 /* of one call or folio that are looked at */
#define OLD_MAX_RUNS 256 /* the same in kernels without loops by a helper */

/* What happened to a watched page. */
enum kind { PAGE_READ = 1, PAGE_ADDED, PAGE_EVICTED, PAGE_DROPPED, PAGE_WRITTEN, PAGE_FAULTED };

struct event {
	u64 at; /* ns, CLOCK_MONOTONIC */
	u64 ino;
	u64 page;
	u64 cgroup; /* of the memory controller: the page's if it was put in or taken out, else the thread's */
	u32 dev;
	u32 tgid;
	u32 hash; /* of the run: chooses fewer pages without a bias */
	u32 kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

const struct event *unused_event __attribute__((unused)); /* so that the reader knows its shape */

/* What the threads of a process that read files ask for, and wait. */
struct process {
	u64 ns; /* blocked on I/O */
	u64 threads; /* that have asked for a page */
	u64 asked; /* pages, watched or not, but for what the threads hold */
	u64 calls; /* that asked for them, likewise */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct process);
} processes SEC(".maps");

/*
 * How long it took read calls to have pages that were not in the cache, and to get the
 * processor back that they lost afterwards: an eighth of an octave each. The others
 * are here if they lost the processor.
 */
struct wait_key {
	u32 tgid;
	u32 slot; /* of ns / 1024: 0 to 7 itself, then 8 for each power of two; HIT in addition */
};
#define HIT 0x8000 /* the call missed no page */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wait_key);
	__type(value, u64);
} waits SEC(".maps");

/* Where a thread's reading stands: one call makes an event for each batch of folios. */
struct reader {
	u64 file, index, last, request;
	u64 ra_file, ra_index, ra_last; /* the synchronous read-ahead that came before */
	u64 off; /* when it began to wait, 0 while it does not */
	u64 off_queued; /* how long it had queued for processors in its life then */
	u64 asked, calls; /* that are not counted for the process yet */
	u64 missed_at; /* when the call began to read from disk or to wait for it, 0 before */
	u64 missing; /* ns from there to the event, of the last call so far */
	u64 lost_at; /* when the call lost the processor though it could go on, 0 while it has it */
	u64 late; /* ns until it had it back, after its pages were there */
	s64 call; /* number of the system call of missed_at */
	struct called called; /* by kprobes only */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reader);
} readers SEC(".maps");

const volatile u32 shift; /* pages of a run, as a power of two */
u32 thin; /* of the watched pages, those are left whose hash has none of these bits */
u64 lost_events, lost_tasks, lost_processes, lost_waits, long_ranges;

static const struct process new_process;
static const struct reader new_reader;

FORGETS(readers)

static __always_inline u64 file_hash(u64 ino, u32 dev)
{
	return (ino + ((u64)dev << 40)) * 0x9E3779B97F4A7C15ULL;
}

/* murmur3's finisher: neighbours get unrelated pages */
static __always_inline u64 run_hash(u64 file, u64 run)
{
	u64 hash = file + run * 0x9E3779B97F4A7C15ULL;

	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return hash ^ hash >> 33;
}

struct range {
	u64 file, ino, from, to, cgroup;
	u32 dev, kind;
};

/* Hands over the page of a run that is watched, if it is in the range. */
static long look_at_run(u32 i, struct range *r)
{
	u64 run = (r->from >> shift) + i, hash, page;
	struct event *e;

	if (run > r->to >> shift)
		return 1;
	hash = run_hash(r->file, run);
	page = (run << shift) + (hash & ((1ULL << shift) - 1));
	if (page < r->from || page > r->to || (u32)(hash >> 32) & thin)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		ADD(lost_events, 1);
		return 0;
	}
	e->at = bpf_ktime_get_ns();
	e->ino = r->ino;
	e->page = page;
	e->cgroup = r->cgroup;
	if (!r->cgroup)
		e->cgroup = task_cgroup(current_task(), bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	e->dev = r->dev;
	e->tgid = bpf_get_current_pid_tgid() >> 32;
	e->hash = hash >> 32;
	e->kind = r->kind;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __noinline int look_at(struct range *r)
{
	u64 runs, most = lacks & LACKS_LOOP ? OLD_MAX_RUNS : MAX_RUNS;

	if (!r || r->to < r->from)
		return 0;
	runs = (r->to >> shift) - (r->from >> shift) + 1;
	if (runs > 2) {
		if (runs > most) {
			ADD(long_ranges, 1);
			runs = most;
		}
		LOOP(OLD_MAX_RUNS, runs, look_at_run, look_at_run, r);
		return 0;
	}
	look_at_run(0, r);
	if (runs == 2)
		look_at_run(1, r);
	return 0;
}

static __always_inline struct process *process_of(u32 tgid)
{
	struct process *w = bpf_map_lookup_elem(&processes, &tgid);

	if (w)
		return w;
	bpf_map_update_elem(&processes, &tgid, &new_process, BPF_NOEXIST);
	w = bpf_map_lookup_elem(&processes, &tgid);
	if (!w)
		ADD(lost_processes, 1);
	return w;
}

static __always_inline struct reader *reader_of(struct task_struct *task)
{
	struct reader *t = task_row(&readers, task);
	struct process *w;

	if (t)
		return t;
	t = new_task_row(&readers, task, &new_reader);
	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	w = process_of(TASK(task, tgid));
	if (w)
		ADD(w->threads, 1);
	return t;
}

static __always_inline void count_asked(struct reader *t)
{
	struct process *w = process_of(bpf_get_current_pid_tgid() >> 32);

	if (w) {
		ADD(w->asked, t->asked);
		ADD(w->calls, t->calls);
	}
	t->asked = t->calls = 0;
}

static __noinline int count_wait(u64 ns, u32 kind)
{
	struct wait_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	u64 v = ns >> 10, zero = 0, *n;
	u32 octave = hist_slot(v);

	key.slot = kind | (octave < 3 ? v : (octave - 2) * 8 + (v >> ((octave - 3) & 63) & 7));
	n = bpf_map_lookup_elem(&waits, &key);
	if (!n) {
		bpf_map_update_elem(&waits, &key, &zero, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&waits, &key);
	}
	if (n)
		ADD(*n, 1);
	else
		ADD(lost_waits, 1);
	return 0;
}

/* A call finds a page missing, or waits for one that is being read. */
static __always_inline void missed(struct reader *t, struct task_struct *task)
{
	s64 call = task_syscall(task);

	if (t->missed_at && t->call == call)
		return;
	t->call = call;
	t->missed_at = bpf_ktime_get_ns();
}

/* The pages are there. What was missed in another call, as in a page fault, is none of this one's. */
static __noinline u64 end_miss(struct reader *t)
{
	u64 ns = t->call == task_syscall(current_task()) ? bpf_ktime_get_ns() - t->missed_at : 0;

	t->missed_at = 0;
	return ns;
}

/* A call begins: the last one misses nothing more. */
static __always_inline void begin_read(struct reader *t)
{
	u64 late = t->late;

	t->calls++;
	if (t->missing | late)
		count_wait(t->missing + late, t->missing ? 0 : HIT);
	t->late = 0;
	t->missing = t->missed_at ? end_miss(t) : 0;
}

/*
 * A thread loses the processor: to wait for a page, or to others. Where it had its
 * pages already, the time until it has it back is in no miss. Calls other than those
 * that have missed pages are none of ours, and neither is what it does outside of calls.
 */
static __always_inline void switch_out(struct task_struct *task, bool preempted)
{
	struct reader *t;

	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)) {
		t = task_row(&readers, task);
		if (t) {
			t->off = bpf_ktime_get_ns();
			t->off_queued = queued_of(task);
			missed(t, task);
		}
	} else if (preempted || !task_state(task)) {
		t = task_row(&readers, task);
		if (t && !t->missed_at && t->call == task_syscall(task))
			t->lost_at = bpf_ktime_get_ns();
	}
}

/* The thread asks for the pages from..last that it did not ask for before. */
static __always_inline int ask(struct reader *t, struct range *r, u64 from, u64 last)
{
	if (last >= from)
		t->asked += last - from + 1;
	if (t->asked >= HELD || t->calls >= HELD)
		count_asked(t);
	if (last < from)
		return 0;
	r->from = from;
	r->to = last;
	return look_at(r);
}

/* One call makes several events, all with the call's own end: only the first
 * counts. docs/pagecache.md has the rules. */
SEC("tp_btf/mm_filemap_get_pages")
int COUNTING(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long end)
{
	struct inode *inode = mapping->host;
	u64 size = inode->i_size, eof = size ? (size - 1) >> PAGE_SHIFT : 0, last = end < eof ? end : eof, from = index;
	struct range r = { .ino = inode->i_ino, .dev = inode->i_sb->s_dev, .kind = PAGE_READ };
	struct reader *t;

	if (last < index)
		return 0;
	t = reader_of(current_task());
	if (!t)
		return 0;
	r.file = file_hash(r.ino, r.dev);
	if (t->file == r.file && t->last == end && index > t->index && index != t->last) {
		t->index = index;
		if (t->missed_at)
			t->missing += end_miss(t);
		return 0; /* the next batch of the same call */
	}
	begin_read(t);
	/* a batch whose last folio was not read yet returned without an event */
	if (t->ra_file == r.file && t->ra_last == end && t->ra_index < index)
		from = t->ra_index;
	else if (t->file == r.file && index > t->last + 1 && end - t->last - t->request <= 1)
		from = t->last + 1;
	t->request = end - from + 1;
	if (t->file == r.file && t->last == from)
		from++; /* starts on the page where the last call ended: the same access, as the kernel sees it too */
	t->ra_file = 0;
	t->file = r.file;
	t->index = index;
	t->last = end;
	return ask(t, &r, from, last);
}

/* Where a look-up ends: it tells of the pages that the call is about to copy. */
static __always_inline int found_pages(struct kiocb *iocb, u64 count, struct folio_batch *batch, const void *at)
{
	struct inode *inode = inode_of(iocb);
	struct range r = { .ino = OF(inode, i_ino), .dev = OF(inode, i_sb, s_dev), .kind = PAGE_READ };
	u64 pos = OF(iocb, ki_pos), size = OF(inode, i_size), eof = size ? (size - 1) >> PAGE_SHIFT : 0, from = pos >> PAGE_SHIFT, last, end;
	u32 nr = batch_size(batch);
	struct reader *t;

	if (!count || !nr)
		return 0;
	last = (pos + count - 1) >> PAGE_SHIFT;
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
	if (t->file == r.file && t->last == from)
		from++; /* the same access, as above */
	t->file = r.file;
	t->last = last;
	return ask(t, &r, from, last);
}

/* (iocb, count, batch, need_uptodate), since 6.7 */
SEC("fexit/filemap_get_pages")
int COUNTING(got_pages, struct kiocb *iocb, unsigned long count, struct folio_batch *batch, bool whole, int failed)
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
	from = (end - (copied - written)) >> PAGE_SHIFT;
	last = (end - 1) >> PAGE_SHIFT;
	if (t->file == r.file && t->last == from)
		from++; /* the same access, as above */
	t->file = r.file;
	t->last = last;
	return ask(t, &r, from, last);
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

SEC("tp_btf/page_cache_sync_ra")
int COUNTING(on_sync_readahead, struct inode *inode, unsigned long index, void *ra, unsigned long request)
{
	struct reader *t = reader_of(current_task());
	u64 file;

	if (!t)
		return 0;
	if (!t->ra_file) /* the call's first: what was noted before led to no event, as in a direct read */
		t->missed_at = 0;
	missed(t, current_task());
	file = file_hash(inode->i_ino, inode->i_sb->s_dev);
	if (t->ra_file == file && t->ra_last == index + request - 1)
		return 0;
	t->ra_file = file;
	t->ra_index = index;
	t->ra_last = index + request - 1;
	return 0;
}

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
	look_at_folio(folio, FOLIO(folio, mapping)->host, PAGE_ADDED);
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

static __always_inline int faulted(struct inode *inode, u64 index)
{
	struct range r = { .ino = OF(inode, i_ino), .dev = OF(inode, i_sb, s_dev), .from = index, .to = index, .kind = PAGE_FAULTED };

	r.file = file_hash(r.ino, r.dev);
	look_at(&r);
	return 0;
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

	switch_out(prev, preempt);
	if (!next->pid)
		return 0;
	t = task_row(&readers, next);
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
