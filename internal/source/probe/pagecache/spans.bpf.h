/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What part of the time that a thread is awake it waits. A thread is awake while
 * it is on a processor, queues for one, or waits for I/O; asleep for want of work
 * it is not. Each thread keeps its own account of the window in its task storage,
 * which goes with it. It is added to the process when the window ends, and when
 * the thread does, so that threads that rest do not dilute one that waits.
 */
#pragma once

#include "account.bpf.h"
#include "queue.bpf.h"

#define TASK_DEAD 0x0080
#define AWAKE_SHARE 10 /* a thread is held up that waits one part in so many of what it is awake */

struct sched_entity {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));
struct task_struct___spans {
	struct sched_entity se;
} __attribute__((preserve_access_index));

struct span {
	u64 exec, queued; /* the scheduler's account of the thread when its window began */
	u64 wait; /* ns blocked on I/O or paused, since */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct span);
} spans SEC(".maps");

static const struct span no_span;

/* The window began then, ns since boot: who is younger had used nothing. 0: nobody asks for the account. */
u64 spans_from;

static __always_inline u64 exec_of(struct task_struct *t)
{
	return ((struct task_struct___spans *)t)->se.sum_exec_runtime;
}

static __always_inline void begin_span(struct task_struct *task, struct span *s)
{
	s->exec = exec_of(task);
	s->queued = queued_of(task);
	s->wait = 0;
}

/*
 * The account of a thread, begun if there is none. One that is older than the
 * window was missed by its beginning: it is awake from here on.
 */
static __always_inline struct span *span_of(struct task_struct *task)
{
	struct span *s = task_row(&spans, task);

	if (s)
		return s;
	s = new_task_row(&spans, task, &no_span);
	if (!s) {
		ADD(lost_spans, 1);
		return 0;
	}
	if (task->start_boottime < spans_from)
		begin_span(task, s);
	return s;
}

/* part of all, of 65536; part is at most all, and below three days. */
static __always_inline u64 share_of(u64 part, u64 all)
{
	return all ? (part << 16) / all : 0;
}

/* Adds what a thread did in the window to its process. */
static __always_inline void close_span(struct task_struct *task, struct span *s, struct wait_times *w)
{
	u64 ran, awake, share, wait = s ? s->wait : 0;

	ran = exec_of(task) + queued_of(task);
	if (s)
		ran -= s->exec + s->queued;
	else if (task->start_boottime < spans_from)
		return; /* what it used before is not known */
	awake = ran + wait;
	if (!awake)
		return;
	if (w->spans_window != window) {
		w->held = 0;
		w->ran = 0;
		w->worst_ns = 0;
		w->spans_window = window;
	}
	ADD(w->awake_ns, awake);
	ADD(w->ran, 1);
	if (!wait)
		return;
	share = share_of(wait, awake);
	ADD(w->weighted_ns, (wait >> 16) * share + (((wait & 0xffff) * share) >> 16));
	if (wait * AWAKE_SHARE >= awake)
		ADD(w->held, 1);
	if (w->worst_ns < wait)
		w->worst_ns = wait;
}

/* The thread ends: the scheduler has just settled its account. */
static __always_inline void end_span(struct task_struct *task)
{
	u32 tgid = task->tgid;
	struct wait_times *w = bpf_map_lookup_elem(&waits, &tgid);

	if (w)
		close_span(task, task_row(&spans, task), w);
}

/* The window ends, or the first begins: the next is counted from here. */
static __always_inline void next_span(struct task_struct *task, bool begins)
{
	struct span *s = task_row(&spans, task);
	struct wait_times *w;
	u32 tgid = task->tgid;

	if (!spans_from)
		return;
	if (!begins) {
		w = bpf_map_lookup_elem(&waits, &tgid);
		if (w) {
			w->window = window;
			close_span(task, s, w);
		}
	}
	if (!s && !(task->flags & PF_KTHREAD)) {
		s = new_task_row(&spans, task, &no_span);
		if (!s)
			ADD(lost_spans, 1);
	}
	if (s)
		begin_span(task, s);
}
