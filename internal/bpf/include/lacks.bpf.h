/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What programs may do in newer kernels only, each with what is done instead. The
 * loader tries what there is (fit.go) and says it in lacks, a constant: the
 * verifier drops the branches that are not taken.
 */
#pragma once

#include "kernel.h"

/* In the order of fit.go. */
enum lack {
	LACKS_FETCH = 1 << 0,   /* atomic operations that return what was there: 5ca419f2864a (5.12; arm64: 5.18) */
	LACKS_STORAGE = 1 << 1, /* a row with each task that may be made inside the scheduler: 08a7ce384e33 (6.4) */
	LACKS_TASK = 1 << 2,    /* bpf_get_current_task_btf: 3ca1032ab7ab (5.11) */
	LACKS_REGS = 1 << 3,    /* bpf_task_pt_regs: dd6e10fbd9fb (5.15) */
	LACKS_LOOP = 1 << 4,    /* bpf_loop: e6f2dd0f8067 (5.17) */
};
const volatile u32 lacks;

struct task_struct___stack {
	void *stack;
} __attribute__((preserve_access_index));
#define KERNEL_STACK 16384 /* bytes, of x86-64 and arm64 with pages of 4 KiB, without KASAN */

static __always_inline struct task_struct *current_task(void)
{
	return lacks & LACKS_TASK ? (void *)bpf_get_current_task() : (void *)bpf_get_current_task_btf();
}

/* A field of a task that may be current_task's: older verifiers do not know what that points to. */
#define TASK(t, field) (lacks & LACKS_TASK ? BPF_CORE_READ((t), field) : (t)->field)
/* A pointer of such a task, LOOSE (compat.bpf.h). */
#define TASK_POINTER(type, t, field) (lacks & LACKS_TASK ? BPF_CORE_READ((type *)(t), field) : LOOSE(type, (type *)(t))->field)

/* The registers of a task's entry into the kernel, and one of them. They lie at the upper end of its stack. */
static __always_inline void *task_regs(struct task_struct *t)
{
	u64 stack;

	if (!(lacks & LACKS_REGS))
		return (void *)bpf_task_pt_regs(t);
	stack = (u64)BPF_CORE_READ((struct task_struct___stack *)t, stack);
	return (void *)(stack + KERNEL_STACK - bpf_core_type_size(struct pt_regs___x86));
}
#define REG(type, regs, field) (lacks & LACKS_REGS ? BPF_CORE_READ((type *)(regs), field) : ((type *)(regs))->field)

/*
 * A task's row in a map of task storage, which the loader makes a hash by thread
 * id where there is none; 0 where there is no row. A row of a hash is there until
 * forget_task, which task storage does not need.
 */
static __always_inline void *task_row(void *map, struct task_struct *t)
{
	u32 tid;

	if (!(lacks & LACKS_STORAGE))
		return bpf_task_storage_get(map, t, 0, 0);
	tid = TASK(t, pid);
	return bpf_map_lookup_elem(map, &tid);
}

/* The same, made on first sight; 0 where there is no room. */
static __always_inline void *new_task_row(void *map, struct task_struct *t, const void *zero)
{
	void *row;
	u32 tid;

	if (!(lacks & LACKS_STORAGE))
		return bpf_task_storage_get(map, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	tid = TASK(t, pid);
	row = bpf_map_lookup_elem(map, &tid);
	if (row)
		return row;
	bpf_map_update_elem(map, &tid, zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, &tid);
}

static __always_inline void delete_task_row(void *map, struct task_struct *t)
{
	u32 tid;

	if (!(lacks & LACKS_STORAGE)) {
		bpf_task_storage_delete(map, t);
		return;
	}
	tid = TASK(t, pid);
	bpf_map_delete_elem(map, &tid);
}

/* A task leaves the processor for good. */
static __always_inline void forget_task(void *map, struct task_struct *t)
{
	if (lacks & LACKS_STORAGE)
		delete_task_row(map, t);
}

/* The program that forgets the tasks of a map that end; left out where that is task storage. */
#define FORGETS(map)                              \
	SEC("tp_btf/sched_process_exit")          \
	int BPF_PROG(on_gone, struct task_struct *task) \
	{                                         \
		forget_task(&map, task);          \
		return 0;                         \
	}

/*
 * What was there before. Without atomic operations that return it, it is read
 * before: of what is added nothing is lost; of bits and exchanges it is what two
 * processors do to the same word at the same instant.
 */
static __always_inline u64 fetch_add(u64 *at, u64 n)
{
	if (!(lacks & LACKS_FETCH))
		return __sync_fetch_and_add(at, n);
	/* or the compiler makes both one */
	asm volatile("lock *(u64 *)(%0 + 0) += %1" : : "r"(at), "r"(n) : "memory");
	return *(volatile u64 *)at - n;
}

static __always_inline u64 fetch_and(u64 *at, u64 mask)
{
	u64 old;

	if (!(lacks & LACKS_FETCH))
		return __sync_fetch_and_and(at, mask);
	old = *(volatile u64 *)at;
	*(volatile u64 *)at = old & mask;
	return old;
}

static __always_inline u64 fetch_or(u64 *at, u64 mask)
{
	u64 old;

	if (!(lacks & LACKS_FETCH))
		return __sync_fetch_and_or(at, mask);
	old = *(volatile u64 *)at;
	*(volatile u64 *)at = old | mask;
	return old;
}

#define EXCHANGE(at, value)                                          \
	({                                                           \
		typeof(*(at)) old_;                                  \
		if (!(lacks & LACKS_FETCH)) {                        \
			old_ = __sync_lock_test_and_set((at), (value)); \
		} else {                                             \
			old_ = *(volatile typeof(*(at)) *)(at);      \
			*(volatile typeof(*(at)) *)(at) = (value);   \
		}                                                    \
		old_;                                                \
	})

#define COMPARE_AND_SWAP(at, want, value)                                   \
	({                                                                  \
		typeof(*(at)) was_;                                         \
		if (!(lacks & LACKS_FETCH)) {                               \
			was_ = __sync_val_compare_and_swap((at), (want), (value)); \
		} else {                                                    \
			was_ = *(volatile typeof(*(at)) *)(at);             \
			if (was_ == (want))                                 \
				*(volatile typeof(*(at)) *)(at) = (value);  \
		}                                                           \
		was_;                                                       \
	})

/*
 * Calls step(i, x) for each i below n until it returns 1. Without bpf_loop it calls
 * round, the same in a form that costs verifiers little, and no more than most
 * times, a constant.
 */
#define LOOP(most, n, step, round, x)                                            \
	do {                                                              \
		if (lacks & LACKS_LOOP) {                                 \
			u32 n_ = (n);                                     \
			for (u32 i_ = 0; i_ < (most) && i_ < n_; i_++)    \
				if (round(i_, x))                         \
					break;                            \
		} else {                                                  \
			bpf_loop((n), step, x, 0);                        \
		}                                                         \
	} while (0)
