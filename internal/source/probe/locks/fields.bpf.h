/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The fields of kernel structures that only the account of locks reads. */
#pragma once
#include "contention.bpf.h"
#include "futex.bpf.h"
#include "iter.bpf.h"
#include "process.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	s64 counter;
} atomic_long_t;
struct rw_semaphore {
	atomic_long_t owner;
};
struct mutex {
	atomic_long_t owner;
};
struct mm_struct {
	struct rw_semaphore mmap_lock;
};
struct sched_info {
	u64 run_delay;
};
struct task_struct___locks {
	int exit_state;
	unsigned long nvcsw;
	struct sched_info sched_info;
	struct mm_struct *mm;
};
struct pt_regs___x86lock {
	unsigned long si, dx;
};
struct pt_regs___arm64lock {
	u64 regs[8];
};

#pragma clang attribute pop

/* include/linux/sched.h */
#define TASK_STATE_INTERRUPTIBLE 0x0001
#define TASK_STATE_UNINTERRUPTIBLE 0x0002
#define TASK_STATE_NOLOAD 0x0400

/* The low bits of an owner (RWSEM_OWNER_FLAGS_MASK, MUTEX_FLAGS) are no part of the address. */
#define OWNER_FLAGS 7ULL
#define RWSEM_READER_OWNED 1ULL

/* The second and third argument of the system call that a thread is in: of futex(2), operation and value. */
static __always_inline void futex_arguments(struct task_struct *t, u32 *op, u32 *value)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86) &&
	    bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax)) {
		*op = REG(struct pt_regs___x86lock, regs, si);
		*value = REG(struct pt_regs___x86lock, regs, dx);
		return;
	}
	*op = BPF_CORE_READ((struct pt_regs___arm64lock *)regs, regs[1]);
	*value = BPF_CORE_READ((struct pt_regs___arm64lock *)regs, regs[2]);
}
