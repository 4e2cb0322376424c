/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The pages that are watched, and what threads that read ask for and wait. */
#pragma once

#include "batch.bpf.h"
#include "event.bpf.h"
#include "hist.bpf.h"
#include "queue.bpf.h"

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
	u64 worked; /* ns on a processor for pages that were missed, likewise */
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
 * are here if they lost the processor. From call to call of those that did neither, with
 * all that the program does between them, it is counted for some of each run of calls.
 */
struct wait_key {
	u32 tgid;
	u32 slot; /* of ns / 1024: 0 to 7 itself, then 8 for each power of two; HIT or CYCLE in addition */
};
#define HIT 0x8000 /* the call missed no page */
#define CYCLE 0x4000 /* of ns / 32: from call to call */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wait_key);
	__type(value, u64);
} waits SEC(".maps");

/* Where a thread's reading stands: one call makes an event for each batch of folios. */
struct place {
	u64 file, index, last, request;
	u64 asked, calls, worked; /* that are not counted for the process yet */
};

struct reader {
	struct place at; /* unless a seat has it */
	u64 ra_file, ra_index, ra_last; /* the synchronous read-ahead that came before */
	u64 off; /* when it began to wait, 0 while it does not */
	u64 off_queued; /* how long it had queued for processors in its life then */
	u64 missed_at; /* when the call began to read from disk or to wait for it, 0 before */
	u64 away_at; /* when it lost the processor since, 0 while it has it */
	u64 away; /* ns since then that it had none */
	u64 missing; /* ns from there to the event, of the last call so far */
	u64 lost_at; /* when the call lost the processor though it could go on, 0 while it has it */
	u64 late; /* ns until it had it back, after its pages were there */
	s64 call; /* number of the system call of missed_at */
	struct called called; /* by kprobes only */
	struct noted noted; /* by events only */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reader);
} readers SEC(".maps");

/*
 * The place of the thread that has the processor, while all that it asks for is cached: a
 * look-up of its row would take longer than all else that such a call needs. It goes back
 * to the row when the thread misses a page or leaves the processor. Programs at events are
 * not interrupted by on_switch; where they are (PREEMPT_RT), a call may be counted wrong.
 */
struct seat {
	struct place at;
	u64 taken;
	u64 calls; /* since one was timed, of whichever thread */
	u64 since; /* when the last call had begun, ns; 0 where that is not wanted */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct seat);
} seats SEC(".maps");

const volatile u32 shift; /* pages of a run, as a power of two */
u32 thin; /* of the watched pages, those are left whose hash has none of these bits */
u64 lost_events, lost_tasks, lost_processes, lost_waits, long_ranges;

static const struct process new_process;
static const struct reader new_reader;

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

/* The page of a run that is watched. */
static __always_inline u64 page_of(u64 run, u64 hash)
{
	return (run << shift) + (hash & ((1ULL << shift) - 1));
}

static __always_inline bool is_watched(struct range *r, u64 page, u64 hash)
{
	return page >= r->from && page <= r->to && !((u32)(hash >> 32) & thin);
}

/* Hands over the page of a run that is watched, if it is in the range. */
static long look_at_run(u32 i, struct range *r)
{
	u64 run = (r->from >> shift) + i, hash, page;
	struct event *e;

	if (run > r->to >> shift)
		return 1;
	hash = run_hash(r->file, run);
	page = page_of(run, hash);
	if (!is_watched(r, page, hash))
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

#define IO_URING_ENTER 426 /* on every architecture */

/* The thread reads for io_uring. */
static __noinline bool in_uring(void)
{
	struct task_struct *task = current_task();

	return TASK(task, flags) & PF_IO_WORKER || task_syscall(task) == IO_URING_ENTER;
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

static __always_inline void count_asked(struct place *p)
{
	struct process *w = process_of(bpf_get_current_pid_tgid() >> 32);

	if (w) {
		ADD(w->asked, p->asked);
		ADD(w->calls, p->calls);
		ADD(w->worked, p->worked);
	}
	p->asked = p->calls = p->worked = 0;
}

static __always_inline struct seat *seat_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&seats, &zero);
}

/* The thread's row has its place again. */
static __always_inline void leave_seat(struct task_struct *task)
{
	struct seat *s = seat_here();
	struct reader *t;

	if (!s || !s->taken)
		return;
	s->taken = 0;
	t = task_row(&readers, task);
	if (t)
		t->at = s->at;
}

static __always_inline void take_seat(struct seat *s, struct reader *t)
{
	if (!s || t->missed_at | t->missing | t->late)
		return;
	s->at = t->at;
	s->since = 0;
	s->taken = 1;
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

/*
 * A call begins after one that missed nothing. Of these each 61st is timed to the next one,
 * from where this program has done its work there (call_goes_on) to where it begins here.
 * The number is odd, for programs that ask for an index and for data in turn.
 */
#define TIMED 61

static __always_inline void count_cycle(struct seat *s)
{
	if (s->since) {
		count_wait((bpf_ktime_get_ns() - s->since) << 5, CYCLE);
		s->since = 0;
	}
	s->calls++;
}

static __always_inline void call_goes_on(struct seat *s)
{
	if (s->calls >= TIMED) {
		s->calls = 0;
		s->since = bpf_ktime_get_ns();
	}
}

/* A call finds a page missing, or waits for one that is being read. */
static __always_inline void missed(struct reader *t, struct task_struct *task)
{
	s64 call = task_syscall(task);

	if (t->missed_at && t->call == call)
		return;
	t->call = call;
	t->away = t->away_at = 0;
	t->missed_at = bpf_ktime_get_ns();
}

/* The pages are there. What was missed in another call, as in a page fault, is none of this one's. */
static __noinline u64 end_miss(struct reader *t)
{
	u64 ns = t->call == task_syscall(current_task()) ? bpf_ktime_get_ns() - t->missed_at : 0;

	t->missed_at = 0;
	if (ns > t->away)
		t->at.worked += ns - t->away;
	return ns;
}

/* A call begins: the last one misses nothing more. */
static __always_inline void begin_read(struct reader *t)
{
	u64 late = t->late;

	t->at.calls++;
	if (t->missing | late)
		count_wait(t->missing + late, t->missing ? 0 : HIT);
	t->late = 0;
	t->missing = t->missed_at ? end_miss(t) : 0;
}

/* A thread ends: what it holds is counted, be it little. The row goes then where it must be deleted. */
static __always_inline void ends(struct task_struct *task)
{
	struct reader *t;

	leave_seat(task);
	t = task_row(&readers, task);
	if (!t)
		return;
	if (t->missing | t->late)
		count_wait(t->missing + t->late, t->missing ? 0 : HIT);
	if (t->at.asked | t->at.calls | t->at.worked)
		count_asked(&t->at);
	forget_task(&readers, task);
}

#define UNINTERRUPTIBLE 2 /* TASK_UNINTERRUPTIBLE */

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
			t->away_at = t->off;
		}
	} else if (preempted || !task_state(task) || task_state(task) & UNINTERRUPTIBLE) {
		t = task_row(&readers, task);
		if (!t || t->call != task_syscall(task))
			return;
		if (t->missed_at)
			t->away_at = bpf_ktime_get_ns();
		else if (preempted || !task_state(task))
			t->lost_at = bpf_ktime_get_ns();
	}
}
