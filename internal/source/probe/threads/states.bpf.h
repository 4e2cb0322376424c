/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a thread is doing, told when it leaves the processor. docs/threads.md has the rules in words. */
#pragma once
#include "fields.bpf.h"

/* In the order of State in states.go. */
enum state {
	UNSEEN,
	RUN,
	RECLAIM_RUN, /* on a processor, looking for memory */
	RUNNABLE,    /* woken, waits for a processor */
	PREEMPTED,   /* lost the processor, waits for one */
	DISK,
	FILESYSTEM,
	FAULT_DISK,
	FAULT,
	DIRTY_PAUSE,
	RECLAIM,
	MMAP_LOCK,
	KERNEL_LOCK,
	MUTEX,
	FUTEX,
	NETWORK,
	IPC,
	IDLE,
	STOPPED,
	OTHER,
	STATES,
};

/* What a thread blocked in a system call waits for; in the order of calls.go. */
enum call_class { CALL_OTHER, CALL_IDLE, CALL_FUTEX, CALL_LOCK, CALL_DISK, CALL_IPC, CALL_FILE, CALL_FUTEX_NEW };

#define CALLS 512
const volatile u8 call_class[CALLS];

/* Kernel functions that say what a thread waits for that sleeps inside them, by address. */
struct rule {
	u64 start, end;
	u32 state, pad;
};
#define RULES 128 /* a power of two */
const volatile struct rule rules[RULES];
const volatile u32 rule_count;

#define DEPTH 24
struct stack {
	u64 ip[DEPTH];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack);
} stacks SEC(".maps");

struct thread {
	u64 since; /* ns: when the state began */
	u64 born;  /* ns: when the account began */
	u64 serial;
	u64 ns[STATES];
	u32 state;
	u32 version; /* odd while it changes */
	u64 lock_at; /* the kernel lock that is waited for */
	u64 in_at;   /* ns: when it last got a processor, 0 when that was not seen */
	u64 waited;  /* ns: how long it was in the state before */
	u64 exec, run_delay; /* the scheduler's own account when it last lost the processor */
	u8 lock;     /* its enum state, or 0 */
	u8 pausing;
	u8 reclaim;  /* depth */
	u8 gone;     /* has left the processor for good */
	u8 before;   /* the state that it got the processor from */
	u8 unwoken;  /* ... without a wake-up that was seen */
	u8 inode_state;
	u8 pad;
	u64 inode; /* what it last waited for in a call with a descriptor */
#ifdef PARTS
	u64 call_began; /* ns, 0 outside of the calls that are looked at */
	u64 part[PARTS];
	u32 call, call_pad;
#endif
};

/* Each object has its own: what happens to time that a state took, or that goes to another afterwards. */
struct thread;
static __always_inline void charge(struct task_struct *t, struct thread *s, u32 state, u64 ns);
static __always_inline void uncharge(struct thread *s, u32 from, u32 to, u64 ns);

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

static __always_inline u64 least(u64 a, u64 b) { return a < b ? a : b; }

u64 serials;
u64 lost_threads, missed_wakeups, missed_switches;

/* The account of a thread, begun if there is none. */
static __always_inline struct thread *thread_of(struct task_struct *t, u64 now)
{
	struct thread *s = bpf_task_storage_get(&threads, t, 0, 0);

	if (s)
		return s;
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		ADD(lost_threads, 1);
		return 0;
	}
	if (!s->serial) {
		s->born = s->since = now;
		s->serial = ADD(serials, 1) + 1;
	}
	return s;
}

/* The rule of the innermost function of a stack that has one, UNSEEN for none. */
static __always_inline u32 state_of_stack(const struct stack *k, u32 n)
{
	if (!rule_count)
		return UNSEEN;
	for (u32 i = 0; i < DEPTH && i < n; i++) {
		u64 ip = k->ip[i];
		u32 low = 0; /* the last rule that starts at or below ip */

		for (u32 step = RULES / 2; step; step /= 2) {
			u32 at = low + step;

			if (at < RULES && at < rule_count && rules[at].start <= ip)
				low = at;
		}
		low &= RULES - 1;
		if (ip >= rules[low].start && ip < rules[low].end)
			return rules[low].state;
	}
	return UNSEEN;
}

/* What a thread waits for that reads or writes such a file. */
static __always_inline u32 state_of_inode(struct file___threads *file, struct inode *inode)
{
	u16 type = BPF_CORE_READ(inode, i_mode) & S_IFMT, family;
	struct socket *socket;

	if (type == S_IFIFO)
		return IPC;
	if (type == S_IFSOCK) {
		socket = BPF_CORE_READ(file, private_data);
		family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);
		return family == AF_INET || family == AF_INET6 || family == AF_VSOCK ? NETWORK : IPC;
	}
	/* eventfd, timerfd, signalfd and inotify look like regular files since 6.16 */
	if (BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC)
		return IDLE;
	if (type == S_IFREG || type == S_IFDIR || type == S_IFBLK)
		return FILESYSTEM; /* of FUSE: others sleep uninterruptibly */
	return IDLE; /* a terminal or another device */
}

/*
 * The open file behind a descriptor. The last inode is remembered, because a
 * thread often waits for the same one: pipes, sockets and files are made of
 * different slabs, so an address does not change its kind.
 */
static __always_inline u32 state_of_file(struct task_struct *t, struct thread *s, u64 fd)
{
	struct files_struct *files = ((struct task_struct___threads *)t)->files;
	struct file___threads *file = 0;
	struct inode *inode;
	struct fdtable *table;
	struct file **all;

	if (!files)
		return OTHER;
	table = files->fdt;
	if (!table || fd >= table->max_fds)
		return OTHER;
	all = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), &all[fd]);
	if (!file)
		return OTHER;
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode)
		return OTHER;
	if (s->inode != (u64)inode) {
		s->inode = (u64)inode;
		s->inode_state = state_of_inode(file, inode);
	}
	return s->inode_state;
}

#define FUTEX_CMD_MASK 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13

#define FUTEX_WAITERS 0x80000000
#define FUTEX_TID_MASK 0x3fffffff
#define PID_LIMIT (1 << 22)

/*
 * A contended mutex: glibc, Rust and Go wait for it to change from 2, musl and
 * robust mutexes from the owner's thread id with the bit FUTEX_WAITERS. Other
 * waits are condition variables, semaphores, joins, and threads that their
 * runtime parked (Rust's at -1, which is no thread id).
 */
static __always_inline u32 state_of_futex(const struct call *c)
{
	u32 op = c->arg[1] & FUTEX_CMD_MASK, value = c->arg[2];

	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return MUTEX;
	if ((op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) &&
	    (value == 2 || (value & FUTEX_WAITERS && (value & FUTEX_TID_MASK) < PID_LIMIT)))
		return MUTEX;
	return FUTEX;
}

static __always_inline u32 class_of(s32 nr)
{
	u64 slot = nr;

	if (nr < 0 || nr >= CALLS)
		return CALL_OTHER;
	/* else the compiler drops the bound that the verifier wants */
	asm volatile("" : "+r"(slot));
	return call_class[slot & (CALLS - 1)];
}

/*
 * What a thread that is blocked waits for. how is its __state. The stack is
 * taken of those that sleep uninterruptibly for no other known reason; ctx is 0
 * when it is another thread's.
 */
static __always_inline u32 state_of_wait(void *ctx, struct task_struct *t, struct thread *s, u32 how)
{
	struct call c = { .nr = 0 };
	bool kernel = t->flags & PF_KTHREAD, io;
	u32 state, zero = 0;
	struct stack *k;
	long n;

	if (how & (STATE_STOPPED | STATE_TRACED | STATE_FROZEN))
		return STOPPED;
	if (s->pausing)
		return DIRTY_PAUSE;
	if (s->reclaim)
		return RECLAIM;
	if (s->lock)
		return s->lock;
	if (how & (STATE_NOLOAD | STATE_PARKED))
		return IDLE;
	io = BPF_CORE_READ_BITFIELD(t, in_iowait);
	if (!kernel) {
		read_call(t, &c);
		if (c.nr < 0 && io)
			return FAULT_DISK;
	}
	if (io)
		return DISK;
	if (how & STATE_UNINTERRUPTIBLE) {
		k = bpf_map_lookup_elem(&stacks, &zero);
		if (k) {
			n = ctx ? bpf_get_stack(ctx, k, sizeof(*k), 0) : bpf_get_task_stack(t, k, sizeof(*k), 0);
			state = n > 0 ? state_of_stack(k, n / 8) : UNSEEN;
			if (state)
				return state;
		}
		return c.nr < 0 ? FAULT : OTHER;
	}
	if (kernel)
		return IDLE;
	if (((struct task_struct___threads *)t)->jobctl & JOBCTL_TRAP_FREEZE)
		return STOPPED;
	if (c.nr < 0)
		return FAULT;
	switch (class_of(c.nr)) {
	case CALL_IDLE:
		return IDLE;
	case CALL_FUTEX:
		return state_of_futex(&c);
	case CALL_FUTEX_NEW: /* its arguments are other ones */
		return FUTEX;
	case CALL_LOCK:
		return MUTEX;
	case CALL_DISK:
		return DISK;
	case CALL_IPC:
		return IPC;
	case CALL_FILE:
		return state_of_file(t, s, c.arg[0]);
	}
	return OTHER;
}

static __always_inline bool is_blocked(u32 state) { return state >= DISK; }

/* Ends the present state and begins another. */
static __always_inline void move(struct task_struct *t, struct thread *s, u32 to, u64 now)
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
	if ((s64)ns > 0)
		charge(t, s, state, ns);
}

/* A contended kernel lock. Spinning is work: the state does not change for it. */
#define CONTENTION_SPIN 1 /* LCB_F_SPIN */
static __always_inline int lock_begins(u64 lock, u32 flags)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread *s;
	u64 mm;

	if (flags & CONTENTION_SPIN)
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, 0);
	if (!s)
		return 0;
	mm = (u64)((struct task_struct___threads *)t)->mm;
	s->lock_at = lock;
	s->lock = mm && lock == mm + bpf_core_field_offset(struct mm_struct, mmap_lock) ? MMAP_LOCK : KERNEL_LOCK;
	return 0;
}

static __always_inline int lock_ends(u64 lock)
{
	struct thread *s = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	if (s && s->lock_at == lock) { /* not a spinlock inside */
		s->lock = 0;
		s->lock_at = 0;
	}
	return 0;
}

static __always_inline int pause_begins(s64 pause)
{
	struct thread *s;

	if (pause <= 0)
		return 0;
	s = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	if (s)
		s->pausing = 1;
	return 0;
}

static __always_inline u32 running(const struct thread *s) { return s->reclaim ? RECLAIM_RUN : RUN; }

static __always_inline int reclaim_changes(int by)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread *s = bpf_task_storage_get(&threads, t, 0, 0);

	if (!s || (by < 0 && !s->reclaim))
		return 0; /* it began before we looked */
	s->reclaim += by;
	if (s->state == RUN || s->state == RECLAIM_RUN)
		move(t, s, running(s), bpf_ktime_get_ns());
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
		if (!s->exec)
			return now;
		ran = least(ran, now - s->since);
		move(t, s, s->state, now);
		shift(s, s->state, running(s), ran);
		if (is_blocked(s->state))
			shift(s, s->state, RUNNABLE, queued);
		return now;
	}
	if (!s->in_at || !s->exec || !run_delay_of(t))
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
	to = preempt || !how ? PREEMPTED : state_of_wait(ctx, prev, s, how);
	now = settle(prev, s, now);
	move(prev, s, to, now);
	s->exec = exec_of(prev);
	s->run_delay = run_delay_of(prev);
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

static __always_inline void woken(struct task_struct *t)
{
	u64 now = bpf_ktime_get_ns();
	struct thread *s = thread_of(t, now);

	if (!s || (s->state && !is_blocked(s->state)))
		return; /* it had not gone yet */
	if (s->state == DIRTY_PAUSE)
		s->pausing = 0;
	move(t, s, RUNNABLE, now);
}
