/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The innermost part of a thread's user stack, copied to be unwound without frame pointers. */
#pragma once
#include "compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86all {
	unsigned long r15, r14, r13, r12, bp, bx, di, si, dx, orig_ax, ip, sp;
};
struct pt_regs___arm64all {
	u64 regs[31];
	u64 sp, pc;
	s32 syscallno;
};
#pragma clang attribute pop

/* What callers are found by. */
struct regs {
	u64 ip, sp, fp;
	u64 link;      /* arm64: x30 */
	u64 saved[10]; /* x86-64: rbx, r12 to r15; arm64: x19 to x28 */
};

static __always_inline void read_regs(struct task_struct *t, struct regs *to)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86all) && bpf_core_field_exists(((struct pt_regs___x86all *)0)->orig_ax)) {
		struct pt_regs___x86all *r = regs;

		to->ip = REG(struct pt_regs___x86all, r, ip);
		to->sp = REG(struct pt_regs___x86all, r, sp);
		to->fp = REG(struct pt_regs___x86all, r, bp);
		to->saved[0] = REG(struct pt_regs___x86all, r, bx);
		to->saved[1] = REG(struct pt_regs___x86all, r, r12);
		to->saved[2] = REG(struct pt_regs___x86all, r, r13);
		to->saved[3] = REG(struct pt_regs___x86all, r, r14);
		to->saved[4] = REG(struct pt_regs___x86all, r, r15);
	} else {
		struct pt_regs___arm64all *r = regs;

		to->ip = BPF_CORE_READ(r, pc);
		to->sp = BPF_CORE_READ(r, sp);
		to->fp = BPF_CORE_READ(r, regs[29]);
		to->link = BPF_CORE_READ(r, regs[30]);
		bpf_core_read(to->saved, sizeof(to->saved), &r->regs[19]);
	}
}

#define COPY_PAGE 4096
#define COPY_PAGES 4 /* not all of the first: 12 to 16 KiB */

struct user_stack {
	struct regs regs;
	u64 base; /* where the copy begins: the page of the stack pointer */
	u64 pages;
	u8 page[COPY_PAGES][COPY_PAGE];
};

/* Copies that of the running thread. An interrupt's registers are where a system call's would be. */
static __always_inline void copy_user_stack(struct task_struct *t, struct user_stack *to)
{
	__builtin_memset(&to->regs, 0, sizeof(to->regs));
	read_regs(t, &to->regs);
	to->base = to->regs.sp & ~(COPY_PAGE - 1ULL);
	to->pages = 0;
#pragma unroll
	for (int i = 0; i < COPY_PAGES; i++) {
		if (to->pages == i && !bpf_probe_read_user(to->page[i], COPY_PAGE, (void *)(to->base + i * COPY_PAGE)))
			to->pages = i + 1;
	}
}
