/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Programs at functions of kernels that have no trampolines for them (arm64 before
 * 6.4, and x86 where they are refused): a kprobe at the beginning, and another where
 * the function returns, which is no longer told what it was passed.
 */
#pragma once

#include "compat.bpf.h"

/* Such a program does not know the types of what it reads: its object reads all of that by copying. */
const volatile u32 untyped;
#define OF(pointer, ...) (untyped ? BPF_CORE_READ((pointer), __VA_ARGS__) : ___arrow((pointer), __VA_ARGS__))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86call {
	unsigned long di, si, dx, ax, orig_ax;
};
struct pt_regs___arm64call {
	u64 regs[3];
};
#pragma clang attribute pop

/* The calls whose returns are seen; 0: none. A thread is in one of them at a time. */
enum { CALL_GET_PAGES = 1, CALL_BUFFERED_READ, CALL_MAP_PAGES };

/* One that has not returned yet, and the first of its arguments. */
struct called {
	u64 call;
	u64 argument[3];
};

u64 lost_returns; /* calls of which the kernel did not tell that they returned */

static __always_inline bool on_x86(void)
{
	return bpf_core_type_exists(struct pt_regs___x86call) && bpf_core_field_exists(((struct pt_regs___x86call *)0)->orig_ax);
}

/* COUNTING for a program at a kprobe. */
#define COUNTING_CALL(name)                                \
	name(void *ctx);                                   \
	static __always_inline int counting_##name(void *ctx); \
	int name(void *ctx)                                \
	{                                                  \
		return enabled ? counting_##name(ctx) : 0; \
	}                                                  \
	static __always_inline int counting_##name(void *ctx)

/* A register by its names; the barriers keep the compiler from finding both before it knows which one there is. */
#define REGISTER(ctx, on_x86_64, on_arm64)                                              \
	({                                                                              \
		u64 value_;                                                             \
		if (on_x86()) {                                                         \
			barrier();                                                      \
			value_ = BPF_CORE_READ((struct pt_regs___x86call *)(ctx), on_x86_64); \
		} else {                                                                \
			barrier();                                                      \
			value_ = BPF_CORE_READ((struct pt_regs___arm64call *)(ctx), on_arm64); \
		}                                                                       \
		value_;                                                                 \
	})
/* The arguments of the function, at its beginning. */
#define ARGUMENT0(ctx) REGISTER(ctx, di, regs[0])
#define ARGUMENT1(ctx) REGISTER(ctx, si, regs[1])
#define ARGUMENT2(ctx) REGISTER(ctx, dx, regs[2])
/* What it returns, at its end. */
#define RETURNED(ctx) REGISTER(ctx, ax, regs[0])

/* A thread calls the function. */
static __always_inline void begin_call(struct called *c, void *ctx, u64 call)
{
	if (c->call)
		__sync_fetch_and_add(&lost_returns, 1);
	c->call = call;
	c->argument[0] = ARGUMENT0(ctx);
	c->argument[1] = ARGUMENT1(ctx);
	c->argument[2] = ARGUMENT2(ctx);
}

/* It returns; false where its beginning was not seen. */
static __always_inline bool end_call(struct called *c, u64 call)
{
	bool is = c->call == call;

	c->call = 0;
	return is && enabled;
}
