/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The stacks of the slowest calls of each row. */
#pragma once
#include "userstack.bpf.h"

#define KERNEL_DEPTH 48
#define USER_DEPTH 127 /* kernel.perf_event_max_stack, unless it is raised */
#define USER_STACK (1 << 8) /* BPF_F_USER_STACK */

const volatile u64 slow_ns; /* calls of this length may be kept; 0: none is */
const volatile u32 want_copies; /* of their user stacks */
u32 era;                    /* counts the looks of user space */
u64 lost_slow, lost_held;

/* Where a thread was in its longest wait. Only threads in slow calls have one. */
struct held {
	u32 n, pad;
	u64 ip[KERNEL_DEPTH];
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct held);
} holds SEC(".maps");

static const struct held no_held;

/* Whether a call of that age may yet become one of its row's slowest: it goes on for a little after a wait. */
static __always_inline bool may_be_slowest(struct task_struct *t, struct thread *s, u64 age)
{
	struct call_key k = { .tgid = t->tgid, .nr = s->call };
	struct call_row *row = bpf_map_lookup_elem(&calls, &k);
	u64 quickest;

	if (!row || row->era != era)
		return true;
	quickest = row->slow[0];
#pragma unroll
	for (int i = 1; i < KEPT; i++)
		quickest = least(quickest, row->slow[i]);
	return age >= quickest - quickest / 4;
}

/*
 * A wait ended that was the longest of a call that is slow already: it is
 * where the call spends its time. t does not run yet.
 */
static __noinline void hold(struct task_struct *t, struct thread *s, u32 state, u64 ns)
{
	struct held *h;
	long size;

	if (!may_be_slowest(t, s, s->since - s->call_began))
		return;
	h = new_task_row(&holds, t, &no_held);
	if (!h) {
		ADD(lost_held, 1);
		return;
	}
	size = bpf_get_task_stack(t, h->ip, sizeof(h->ip), 0);
	h->n = size > 0 ? (u64)size / 8 : 0;
	s->held_ns = ns;
	s->held_state = state;
}

struct slow_call {
	u64 wall, part[PARTS];
	u64 wait; /* ns: its longest wait that kernel is of, 0 for none */
	s64 result;
	u32 tgid, tid, nr, state;
	u32 kernel_n, user_n;
	char thread[16];
	u64 kernel[KERNEL_DEPTH];
	u64 user[USER_DEPTH];
	struct user_stack copy;
};
const struct slow_call *told_type __attribute__((unused)); /* else its shape is not in the object */
struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 4 << 20);
} slowest SEC(".maps");

/* Makes room among the slowest calls of a row for one that is slower than one of them. */
static __always_inline bool is_among_slowest(struct call_row *row, u64 wall)
{
	u32 now = era;

	if (row->era != now) {
		row->era = now;
		__builtin_memset(row->slow, 0, sizeof(row->slow));
	}
	for (int attempt = 0; attempt < 2 * KEPT; attempt++) {
		u64 *at = &row->slow[0], quickest = *at;

#pragma unroll
		for (int i = 1; i < KEPT; i++) {
			if (row->slow[i] < quickest) {
				at = &row->slow[i];
				quickest = *at;
			}
		}
		if (wall <= quickest)
			return false;
		if (COMPARE_AND_SWAP(at, quickest, wall) == quickest)
			return true;
	}
	ADD(lost_slow, 1); /* other processors were always quicker */
	return false;
}

/* The thread that makes the call is the one that runs. */
static __always_inline void tell(void *ctx, struct task_struct *t, struct thread *s, u64 wall, long result)
{
	struct slow_call *c = bpf_ringbuf_reserve(&slowest, sizeof(*c), 0);
	struct held *h;
	long size;

	if (!c) {
		ADD(lost_slow, 1);
		return;
	}
	c->wall = wall;
	__builtin_memcpy(c->part, s->part, sizeof(c->part));
	c->wait = c->state = c->kernel_n = 0;
	c->result = result;
	c->tgid = TASK(t, tgid);
	c->tid = TASK(t, pid);
	c->nr = s->call;
	bpf_probe_read_kernel(c->thread, sizeof(c->thread), t->comm);
	h = s->held_ns ? task_row(&holds, t) : 0;
	if (h) {
		c->wait = s->held_ns;
		c->state = s->held_state;
		c->kernel_n = h->n;
		bpf_probe_read_kernel(c->kernel, sizeof(c->kernel), h->ip);
	}
	size = bpf_get_stack(ctx, c->user, sizeof(c->user), USER_STACK);
	c->user_n = size > 0 ? (u64)size / 8 : 0;
	c->copy.pages = 0;
	if (want_copies)
		copy_user_stack(t, &c->copy);
	bpf_ringbuf_submit(c, 0);
}
