/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* From state to state: what the events do to a thread's account. */
#pragma once
#include "contention.bpf.h"
#include "reasons.bpf.h"

static __always_inline bool is_blocked(u32 state) { return state >= DISK; }

/* Ends the present state and begins another. */
static __always_inline void turn(struct thread *s, u32 to, u64 now)
{
	u32 state = s->state;
	u64 ns = now - s->since;

	s->version++;
	asm volatile("" ::: "memory");
	if ((s64)ns > 0 && state && state < STATES) {
		asm volatile("" : "+r"(state));
		if (state < STATES)
			s->ns[state] += ns;
	}
	s->state = to;
	s->since = now;
	asm volatile("" ::: "memory");
	s->version++;
}

static __always_inline void move(struct task_struct *t, struct thread *s, u32 to, u64 now)
{
	u32 state = s->state;
	u64 ns = now - s->since;

	turn(s, to, now);
	if ((s64)ns > 0)
		charge(t, s, state, ns);
}

/* A contended kernel lock. Spinning is work: the state does not change for it. */
static __always_inline int lock_begins(u64 lock, u32 flags)
{
	struct task_struct *t = current_task();
	struct thread *s;
	u64 mm;

	if (flags & CONTENTION_SPIN)
		return 0;
	s = task_row(&threads, t);
	if (!s)
		return 0;
	mm = (u64)TASK_POINTER(struct task_struct___threads, t, mm);
	s->lock_at = lock;
	s->lock = mm && lock == mm + bpf_core_field_offset(struct mm_struct, mmap_lock) ? MMAP_LOCK : KERNEL_LOCK;
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

static __always_inline int pause_begins(s64 pause)
{
	struct thread *s;

	if (pause <= 0)
		return 0;
	s = task_row(&threads, current_task());
	if (s)
		s->pausing = 1;
	return 0;
}

static __always_inline u32 running(const struct thread *s) { return s->reclaim ? RECLAIM_RUN : RUN; }

static __always_inline int reclaim_changes(int by)
{
	struct task_struct *t = current_task();
	struct thread *s = task_row(&threads, t);

	if (!s || (by < 0 && !s->reclaim))
		return 0; /* it began before we looked */
	s->reclaim += by;
	if (s->state == RUN || s->state == RECLAIM_RUN)
		turn(s, running(s), bpf_ktime_get_ns()); /* what was run is charged to nothing else */
	return 0;
}

/* Moves time of the past from one state to another. */
static __always_inline void shift(struct thread *s, u32 from, u32 to, u64 ns)
{
	asm volatile("" : "+r"(from), "+r"(to));
	if (from >= STATES || to >= STATES)
		return;
	ns = least(ns, s->ns[from]);
	s->version++;
	asm volatile("" ::: "memory");
	s->ns[from] -= ns;
	s->ns[to] += ns;
	asm volatile("" ::: "memory");
	s->version++;
	uncharge(s, from, to, ns);
}

/* Lets the state before the present one end later. */
static __always_inline void lengthen(struct thread *s, u32 before, u64 ns)
{
	asm volatile("" : "+r"(before));
	if (before >= STATES)
		return;
	s->version++;
	asm volatile("" ::: "memory");
	s->ns[before] += ns;
	s->since += ns;
	asm volatile("" ::: "memory");
	s->version++;
	uncharge(s, RUN, before, ns);
}

static __always_inline u64 exec_of(struct task_struct *t) { return ((struct task_struct___threads *)t)->se.sum_exec_runtime; }

/* 0 in a kernel without CONFIG_SCHED_INFO. */
static __always_inline u64 run_delay_of(struct task_struct *t)
{
	if (!bpf_core_field_exists(((struct task_struct___threads *)t)->sched_info.run_delay))
		return 0;
	return ((struct task_struct___threads *)t)->sched_info.run_delay;
}

/*
 * A thread leaves the processor at now. The scheduler took its own times a
 * little before the events that we saw: what it and other programs did in
 * between would be charged to the wrong states. So the wait for the processor
 * that came before is made as long as the scheduler says (run_delay), and the
 * run, too (sum_exec_runtime, the thread's processor clock). Returns when the
 * state that comes next began.
 */
static __always_inline u64 settle(struct task_struct *t, struct thread *s, u64 now)
{
	u64 ran = exec_of(t) - s->exec, queued = run_delay_of(t) - s->run_delay, all;

	if (s->state > RECLAIM_RUN) { /* it got the processor unseen */
		ADD(missed_switches, 1);
		if (!s->settled)
			return now;
		ran = least(ran, now - s->since);
		move(t, s, s->state, now);
		shift(s, s->state, running(s), ran);
		if (is_blocked(s->state))
			shift(s, s->state, RUNNABLE, queued);
		return now;
	}
	if (!s->in_at || !s->settled || !run_delay_of(t))
		return now;
	all = s->waited + (now - s->in_at);
	ran = least(ran, all);
	if (s->unwoken) { /* the wait that was seen holds both, and stays as long as it is */
		shift(s, s->before, RUNNABLE, queued);
		queued = least(s->waited, all - ran);
		shift(s, RUNNABLE, running(s), s->waited - queued);
	} else {
		queued = least(queued, all - ran);
		if (queued < s->waited)
			shift(s, s->before, running(s), s->waited - queued);
		else
			lengthen(s, s->before, least(queued - s->waited, now - s->since));
	}
	/* what is left over of both belongs to what comes next */
	return now - least(all - ran - queued, now - s->since);
}

static __always_inline void switched_out(void *ctx, struct task_struct *prev, bool preempt, u32 how, u64 now)
{
	struct thread *s = thread_of(prev, now);
	u32 to;

	if (!s)
		return;
	to = preempt || !how ? PREEMPTED : state_of_wait(ctx, prev, s, how, now);
	now = settle(prev, s, now);
	move(prev, s, to, now);
	s->exec = exec_of(prev);
	s->run_delay = run_delay_of(prev);
	s->settled = 1;
	s->in_at = 0;
}

static __always_inline void switched_in(struct task_struct *next, u64 now)
{
	struct thread *s = thread_of(next, now);

	if (!s)
		return;
	s->before = s->state;
	s->waited = now - s->since;
	s->unwoken = is_blocked(s->state);
	if (s->unwoken)
		ADD(missed_wakeups, 1);
	else if (s->state == RUN || s->state == RECLAIM_RUN)
		ADD(missed_switches, 1);
	if (s->state == DIRTY_PAUSE)
		s->pausing = 0;
	move(next, s, running(s), now);
	s->in_at = now;
}

static __always_inline void woken(struct task_struct *t, bool begins)
{
	u64 now = bpf_ktime_get_ns();
	struct thread *s = thread_of(t, now);

	if (!s || (s->state && !is_blocked(s->state)))
		return; /* it had not gone yet */
	if (begins)
		s->settled = 1; /* of both the scheduler has 0 */
	if (s->state == DIRTY_PAUSE)
		s->pausing = 0;
	move(t, s, RUNNABLE, now);
}
