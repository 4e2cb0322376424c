/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a thread waits for that sleeps in futex(2). */
#pragma once
#include "kernel.h"

/* include/uapi/linux/futex.h */
#define FUTEX_CMD_MASK 0x7f
#define FUTEX_PRIVATE 128
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_WAITERS 0x80000000
#define FUTEX_TID_MASK 0x3fffffff

#define PID_LIMIT (1 << 22)

/*
 * Whether it is a contended mutex, by the call's operation and value: glibc,
 * Rust and Go wait for it to change from 2, musl and robust mutexes from the
 * owner's thread id with the bit FUTEX_WAITERS. Other waits are condition
 * variables, semaphores, joins, and threads that their runtime parked (Rust's
 * at -1, which is no thread id).
 */
static __always_inline bool contended_mutex(u32 op, u32 value)
{
	op &= FUTEX_CMD_MASK;
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return true;
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return false;
	return value == 2 || (value & FUTEX_WAITERS && (value & FUTEX_TID_MASK) < PID_LIMIT);
}
