/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a blocked thread waits for, told by the kernel functions that it sleeps in. */
#pragma once

#include "lacks.bpf.h"

/*
 * Kernel functions that say what a thread waits for that sleeps inside them, by
 * address; from the loader. The innermost counts, except that one marked INNER gives
 * way to one further out that is marked OUTER: a block may be waited for to make room.
 */
#define RULE_CLASS 0xffff
#define RULE_INNER 0x10000
#define RULE_OUTER 0x20000
#define RULE_NONE 0xffff /* marked INNER: any other further out takes its place */
struct rule {
	u64 start, end;
	u32 class, pad;
};
#define RULES 256 /* a power of two */
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

/* Looks for the rule of one function of the stack; 1 when it is the last word. */
struct search {
	struct stack *stack;
	u32 n, class;
};
static long look_at(u32 i, struct search *x)
{
	u64 ip, at;
	u32 low = 0; /* the last rule that starts at or below ip */

	if (i >= x->n || i >= DEPTH)
		return 1;
	ip = x->stack->ip[i];
	/*
	 * Without branches, or the verifier goes every way, and without a mask of all or no
	 * bits, for which later ones (6.18.44) go two. Unused rules start at 0, below which
	 * no address is.
	 */
#pragma unroll
	for (u32 step = RULES / 2; step; step /= 2) {
		at = low + step;
		/* else the compiler drops the bound, which the verifier of 6.1 does not see by itself */
		asm volatile("" : "+r"(at));
		low += step - ((ip - rules[at & (RULES - 1)].start) >> 63) * step;
	}
	at = low;
	asm volatile("" : "+r"(at));
	at &= RULES - 1;
	if (ip < rules[at].start || ip >= rules[at].end)
		return 0;
	if (!x->class || x->class == RULE_NONE || rules[at].class & RULE_OUTER)
		x->class = rules[at].class & RULE_CLASS;
	return !(rules[at].class & RULE_INNER);
}

/*
 * What the first n functions of this processor's row of stacks say, 0 for nothing.
 * A global function: the verifier looks at it once, and not wherever it is called.
 */
__noinline u32 class_of_stack(u32 n)
{
	struct search x = { .n = n };
	u32 zero = 0;

	x.stack = bpf_map_lookup_elem(&stacks, &zero);
	if (x.stack && rule_count)
		LOOP(DEPTH, DEPTH, look_at, look_at, &x);
	return x.class;
}
