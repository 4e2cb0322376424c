//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Time that threads wait for locks: in which call, and for whom. */
#include "fields.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

const volatile s32 futex_call; /* the number of futex(2) */

/* In the order of kinds in locks.go. */
enum kind { NONE, MMAP_LOCK, RWSEM, MUTEX, OTHER, FUTEX, FREEZE };

/* A thread counts as one that waits when it has waited so long (ns). */
#define NOTABLE 10000000ULL

struct key {
	u32 tgid, holder; /* processes; holder 0: not known */
	s32 call;         /* -1: a page fault */
	u32 kind;
};
struct row {
	u64 ns, count;
};
struct wait {
	struct key key;
	u64 lock;      /* its address, 0 of futexes */
	u64 since;     /* ns, 0 when not waiting */
	u64 run_delay; /* of the scheduler, when the wait began: that time is no wait for the lock */
	u64 waited;    /* ns, of all waits of a window that are over */
	u32 window;    /* which one that is */
	u32 counted;   /* in it, as one of its process's threads */
};
struct waiters {
	u32 threads, window;
};
struct open {
	struct key key;
	u64 ns;
	u64 suspect; /* sleeps on a contended futex */
	u64 asleep;  /* thread that sleeps in the kernel since before anybody looked, 0: none */
	u64 sleeps;  /* of it: how often it has gone to sleep */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key);
	__type(value, struct row);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct waiters);
} waiters SEC(".maps"); /* threads by process */

u32 window = 1; /* which one it is; the reader counts them */

u64 followed_from; /* when waits for futexes were last begun to be followed (ns) */
u64 lost_tasks, lost_rows, lost_threads, missed_ends;

const volatile struct open no_open; /* for its type, which the reader needs */
static const struct row no_row;
static const struct wait no_wait;

FORGETS(tasks)

static const struct waiters no_threads;

/* 0 in a kernel without CONFIG_SCHED_INFO. */
static __always_inline u64 run_delay_of(struct task_struct *t)
{
	if (!bpf_core_field_exists(((struct task_struct___locks *)t)->sched_info.run_delay))
		return 0;
	return TASK((struct task_struct___locks *)t, sched_info.run_delay);
}

/*
 * The process of the thread that holds a lock, 0 when that is not known. Of a
 * lock that readers hold, the kernel keeps the last of them, who may have let
 * go: that one is named only if it is of the waiter's own process.
 */
static __always_inline u32 holder_of(struct task_struct *t, u64 lock, u32 flags)
{
	u64 owner = 0;
	u32 at, tgid;

	if (flags & (CONTENTION_RT | CONTENTION_PERCPU))
		return 0;
	if (flags & CONTENTION_MUTEX)
		at = bpf_core_field_offset(struct mutex, owner);
	else
		at = bpf_core_field_offset(struct rw_semaphore, owner);
	if (bpf_probe_read_kernel(&owner, sizeof(owner), (void *)(lock + at)) || !(owner & ~OWNER_FLAGS))
		return 0;
	tgid = BPF_CORE_READ((struct task_struct *)(owner & ~OWNER_FLAGS), tgid);
	if (!(flags & CONTENTION_MUTEX) && owner & RWSEM_READER_OWNED && tgid != TASK(t, tgid))
		return 0;
	return tgid < PID_LIMIT ? tgid : 0;
}

/* A wait that began before the programs that follow it were attached anew: its end may be long past. */
static __always_inline bool stale(struct wait *w)
{
	return w->key.kind == FUTEX && w->since < followed_from;
}

static __always_inline struct wait *begin(struct task_struct *t, u32 kind)
{
	struct wait *w = new_task_row(&tasks, t, &no_wait);

	if (!w) {
		ADD(lost_tasks, 1);
		return 0;
	}
	if (w->since && !stale(w)) /* how long that wait was is not known */
		ADD(missed_ends, 1);
	w->key.tgid = TASK(t, tgid);
	w->key.kind = kind;
	w->key.call = task_syscall(t);
	w->run_delay = run_delay_of(t);
	w->since = bpf_ktime_get_ns();
	return w;
}

/* What of a wait that began is the lock's up to now. */
static __always_inline u64 length_of(struct task_struct *t, struct wait *w, u64 since)
{
	u64 ns = bpf_ktime_get_ns() - since, queued = run_delay_of(t) - w->run_delay;

	if ((s64)ns < 0)
		return 0;
	return ns > queued ? ns - queued : 0;
}

/* Counts a thread once a window, when its waits are so long; goes_on is how long one of them lasts by now. */
static __always_inline void count_thread(struct wait *w, u64 goes_on)
{
	u32 tgid = w->key.tgid;
	struct waiters *n;

	if (w->counted || w->waited + goes_on < NOTABLE)
		return;
	w->counted = 1;
	n = bpf_map_lookup_elem(&waiters, &tgid);
	if (!n) {
		bpf_map_update_elem(&waiters, &tgid, &no_threads, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&waiters, &tgid);
		if (!n) {
			ADD(lost_threads, 1);
			return;
		}
	}
	if (n->window != window) {
		n->window = window;
		n->threads = 0;
	}
	ADD(n->threads, 1);
}

/* What was counted of a thread in an earlier window is over. */
static __always_inline void renew(struct wait *w)
{
	if (w->window == window)
		return;
	w->window = window;
	w->waited = 0;
	w->counted = 0;
}

static __always_inline void end(struct task_struct *t, struct wait *w)
{
	u64 since = w->since, ns;
	struct row *r;

	if (stale(w))
		since = 0;
	w->since = 0;
	w->lock = 0;
	if (!since)
		return;
	ns = length_of(t, w, since);
	r = bpf_map_lookup_elem(&waits, &w->key);
	if (!r) {
		bpf_map_update_elem(&waits, &w->key, &no_row, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&waits, &w->key);
		if (!r) {
			ADD(lost_rows, 1);
			return;
		}
		note_process(t, w->key.tgid);
	}
	ADD(r->ns, ns);
	ADD(r->count, 1);
	renew(w);
	w->waited += ns;
	count_thread(w, 0);
}

static __always_inline int lock_begins(u64 lock, u32 flags)
{
	struct task_struct *t;
	struct wait *w;
	u64 mm;
	u32 kind;

	if (flags & CONTENTION_SPIN) /* work, not waiting */
		return 0;
	t = current_task();
	if (TASK(t, flags) & PF_KTHREAD)
		return 0;
	mm = (u64)TASK_POINTER(struct task_struct___locks, t, mm);
	if (mm && lock == mm + bpf_core_field_offset(struct mm_struct, mmap_lock))
		kind = MMAP_LOCK;
	else if (flags & CONTENTION_PERCPU && flags & CONTENTION_READ) /* as who writes to a file system that is frozen */
		kind = FREEZE;
	else if (flags & (CONTENTION_RT | CONTENTION_PERCPU))
		kind = OTHER;
	else
		kind = flags & CONTENTION_MUTEX ? MUTEX : RWSEM;
	w = task_row(&tasks, t);
	if (w && w->since && w->lock == lock) /* the first in line for a mutex was woken, found it taken, spun in vain and sleeps on */
		return 0;
	w = begin(t, kind);
	if (!w)
		return 0;
	w->lock = lock;
	w->key.holder = holder_of(t, lock, flags);
	return 0;
}

static __always_inline int lock_ends(u64 lock)
{
	struct task_struct *t = current_task();
	struct wait *w = task_row(&tasks, t);

	if (w && w->since && w->lock == lock) /* not a spinlock inside */
		end(t, w);
	return 0;
}

/* The lock that the running thread waits for, 0: none. */
static __always_inline u64 lock_wanted(void)
{
	struct wait *w = task_row(&tasks, current_task());

	return w ? w->lock : 0;
}

CONTENTION_PROGRAMS(lock_begins, lock_ends, lock_wanted)

/* Whether a thread that sleeps waits for a contended mutex; all else is a thread without work. */
static __always_inline bool wants_mutex(struct task_struct *t, u32 *op)
{
	u32 value;

	if (t->flags & PF_KTHREAD || task_syscall(t) != futex_call)
		return false;
	futex_arguments(t, op, &value);
	return contended_mutex(*op, value);
}

/* Attached only after a look has found a thread in such a wait. */
SEC("tp_btf/sched_switch")
int COUNTING(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct wait *w;
	u32 op;

	if (!preempt && task_state(prev) & TASK_STATE_INTERRUPTIBLE && wants_mutex(prev, &op)) {
		w = begin(prev, FUTEX);
		if (w) {
			w->lock = 0;
			w->key.holder = op & FUTEX_PRIVATE ? prev->tgid : 0;
		}
	}
	w = next->pid ? task_row(&tasks, next) : 0;
	if (w && w->since && w->key.kind == FUTEX) /* its wake-up was not seen */
		end(next, w);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int COUNTING(on_wakeup, struct task_struct *t)
{
	struct wait *w = task_row(&tasks, t);

	if (w && w->since && w->key.kind == FUTEX)
		end(t, w);
	return 0;
}

/*
 * A thread that sleeps in the kernel, for no I/O, and was not seen to begin. It may
 * wait for a lock: the reader asks for its stack.
 */
static __always_inline bool unseen(struct task_struct *t, struct wait *w)
{
	u32 state = task_state(t);

	return state & TASK_STATE_UNINTERRUPTIBLE && !(state & TASK_STATE_NOLOAD) && !(w && w->since) &&
	       !BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait);
}

/* Waits that go on, and threads that wait for a mutex of their program. */
SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct open o = {};
	struct wait *w;
	u64 since;
	u32 op;

	if (!t || t->flags & PF_KTHREAD || ((struct task_struct___locks *)t)->exit_state)
		return 0;
	w = task_row(&tasks, t);
	if (task_state(t) & TASK_STATE_INTERRUPTIBLE && wants_mutex(t, &op)) {
		o.suspect = 1;
		o.key.tgid = t->tgid;
		if (!w || !w->since || stale(w)) {
			/* It fell asleep before anybody followed it, and may sleep on
			   for as long as is watched: it counts from now on. */
			w = begin(t, FUTEX);
			if (w) {
				w->lock = 0;
				w->key.holder = op & FUTEX_PRIVATE ? t->tgid : 0;
				note_process(t, t->tgid);
			}
		}
	}
	since = w && !stale(w) ? w->since : 0;
	/* else it is over, and its end was not seen */
	if (since && (w->key.kind == FUTEX ? o.suspect : task_state(t) & TASK_STATE_UNINTERRUPTIBLE)) {
		o.key = w->key;
		o.ns = length_of(t, w, since);
		renew(w);
		count_thread(w, o.ns);
	}
	if (unseen(t, w)) {
		o.key.tgid = t->tgid;
		o.key.call = task_syscall(t);
		o.asleep = t->pid;
		o.sleeps = ((struct task_struct___locks *)t)->nvcsw;
		note_process(t, t->tgid);
	}
	if (o.ns || o.suspect || o.asleep)
		bpf_seq_write(ctx->meta->seq, &o, sizeof(o));
	return 0;
}
