/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The programs that follow the states of threads. Each object says what follows from them: charge and ends. */
#pragma once
#include "states.bpf.h"

/* A thread leaves the processor for good. */
static __always_inline void ends(struct task_struct *t, u64 now);

static __always_inline int switched(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next, u32 how)
{
	u64 now = bpf_ktime_get_ns();

	if (prev->pid) {
		if (how & STATE_DEAD && !preempt)
			ends(prev, now);
		else
			switched_out(ctx, prev, preempt, how, now);
	}
	if (next->pid)
		switched_in(next, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int COUNTING(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int how)
{
	return switched(ctx, preempt, prev, next, how);
}

/* Before fa2c3254d7cf (5.18) the state was not passed. */
SEC("tp_btf/sched_switch")
int COUNTING(on_switch_old, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(ctx, preempt, prev, next, task_state(prev));
}

SEC("tp_btf/sched_wakeup")
int COUNTING(on_wakeup, struct task_struct *t)
{
	woken(t, false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int COUNTING(on_wakeup_new, struct task_struct *t)
{
	woken(t, true);
	return 0;
}

/* (wb, dtc, base rate, task rate, dirtied, period, pause, start), since 6.17 */
SEC("tp_btf/balance_dirty_pages")
int COUNTING(on_balance)
{
	return pause_begins(ctx[6]);
}

/* (wb, thresh, bg_thresh, dirty, bdi_thresh, bdi_dirty, base rate, ...) before */
SEC("tp_btf/balance_dirty_pages")
int COUNTING(on_balance_old)
{
	return pause_begins(ctx[10]);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int COUNTING(on_reclaim)
{
	return reclaim_changes(1);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int COUNTING(on_reclaim_end)
{
	return reclaim_changes(-1);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int COUNTING(on_cgroup_reclaim)
{
	return reclaim_changes(1);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int COUNTING(on_cgroup_reclaim_end)
{
	return reclaim_changes(-1);
}

/*
 * The state of a thread that made no event yet. An event that comes meanwhile
 * knows better: the state is only set where there is none.
 */
static __always_inline void seed(struct task_struct *t, struct thread *s)
{
	u32 how = task_state(t), state;

	if (BPF_CORE_READ_BITFIELD((struct task_struct___threads *)t, on_cpu)) /* of one byte since 7.2 */
		state = RUN;
	else if (!how)
		state = PREEMPTED;
	else
		state = state_of_wait(0, t, s, how, bpf_ktime_get_ns());
	s->since = bpf_ktime_get_ns();
	COMPARE_AND_SWAP(&s->state, UNSEEN, state);
}
