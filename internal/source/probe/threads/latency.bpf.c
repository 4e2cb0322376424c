//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What the time of system calls is made of. */
#define PARTS 7
#include "states.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* In the order of Part in latency.go. */
enum part { PART_CPU, PART_QUEUE, PART_PREEMPTED, PART_DISK, PART_LOCK, PART_THROTTLE, PART_OTHER };

const volatile u32 only_tgid; /* 0: all processes */
const volatile u8 wanted[CALLS];
const volatile u8 part_of_state[32];

/*
 * Slot 0 is below 128 ns; then eight slots for each power of two up to 34 s: a
 * slot is at most an eighth as wide as its times.
 */
#define FIRST_POWER 7
#define FINE_SLOTS (1 + 28 * 8)

struct call_key {
	u32 tgid, nr;
};
#define KEPT 3 /* slowest calls */
struct call_row {
	u64 failed;
	u64 slow[KEPT]; /* ns: the slowest calls since era began; 0 for none */
	u64 part_ns[PARTS]; /* together the wall time */
	u64 most[PARTS], most_wall;
	char process[16];
	u64 named; /* ns: when the process was found to be called so, 0 not yet */
	u32 plain[FINE_SLOTS]; /* calls that never left the processor: wall and processor time are the same */
	u32 wall[FINE_SLOTS];  /* the other calls, and their parts */
	u32 part[PARTS][FINE_SLOTS];
	u32 era; /* of slow */
};
struct { /* its memory is taken at once: rows of this size cannot be made fast enough where processes come in bursts */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct call_key);
	__type(value, struct call_row);
} calls SEC(".maps");

static const struct call_row no_calls;

u64 lost_calls;

static __always_inline u32 fine_slot(u64 v)
{
	u64 rest = v;
	u32 e = 0, slot;

	if (v >> FIRST_POWER == 0)
		return 0;
	if (rest >> 32) { e = 32; rest >>= 32; }
	if (rest >> 16) { e += 16; rest >>= 16; }
	if (rest >> 8) { e += 8; rest >>= 8; }
	if (rest >> 4) { e += 4; rest >>= 4; }
	if (rest >> 2) { e += 2; rest >>= 2; }
	if (rest >> 1) e += 1;
	slot = 1 + (e - FIRST_POWER) * 8 + (v >> (e - 3) & 7);
	return slot < FINE_SLOTS ? slot : FINE_SLOTS - 1;
}

static __always_inline void count(u32 *slots, u64 *most, u64 ns)
{
	u32 slot = fine_slot(ns);

	asm volatile("" : "+r"(slot));
	if (slot < FINE_SLOTS)
		ADD(slots[slot], 1);
	if (ns > *most)
		*most = ns;
}

static __always_inline u32 part_of(u32 state)
{
	u32 part = part_of_state[state & 31];

	asm volatile("" : "+r"(part));
	return part;
}

#include "slow.bpf.h"

static __always_inline void charge(struct task_struct *t, struct thread *s, u32 state, u64 ns)
{
	u32 part;

	if (!s->call_began || state <= RECLAIM_RUN)
		return;
	part = part_of(state);
	if (part < PARTS)
		s->part[part] += ns;
	if (slow_ns && ns > s->held_ns && s->since - s->call_began >= slow_ns)
		hold(t, s, state, ns);
}

static __always_inline void uncharge(struct thread *s, u32 from, u32 to, u64 ns)
{
	u32 part;

	if (!s->call_began)
		return;
	part = part_of(from);
	if (from > RECLAIM_RUN && part < PARTS)
		s->part[part] -= least(ns, s->part[part]);
	part = part_of(to);
	if (to > RECLAIM_RUN && part < PARTS)
		s->part[part] += ns;
}

static __always_inline void ends(struct task_struct *t, u64 now)
{
	forget_task(&threads, t);
	forget_task(&holds, t);
}

#include "programs.bpf.h"

/*
 * A process goes by another name from here on: it executes another program, as
 * what a shell starts does after its first calls, or says so itself. What the
 * thread returns from next takes the name down; each return would pay for looking.
 */
SEC("tp_btf/task_rename")
int COUNTING(on_rename, struct task_struct *task, const char *comm)
{
	struct thread *s;

	if (task->pid != task->tgid)
		return 0;
	s = task_row(&threads, task);
	if (s)
		s->renamed = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_enter")
int COUNTING(on_call, struct pt_regs *regs, long nr)
{
	struct task_struct *t = current_task();
	struct thread *s;
	u64 now, slot = nr;

	if (slot >= CALLS || (only_tgid && TASK(t, tgid) != only_tgid))
		return 0;
	asm volatile("" : "+r"(slot));
	if (!wanted[slot & (CALLS - 1)])
		return 0;
	now = bpf_ktime_get_ns();
	s = thread_of(t, now);
	if (!s)
		return 0;
	if (!s->state) { /* it is running, what else */
		s->since = now;
		s->state = running(s);
	}
	__builtin_memset(s->part, 0, sizeof(s->part));
	s->call = nr;
	s->held_ns = 0;
	s->call_began = now;
	return 0;
}

SEC("tp_btf/sys_exit")
int COUNTING(on_return, struct pt_regs *regs, long ret)
{
	struct task_struct *t = current_task();
	struct thread *s = task_row(&threads, t);
	struct call_key k = {};
	struct call_row *row;
	u64 wall, off = 0, over;

	if (!s || !s->call_began)
		return 0;
	wall = bpf_ktime_get_ns() - s->call_began;
	s->call_began = 0;
	for (int i = PART_QUEUE; i < PARTS; i++)
		off += s->part[i];
	/* a wait that began with the call was settled to begin before it */
	over = off > wall ? off - wall : 0;
	for (int i = PART_QUEUE; i < PARTS && over; i++) {
		u64 ns = least(over, s->part[i]);

		s->part[i] -= ns;
		over -= ns;
	}
	s->part[PART_CPU] = off < wall ? wall - off : 0;
	k.tgid = TASK(t, tgid);
	k.nr = s->call;
	row = bpf_map_lookup_elem(&calls, &k);
	if (!row) {
		bpf_map_update_elem(&calls, &k, &no_calls, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&calls, &k);
		if (!row) {
			ADD(lost_calls, 1);
			return 0;
		}
	}
	if (row->named <= s->renamed) {
		row->named = bpf_ktime_get_ns();
		BPF_CORE_READ_INTO(&row->process, t, group_leader, comm);
	}
	if (ret < 0 && ret > -4096)
		ADD(row->failed, 1);
	ADD(row->part_ns[PART_CPU], s->part[PART_CPU]);
	if (slow_ns && wall >= slow_ns && is_among_slowest(row, wall))
		tell(ctx, t, s, wall, ret);
	if (!off) {
		count(row->plain, &row->most_wall, wall);
		return 0;
	}
	count(row->wall, &row->most_wall, wall);
	if (s->part[PART_CPU]) /* none of it was seen where a switch was not */
		count(row->part[PART_CPU], &row->most[PART_CPU], s->part[PART_CPU]);
	for (int i = PART_QUEUE; i < PARTS; i++) {
		if (!s->part[i])
			continue;
		ADD(row->part_ns[i], s->part[i]);
		count(row->part[i], &row->most[i], s->part[i]);
	}
	return 0;
}

/* Begins the account of all threads. */
SEC("iter/task")
int begin(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct thread *s;

	if (!t || !t->pid || ((struct task_struct___threads *)t)->exit_state)
		return 0;
	s = thread_of(t, bpf_ktime_get_ns());
	if (s && !s->state)
		seed(t, s);
	return 0;
}
