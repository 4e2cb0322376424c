/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Waits and samples that are handed over with a copy of the user stack, to be unwound without frame pointers. */
#pragma once
#include "rows.bpf.h"
#include "userstack.bpf.h"

struct stall {
	struct key k;
	struct row r;
	struct user_stack user;
};
struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 8 << 20);
} stalls SEC(".maps");
const struct stall *stall_type __attribute__((unused)); /* so that its type is kept for Go */

#define RB_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP: user space looks by itself */

const volatile u32 want_stalls;
u64 kept_stalls, unkept_stalls;

/* Hands a wait or a sample of the running thread over; false if it is to be added up here. */
static __always_inline bool stall(struct task_struct *t, const struct key *k, const struct row *r)
{
	struct stall *s;

	if (!want_stalls || TASK(t, flags) & PF_KTHREAD)
		return false;
	s = bpf_ringbuf_reserve(&stalls, sizeof(*s), 0);
	if (!s) {
		ADD(unkept_stalls, 1);
		return false;
	}
	s->k = *k;
	s->r = *r;
	copy_user_stack(t, &s->user);
	bpf_ringbuf_submit(s, RB_NO_WAKEUP);
	ADD(kept_stalls, 1);
	return true;
}
