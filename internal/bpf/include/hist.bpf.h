/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Powers of two, as sample.Histogram counts them: slot i holds 2^i <= v < 2^(i+1). */
#pragma once

#include "kernel.h"

#define HIST_SLOTS 48

/* Adds step and shifts by as much where v has a bit from step on. */
#define HIST_STEP(step)                                                             \
	more = -(v >> (step));                                                      \
	asm volatile("" : "+r"(more)); /* else the compiler makes a branch of it */ \
	more = (more >> 63) * (step);                                               \
	slot += more;                                                               \
	asm volatile("" : "+r"(slot)); /* else it ors, and the verifier sees 63 */  \
	v >>= more

/*
 * Without branches: with them the verifier goes each of 48 ways, for every call
 * on every way, and the processor guesses wrongly for times, which are random.
 * The steps add up to the last slot, which so holds all that is larger.
 */
static __always_inline u32 hist_slot(u64 v)
{
	u64 slot = 0, more;

	HIST_STEP(16);
	HIST_STEP(16);
	HIST_STEP(8);
	HIST_STEP(4);
	HIST_STEP(2);
	HIST_STEP(1);
	return slot;
}
