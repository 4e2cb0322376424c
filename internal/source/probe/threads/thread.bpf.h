/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The account of a thread. */
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
	u8 file_state; /* what it last waited for in a call with a descriptor */
	u8 settled;  /* exec and run_delay are known: it was seen to begin, or to lose the processor */
	u64 file_call, file_at;
#ifdef PARTS
	u64 call_began; /* ns, 0 outside of the calls that are looked at */
	u64 part[PARTS];
	u32 call, held_state;
	u64 renamed; /* ns: when its process last got another name, 0 if it did not */
	u64 held_ns; /* the longest wait of the call whose stack was taken, 0 for none */
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

static const struct thread no_thread;

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

static __always_inline u64 least(u64 a, u64 b) { return a < b ? a : b; }

u64 serials;
u64 lost_threads, missed_wakeups, missed_switches;

/* The account of a thread, begun if there is none. */
static __always_inline struct thread *thread_of(struct task_struct *t, u64 now)
{
	struct thread *s = task_row(&threads, t);

	if (s)
		return s;
	s = new_task_row(&threads, t, &no_thread);
	if (!s) {
		ADD(lost_threads, 1);
		return 0;
	}
	if (!s->serial) {
		s->born = s->since = now;
		s->serial = fetch_add(&serials, 1) + 1;
	}
	return s;
}
