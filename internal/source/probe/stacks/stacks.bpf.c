//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Where threads wait, and where they run, by stack. */
#include "contention.bpf.h"
#include "iter.bpf.h"
#include "rows.bpf.h"
#include "stalls.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct rw_semaphore;
struct mm_struct {
	struct rw_semaphore {} mmap_lock;
};
struct sched_info {
	unsigned long pcount;
};
struct task_struct___stacks {
	int on_cpu;
	int exit_state;
	struct sched_info sched_info;
	struct mm_struct *mm;
};
#pragma clang attribute pop

/* include/linux/sched.h */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_STOPPED 0x000c /* or traced */
#define STATE_PARKED 0x0040
#define STATE_DEAD 0x0080
#define STATE_NOLOAD 0x0400
#define STATE_FROZEN 0x8000

const volatile u64 min_ns;     /* shorter waits are added up until they make one */
const volatile u32 can_return; /* sched_exit_tp tells when a thread comes back */
const volatile u32 want_wakers;
const volatile u64 sample_ns;  /* that one sample of a running thread stands for */

u64 started, started_boot, ended; /* ns: the window */

struct thread {
	u64 since; /* ns: when it left the processor, 0 while it runs */
	u64 woken;
	u64 short_ns, short_queued; /* of waits too short to keep their stacks */
	u32 short_count;
	u32 how;
	u64 lock_at; /* the kernel lock that it is about to wait for */
	u64 user;    /* its stack, when that cannot be taken later */
	u64 waker_kernel, waker_user;
	u32 waker_tgid;
	u32 lock; /* enum how */
	char waker[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static const struct thread no_thread;

u64 lost_threads, short_left;

static __always_inline u32 how_of(u32 state)
{
	u32 how = 0;

	if (state & STATE_UNINTERRUPTIBLE)
		how |= HOW_UNINTERRUPTIBLE;
	if (state & (STATE_STOPPED | STATE_FROZEN))
		how |= HOW_STOPPED;
	if (state & (STATE_NOLOAD | STATE_PARKED))
		how |= HOW_NOLOAD;
	return how;
}

#define FUTEX_WAITERS 0x80000000
#define FUTEX_COMMAND 0x7f
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13

/*
 * What a thread's entry into the kernel says: an exception, or arguments as a
 * contended mutex has them, that waits for the value 2 (glibc, Rust, Go) or one
 * with FUTEX_WAITERS (musl, robust mutexes) to change. Threads that Rust parks
 * wait for -1.
 */
static __always_inline u32 how_it_entered(struct task_struct *t)
{
	void *regs = task_regs(t);
	u32 op, value;
	s32 call;

	if (bpf_core_type_exists(struct pt_regs___x86all) && bpf_core_field_exists(((struct pt_regs___x86all *)0)->orig_ax)) {
		call = (s32)BPF_CORE_READ((struct pt_regs___x86all *)regs, orig_ax);
		op = BPF_CORE_READ((struct pt_regs___x86all *)regs, si);
		value = BPF_CORE_READ((struct pt_regs___x86all *)regs, dx);
	} else {
		call = BPF_CORE_READ((struct pt_regs___arm64all *)regs, syscallno);
		op = BPF_CORE_READ((struct pt_regs___arm64all *)regs, regs[1]);
		value = BPF_CORE_READ((struct pt_regs___arm64all *)regs, regs[2]);
	}
	if (call < 0)
		return HOW_FAULT;
	op &= FUTEX_COMMAND;
	return value == 2 || (value & FUTEX_WAITERS && value != -1U) || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 ? HOW_MUTEX : 0;
}

/* Everything that is still as it was when the thread went to sleep. */
static __always_inline u32 how_it_waits(struct task_struct *t, struct thread *s, u32 how)
{
	if (how & HOW_PREEMPTED)
		return how;
	if (BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait))
		how |= HOW_IOWAIT;
	if (s)
		how |= s->lock;
	return how | (TASK(t, flags) & PF_KTHREAD ? HOW_KERNEL_THREAD : how_it_entered(t));
}

static __always_inline struct thread *thread_of(struct task_struct *t)
{
	struct thread *s = new_task_row(&threads, t, &no_thread);

	if (!s)
		ADD(lost_threads, 1);
	return s;
}

static __always_inline void left(void *ctx, struct task_struct *t, bool preempt, u32 state)
{
	struct thread *s;

	if (!wanted(t))
		return;
	s = thread_of(t);
	if (!s)
		return;
	if (!preempt && state & STATE_DEAD) {
		ADD(short_left, s->short_ns);
		s->since = s->short_ns = 0;
		s->how = HOW_NOLOAD;
		forget_task(&threads, t);
		return;
	}
	s->woken = 0;
	s->how = preempt || !state ? HOW_PREEMPTED : how_of(state);
	s->since = bpf_ktime_get_ns();
	if (!can_return && !(t->flags & PF_KTHREAD))
		s->user = stack_id(ctx, USER_STACK);
}

/* Takes the stacks of a wait. */
static __always_inline void keep(void *ctx, struct task_struct *t, bool runs, struct thread *s,
				 u64 longest, u64 ns, u64 queued, u32 count)
{
	struct row r = { .ns = ns, .queued = queued, .count = count, .longest = longest };
	struct key k = {};

	if (!name(&k, &r, t))
		return;
	k.how = how_it_waits(t, s, s->how);
	k.kernel = runs ? stack_id(ctx, 0) : stack_of(t);
	if (!(TASK(t, flags) & PF_KTHREAD))
		k.user = can_return ? stack_id(ctx, USER_STACK) : s->user;
	if (want_wakers && s->woken && s->waker_kernel) {
		k.waker_kernel = s->waker_kernel;
		k.waker_user = s->waker_user;
		k.waker_tgid = s->waker_tgid;
		__builtin_memcpy(k.waker, s->waker, sizeof(k.waker));
		meet(k.waker_tgid);
	}
	meet(k.tgid);
	if (!stall(t, &k, &r))
		add(&k, &r);
}

/* runs tells, when it is compiled, whether the thread is the one that runs. */
static __always_inline void returned(void *ctx, struct task_struct *t, bool runs)
{
	struct thread *s = task_row(&threads, t);
	u64 now, ns, longest, queued = 0;
	u32 count = 1;

	if (!s) { /* it left before we looked; or it is new */
		if (!wanted(t))
			return;
		s = thread_of(t);
		if (!s || TASK(t, start_boottime) >= started_boot)
			return;
		s->since = started;
		s->how = HOW_EARLIER;
	}
	if (!s->since)
		return;
	now = bpf_ktime_get_ns();
	longest = ns = now - s->since;
	if (s->woken)
		queued = now - s->woken;
	s->since = 0;
	if ((s64)ns <= 0)
		return;
	if (ns < min_ns) {
		ns = s->short_ns += ns;
		queued = s->short_queued += queued;
		count = ++s->short_count;
		if (ns < min_ns)
			return;
		s->short_ns = s->short_queued = s->short_count = 0;
	}
	keep(ctx, t, runs, s, longest, ns, queued, count);
}

static __always_inline int switched(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	left(ctx, prev, preempt, state);
	if (!can_return && next->pid)
		returned(ctx, next, false);
	return 0;
}

SEC("tp_btf/sched_switch")
int COUNTING(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	return switched(ctx, preempt, prev, next, state);
}

/* Before fa2c3254d7cf (5.18) the state was not passed. */
SEC("tp_btf/sched_switch")
int COUNTING(on_switch_old, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(ctx, preempt, prev, next, task_state(prev));
}

/* The thread that came back runs already, so both its stacks can be taken. */
SEC("tp_btf/sched_exit_tp")
int COUNTING(on_return)
{
	struct task_struct *t = current_task();

	if (TASK(t, pid))
		returned(ctx, t, true);
	return 0;
}

/* In the context of the one that wakes. */
SEC("tp_btf/sched_waking")
int COUNTING(on_waking, struct task_struct *t)
{
	struct thread *s = task_row(&threads, t);
	struct task_struct *me;
	u64 now;

	if (!s || !s->since || s->woken || s->how & HOW_PREEMPTED)
		return 0;
	now = bpf_ktime_get_ns();
	s->woken = now;
	if (!want_wakers)
		return 0;
	if (now - s->since + s->short_ns < min_ns) { /* no stack will be taken of it */
		s->waker_kernel = s->waker_user = NO_STACK;
		return 0;
	}
	me = current_task();
	bpf_probe_read_kernel(s->waker, sizeof(s->waker), me->comm);
	s->waker_tgid = TASK(me, tgid);
	s->waker_kernel = stack_id(ctx, 0);
	s->waker_user = TASK(me, flags) & PF_KTHREAD ? NO_STACK : stack_id(ctx, USER_STACK);
	return 0;
}

static __always_inline int lock_begins(u64 lock, u32 flags)
{
	struct task_struct *t;
	struct thread *s;
	u64 mm;

	if (flags & CONTENTION_SPIN)
		return 0; /* who spins does not sleep */
	t = current_task();
	if (!wanted(t))
		return 0;
	s = thread_of(t);
	if (!s)
		return 0;
	mm = (u64)TASK_POINTER(struct task_struct___stacks, t, mm);
	s->lock_at = lock;
	s->lock = HOW_LOCK;
	if (mm && s->lock_at == mm + bpf_core_field_offset(struct mm_struct, mmap_lock))
		s->lock |= HOW_MMAP_LOCK;
	return 0;
}

static __always_inline int lock_ends(u64 lock)
{
	struct thread *s = task_row(&threads, current_task());

	if (s && s->lock_at == lock) { /* not a spinlock inside */
		s->lock = 0;
		s->lock_at = 0;
	}
	return 0;
}

/* The lock that the running thread waits for, 0: none. */
static __always_inline u64 lock_wanted(void)
{
	struct thread *s = task_row(&threads, current_task());

	return s ? s->lock_at : 0;
}

CONTENTION_PROGRAMS(lock_begins, lock_ends, lock_wanted)

/* Where threads that wait still will go on: user space walks their stacks. */
struct waiter {
	struct regs regs;
	u64 runs; /* how often it got a processor: whether it still waits */
	u32 tgid, pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct waiter);
} waiting SEC(".maps");

static __always_inline void note_regs(struct task_struct *t)
{
	struct waiter w = { .tgid = t->tgid };
	u32 tid = t->pid;

	read_regs(t, &w.regs);
	if (bpf_core_field_exists(((struct task_struct___stacks *)t)->sched_info.pcount))
		w.runs = ((struct task_struct___stacks *)t)->sched_info.pcount;
	bpf_map_update_elem(&waiting, &tid, &w, BPF_ANY);
}

/* The waits that go on when the window ends. */
SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct task_struct___stacks *x = (void *)t;
	struct thread *s;
	struct key k = {};
	struct row r = {};
	u64 since;

	if (!t || !wanted(t) || x->exit_state)
		return 0;
	s = task_row(&threads, t);
	if (s)
		ADD(short_left, s->short_ns);
	if (BPF_CORE_READ_BITFIELD(x, on_cpu)) /* of one byte since 7.2 */
		return 0;
	if (s) {
		since = s->since;
		k.how = s->how;
	} else {
		if (t->start_boottime >= started_boot)
			return 0;
		since = started;
		k.how = how_of(task_state(t)) | HOW_EARLIER;
	}
	if (!since || since >= ended)
		return 0;
	r.longest = r.ns = ended - since;
	if (s && s->woken > since && s->woken < ended)
		r.queued = ended - s->woken;
	r.count = 1;
	if (!name(&k, &r, t))
		return 0;
	k.how = how_it_waits(t, s, k.how) | HOW_GOES_ON;
	k.kernel = stack_of(t);
	if (!(t->flags & PF_KTHREAD)) {
		if (s && !can_return)
			k.user = s->user;
		else
			note_regs(t);
	}
	meet(k.tgid);
	add(&k, &r);
	return 0;
}

u64 idle_samples;

SEC("perf_event")
int on_sample(void *ctx)
{
	struct task_struct *t = current_task();
	struct key k = { .how = HOW_RUNS };
	struct row r = { .ns = sample_ns, .count = 1 };

	if (!enabled)
		return 0;
	if (!TASK(t, pid))
		ADD(idle_samples, 1);
	if (!wanted(t) || !name(&k, &r, t))
		return 0;
	k.kernel = stack_id(ctx, 0);
	if (!(TASK(t, flags) & PF_KTHREAD))
		k.user = stack_id(ctx, USER_STACK);
	meet(k.tgid);
	if (!stall(t, &k, &r))
		add(&k, &r);
	return 0;
}
