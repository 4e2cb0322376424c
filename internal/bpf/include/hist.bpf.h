/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Powers of two, as sample.Histogram counts them: slot i holds 2^i <= v < 2^(i+1). */
#pragma once

#include "kernel.h"

#define HIST_SLOTS 48

static __always_inline u32 hist_slot(u64 v)
{
	u32 slot = 0;

	if (v >> 32) { slot = 32; v >>= 32; }
	if (v >> 16) { slot += 16; v >>= 16; }
	if (v >> 8) { slot += 8; v >>= 8; }
	if (v >> 4) { slot += 4; v >>= 4; }
	if (v >> 2) { slot += 2; v >>= 2; }
	if (v >> 1) slot += 1;
	return slot < HIST_SLOTS ? slot : HIST_SLOTS - 1;
}
