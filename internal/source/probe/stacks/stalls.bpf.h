/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Waits and samples that are handed over with a copy of the user stack, to be unwound without frame pointers. */
#pragma once
#include "rows.bpf.h"

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
	void *regs = (void *)bpf_task_pt_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86all) && bpf_core_field_exists(((struct pt_regs___x86all *)0)->orig_ax)) {
		struct pt_regs___x86all *r = regs;

		to->ip = r->ip;
		to->sp = r->sp;
		to->bp = r->bp;
		to->bx = r->bx;
		to->r12 = r->r12;
		to->r13 = r->r13;
		to->r14 = r->r14;
		to->r15 = r->r15;
	} else {
		to->ip = BPF_CORE_READ((struct pt_regs___arm64all *)regs, pc);
		to->sp = BPF_CORE_READ((struct pt_regs___arm64all *)regs, sp);
		to->bp = BPF_CORE_READ((struct pt_regs___arm64all *)regs, regs[29]);
	}
}

#define STALL_PAGE 4096
#define STALL_PAGES 4

struct stall {
	struct key k;
	struct row r;
	struct regs regs;
	u64 base; /* where the copy begins: the page of the stack pointer */
	u64 pages;
	u8 copy[STALL_PAGES][STALL_PAGE];
};
struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 8 << 20);
} stalls SEC(".maps");
const struct stall *stall_type __attribute__((unused)); /* so that its type is kept for Go */

#define RB_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP: user space looks by itself */

const volatile u32 want_stalls;
u64 kept_stalls, unkept_stalls;

/*
 * Hands a wait or a sample of the running thread over; false if it is to be
 * added up here. An interrupt's registers are where a system call's would be.
 */
static __always_inline bool stall(struct task_struct *t, const struct key *k, const struct row *r)
{
	struct stall *s;

	if (!want_stalls || t->flags & PF_KTHREAD)
		return false;
	s = bpf_ringbuf_reserve(&stalls, sizeof(*s), 0);
	if (!s) {
		ADD(unkept_stalls, 1);
		return false;
	}
	s->k = *k;
	s->r = *r;
	__builtin_memset(&s->regs, 0, sizeof(s->regs));
	read_regs(t, &s->regs);
	s->base = s->regs.sp & ~(STALL_PAGE - 1ULL);
	s->pages = 0;
#pragma unroll
	for (int i = 0; i < STALL_PAGES; i++) {
		if (s->pages == i && !bpf_probe_read_user(s->copy[i], STALL_PAGE, (void *)(s->base + i * STALL_PAGE)))
			s->pages = i + 1;
	}
	bpf_ringbuf_submit(s, RB_NO_WAKEUP);
	ADD(kept_stalls, 1);
	return true;
}
