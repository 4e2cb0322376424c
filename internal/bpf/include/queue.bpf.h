/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How long a task has queued for a processor: what it slept is what it was away
 * less that. No program at wake-ups is needed, which are many, and mostly of
 * threads that nobody asks about.
 */
#pragma once

#include "compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	u64 clock;
};
struct cfs_rq {
	struct rq *rq;
};
struct sched_entity___queue {
	struct cfs_rq *cfs_rq;
};
struct sched_info {
	u64 run_delay;
	u64 last_queued;
};
struct task_struct___queue {
	struct sched_entity___queue se;
	struct sched_info sched_info;
};

#pragma clang attribute pop

/*
 * All the time that a task has queued, ns, up to now: the scheduler's account
 * (CONFIG_SCHED_INFO, else 0) has that until the task got a processor or was moved
 * to the queue of another one, and the time since when it queues now, by the clock of
 * the queue. That clock stands where the scheduler last looked at it: at a switch
 * that is now, from elsewhere at most a tick ago. In events of a switch the task
 * that comes still queues. Every task, of any class, has a cfs_rq that tells its
 * processor (CONFIG_FAIR_GROUP_SCHED, which cgroups' shares need).
 */
static __always_inline u64 queued_of(struct task_struct *task)
{
	struct task_struct___queue *t = LOOSE(struct task_struct___queue, (struct task_struct___queue *)task);
	u64 ns, since;

	if (!bpf_core_field_exists(t->sched_info.last_queued))
		return 0;
	ns = t->sched_info.run_delay;
	since = t->sched_info.last_queued;
	if (since && bpf_core_field_exists(t->se.cfs_rq) && bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		ns += t->se.cfs_rq->rq->clock - since;
	return ns;
}
