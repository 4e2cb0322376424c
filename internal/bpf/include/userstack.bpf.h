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
	u64 ip, sp, bp, bx, r12, r13, r14, r15;
};

static __always_inline void read_regs(struct task_struct *t, struct regs *to)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86all) && bpf_core_field_exists(((struct pt_regs___x86all *)0)->orig_ax)) {
		struct pt_regs___x86all *r = regs;

		to->ip = REG(struct pt_regs___x86all, r, ip);
		to->sp = REG(struct pt_regs___x86all, r, sp);
		to->bp = REG(struct pt_regs___x86all, r, bp);
		to->bx = REG(struct pt_regs___x86all, r, bx);
		to->r12 = REG(struct pt_regs___x86all, r, r12);
		to->r13 = REG(struct pt_regs___x86all, r, r13);
		to->r14 = REG(struct pt_regs___x86all, r, r14);
		to->r15 = REG(struct pt_regs___x86all, r, r15);
	} else {
		to->ip = BPF_CORE_READ((struct pt_regs___arm64all *)regs, pc);
		to->sp = BPF_CORE_READ((struct pt_regs___arm64all *)regs, sp);
		to->bp = BPF_CORE_READ((struct pt_regs___arm64all *)regs, regs[29]);
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
