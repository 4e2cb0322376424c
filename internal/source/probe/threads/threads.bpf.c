//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* How long each thread is in each state. */
#include "states.bpf.h"
#include "hist.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 only_tgid;  /* 0: all processes */
const volatile u32 want_waits; /* count waits by length, too */

struct record {
	u64 now, since, born, serial;
	u64 ns[STATES];
	u64 utime, stime;     /* ns, of the timer's ticks */
	u64 exec, run_delay;  /* ns, the scheduler's own account */
	u64 cgroup;           /* of the memory controller */
	u32 tid, tgid;
	u32 state;
	u32 flags;
	char comm[16], process[16];
};

/* Threads that have ended. */
struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 4 << 20);
} ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record);
} scratch SEC(".maps");

struct wait_key {
	u32 tgid, state;
	char comm[16];
};
struct wait_lengths {
	u64 ns;
	u64 slots[HIST_SLOTS];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct wait_key);
	__type(value, struct wait_lengths);
} waits SEC(".maps");

static const struct wait_lengths no_waits;

u64 lost_ended, lost_waits, torn_records;

static __always_inline void charge(struct task_struct *t, struct thread *s, u32 state, u64 ns)
{
	struct wait_key k = {};
	struct wait_lengths *w;
	u32 slot;

	if (!want_waits || state < RUNNABLE || (only_tgid && t->tgid != only_tgid))
		return;
	k.tgid = t->tgid;
	k.state = state;
	bpf_probe_read_kernel(k.comm, sizeof(k.comm), t->comm);
	w = bpf_map_lookup_elem(&waits, &k);
	if (!w) {
		bpf_map_update_elem(&waits, &k, &no_waits, BPF_NOEXIST);
		w = bpf_map_lookup_elem(&waits, &k);
		if (!w) {
			ADD(lost_waits, 1);
			return;
		}
	}
	slot = hist_slot(ns);
	asm volatile("" : "+r"(slot));
	if (slot < HIST_SLOTS)
		ADD(w->slots[slot], 1);
	ADD(w->ns, ns);
}

/* The lengths of waits stay as they were seen. */
static __always_inline void uncharge(struct thread *s, u32 from, u32 to, u64 ns) {}

/* Copies the account; the state that goes on is charged up to now. */
static __always_inline void fill(struct record *r, struct task_struct *t, struct thread *s)
{
	struct task_struct___threads *x = (void *)t;
	u32 before, after = 0;
	u64 since;

	for (int i = 0; i < 8; i++) {
		before = *(volatile u32 *)&s->version;
		asm volatile("" ::: "memory");
		r->state = s->state;
		since = s->since;
		__builtin_memcpy(r->ns, s->ns, sizeof(r->ns));
		asm volatile("" ::: "memory");
		after = *(volatile u32 *)&s->version;
		if (before == after && !(before & 1))
			break;
	}
	if (before != after || before & 1)
		ADD(torn_records, 1);
	r->since = since;
	r->now = bpf_ktime_get_ns();
	if (r->state && r->state < STATES && r->now > since) {
		u32 state = r->state;

		asm volatile("" : "+r"(state));
		if (state < STATES)
			r->ns[state] += r->now - since;
	}
	r->born = s->born;
	r->serial = s->serial;
	r->utime = x->utime;
	r->stime = x->stime;
	r->exec = x->se.sum_exec_runtime;
	r->run_delay = x->sched_info.run_delay;
	r->cgroup = task_cgroup(t, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	r->tid = t->pid;
	r->tgid = t->tgid;
	r->flags = t->flags;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), t->comm);
	BPF_CORE_READ_INTO(&r->process, t, group_leader, comm);
}

static __always_inline void tell_end(struct task_struct *t, u64 now)
{
	struct thread *s = task_row(&threads, t);
	struct record *r;

	if (!s || s->gone)
		return;
	now = settle(t, s, now);
	move(t, s, UNSEEN, now);
	s->gone = 1;
	if (only_tgid && t->tgid != only_tgid)
		return;
	r = bpf_ringbuf_reserve(&ended, sizeof(*r), 0);
	if (!r) {
		ADD(lost_ended, 1);
		return;
	}
	fill(r, t, s);
	r->now = now;
	bpf_ringbuf_submit(r, RB_NO_WAKEUP);
}

/* The last time that a thread leaves the processor. */
static __always_inline void ends(struct task_struct *t, u64 now)
{
	tell_end(t, now);
	forget_task(&threads, t);
}

#include "programs.bpf.h"

/* One record for each thread. */
SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct thread *s;
	struct record *r;
	u32 zero = 0;

	if (!t || !t->pid || (only_tgid && t->tgid != only_tgid))
		return 0;
	if (((struct task_struct___threads *)t)->exit_state)
		s = task_row(&threads, t);
	else
		s = thread_of(t, bpf_ktime_get_ns());
	if (!s || s->gone)
		return 0;
	if (!s->state)
		seed(t, s);
	r = bpf_map_lookup_elem(&scratch, &zero);
	if (!r)
		return 0;
	fill(r, t, s);
	bpf_seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}
