/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which threads are looked at, their stacks, and the rows that time is added to. */
#pragma once

#include "compat.bpf.h"

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define MAP_RINGBUF 27 /* BPF_MAP_TYPE_RINGBUF */
#define USER_STACK (1 << 8) /* BPF_F_USER_STACK */
#define EEXIST 17

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cgroup_subsys_state___tree {
	struct cgroup *cgroup;
	struct cgroup_subsys_state___tree *parent;
};
struct cgroup___tree {
	struct cgroup_subsys_state___tree self;
};
struct css_set___tree {
	struct cgroup *dfl_cgrp;
};
#pragma clang attribute pop

/* Which threads; 0 and "" for all. */
const volatile u32 only_tgid;
const volatile u32 not_tgid;
const volatile u32 match_comm;
const volatile char only_comm[16];
const volatile u64 only_cgroup; /* it and those below it, by the number of its directory */
const volatile u32 cgroup_tree; /* of which hierarchy: enum tree */

enum tree { TREE_MEMORY, TREE_IO, TREE_UNIFIED };

static __always_inline bool wanted(struct task_struct *t)
{
	u32 tgid = TASK(t, tgid);

	return TASK(t, pid) && tgid != not_tgid && (!only_tgid || tgid == only_tgid);
}

static __always_inline bool is_called(const char *comm)
{
	for (int i = 0; i < 16; i++) {
		if (comm[i] != only_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* The dearer half of the question, asked when there is something to keep. */
static __always_inline bool chosen(struct task_struct *t, const char *comm, const char *process)
{
	struct cgroup_subsys_state___tree *css;
	struct cgroup *group = 0;
	struct css_set *set;

	if (match_comm && !is_called(comm) && !is_called(process))
		return false;
	if (!only_cgroup)
		return true;
	set = BPF_CORE_READ(t, cgroups);
	if (cgroup_tree == TREE_UNIFIED) {
		group = BPF_CORE_READ((struct css_set___tree *)set, dfl_cgrp);
	} else {
		u32 id = cgroup_tree == TREE_MEMORY ? bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)
						    : bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id);
		struct cgroup_subsys_state *first = 0;

		if (id >= 16)
			return false;
		bpf_core_read(&first, sizeof(first), &set->subsys[id]);
		group = BPF_CORE_READ(first, cgroup);
	}
	for (int depth = 0; group && depth < 32; depth++) {
		if (BPF_CORE_READ(group, kn, id) == only_cgroup)
			return true;
		css = BPF_CORE_READ((struct cgroup___tree *)group, self.parent);
		group = css ? BPF_CORE_READ(css, cgroup) : 0;
	}
	return false;
}

/* As deep as kernel.perf_event_max_stack lets stacks be, unless it is raised. */
#define DEPTH 127
struct stack {
	u32 n;
	u32 pad;
	u64 ip[DEPTH + 1]; /* innermost first; one spare, so that an index can be masked */
};

/*
 * Stacks by the hash of their addresses. Not the kernel's own stack map: that
 * drops a stack whose bucket is taken by another, be it the hottest of all.
 * Allocated at once (17 MB): in an interrupt there may be no memory to be had.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct stack);
} stacks SEC(".maps");

/*
 * The programs run with preemption disabled (inside the scheduler, or in the
 * interrupt of a timer or counter), so nothing else uses a processor's scratch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack);
} scratch SEC(".maps");

#define NO_STACK 0
#define LOST_STACK 1 /* there was one, and no room for it */

u64 made_stacks, lost_stacks, lost_rows, lost_fresh;

/* Keeps a stack of so many bytes, and gives its number. */
static __always_inline u64 keep_stack(struct stack *s, long size)
{
	u64 hash;
	long err;
	u32 n;

	if (size <= 0)
		return NO_STACK;
	n = size / 8;
	hash = n;
	for (u32 i = 0; i < DEPTH && i < n; i++) {
		hash = (hash ^ s->ip[i & DEPTH]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	if (hash <= LOST_STACK)
		hash = LOST_STACK + 1;
	if (bpf_map_lookup_elem(&stacks, &hash))
		return hash;
	s->n = n;
	err = bpf_map_update_elem(&stacks, &hash, s, BPF_NOEXIST);
	if (!err) {
		ADD(made_stacks, 1);
	} else if (err != -EEXIST) {
		ADD(lost_stacks, 1);
		return LOST_STACK;
	}
	return hash;
}

static __always_inline struct stack *new_stack(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/* The stack of the thread that runs. */
static __always_inline u64 stack_id(void *ctx, u64 flags)
{
	struct stack *s = new_stack();

	return s ? keep_stack(s, bpf_get_stack(ctx, s->ip, DEPTH * 8, flags)) : LOST_STACK;
}

/* The stack in the kernel of one that does not. */
static __always_inline u64 stack_of(struct task_struct *t)
{
	struct stack *s = new_stack();

	return s ? keep_stack(s, bpf_get_task_stack(t, s->ip, DEPTH * 8, 0)) : LOST_STACK;
}

/* How a wait began and what it was; in the order of How in states.go. */
enum how {
	HOW_PREEMPTED = 1 << 0,
	HOW_IOWAIT = 1 << 1,
	HOW_UNINTERRUPTIBLE = 1 << 2,
	HOW_STOPPED = 1 << 3,
	HOW_LOCK = 1 << 4,
	HOW_MMAP_LOCK = 1 << 5,
	HOW_KERNEL_THREAD = 1 << 6,
	HOW_MUTEX = 1 << 7,    /* if it is a futex */
	HOW_FAULT = 1 << 8,    /* not in a system call */
	HOW_EARLIER = 1 << 9,  /* began before the window */
	HOW_GOES_ON = 1 << 10, /* had not ended when the window did */
	HOW_NOLOAD = 1 << 11,  /* idle, or parked */
	HOW_RUNS = 1 << 12,    /* no wait: a sample of a running thread */
};

struct key {
	u64 kernel, user;             /* stacks */
	u64 waker_kernel, waker_user; /* of who ended the wait */
	u32 tid, tgid;
	u32 how;
	u32 waker_tgid;
	char comm[16];
	char waker[16];
};
struct row {
	u64 ns;      /* in all */
	u64 queued;  /* of it after it was woken */
	u64 count;
	u64 longest; /* ns, of one wait */
	char process[16];
};

/* Two tables: one is read out and emptied while rows are added to the other. */
#define ROWS(name)                                \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_HASH);  \
		__uint(max_entries, 32768);       \
		__type(key, struct key);          \
		__type(value, struct row);        \
	} name SEC(".maps")
ROWS(rows_a);
ROWS(rows_b);
u32 side;

/* What had no room is kept without its stack, by enum how's lower bits. */
u64 lost_ns, lost_count;

/* Processes that were not met before, told at once: they may end soon. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} met SEC(".maps");
struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 1 << 16);
} fresh SEC(".maps");

static __always_inline void meet(u32 tgid)
{
	u32 one = 1;

	if (bpf_map_lookup_elem(&met, &tgid))
		return;
	if (bpf_map_update_elem(&met, &tgid, &one, BPF_NOEXIST) || bpf_ringbuf_output(&fresh, &tgid, sizeof(tgid), 0))
		ADD(lost_fresh, 1);
}

static __always_inline void add_row(void *rows, struct key *k, struct row *r)
{
	struct row *old = bpf_map_lookup_elem(rows, k);

	if (!old) {
		if (!bpf_map_update_elem(rows, k, r, BPF_NOEXIST))
			return;
		old = bpf_map_lookup_elem(rows, k);
	}
	if (!old) {
		ADD(lost_rows, 1);
		ADD(lost_ns, r->ns);
		ADD(lost_count, r->count);
		return;
	}
	ADD(old->ns, r->ns);
	ADD(old->queued, r->queued);
	ADD(old->count, r->count);
	if (r->longest > old->longest)
		old->longest = r->longest;
}

static __always_inline void add(struct key *k, struct row *r)
{
	if (side)
		add_row(&rows_b, k, r);
	else
		add_row(&rows_a, k, r);
}

/* Names the thread in the row; false if it is none of those looked at. */
static __always_inline bool name(struct key *k, struct row *r, struct task_struct *t)
{
	bpf_probe_read_kernel(k->comm, sizeof(k->comm), t->comm);
	BPF_CORE_READ_INTO(&r->process, t, group_leader, comm);
	k->tid = TASK(t, pid);
	k->tgid = TASK(t, tgid);
	return chosen(t, k->comm, r->process);
}
