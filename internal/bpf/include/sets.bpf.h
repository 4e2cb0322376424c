/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Tables of what is in flight, by a number that is not 0: an array of sets, of which a
 * number belongs to one and has any of its ways. Nothing is locked or allocated, and
 * the search has no branches, or the verifier would go every way. A set may be full
 * while others are not.
 */
#pragma once

#include "compat.bpf.h"

#define WAYS 8

/* The verifier shall see the bound, which the compiler else knows to be needless. */
#define BOUND(way)                              \
	({                                      \
		u64 way_ = (way);               \
		asm volatile("" : "+r"(way_)); \
		way_ & (WAYS - 1);              \
	})

/*
 * V is a struct of WAYS ids, the numbers, and as many rows; sets is a power of two.
 * What may be mapped begins with a page, and so each line of the processor's cache
 * with a row of its size.
 */
#define SET_TABLE(name, sets, V)                         \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_ARRAY);        \
		__uint(max_entries, sets);               \
		__uint(map_flags, BPF_F_MMAPABLE);       \
		__type(key, u32);                        \
		__type(value, V);                        \
	} name SEC(".maps")

#define SET_OF(table, sets, id)                                                       \
	({                                                                            \
		u32 slot_ = (id) * 0x9e3779b97f4a7c15ULL >> (64 - __builtin_ctz(sets)); \
		bpf_map_lookup_elem(&table, &slot_);                                  \
	})

/* Which way has a number; WAYS for none. */
static __always_inline u64 way_of(const u64 *ids, u64 id)
{
	u64 way = 0, more = 1, differs;
	int i;

#pragma unroll
	for (i = 0; i < WAYS; i++) {
		differs = ids[i] ^ id;
		differs |= -differs;
		asm volatile("" : "+r"(differs)); /* else the compiler makes a branch of it */
		more &= differs >> 63;
		way += more;
	}
	return way;
}

/* The way that a number has where it was free: mostly, for sets are mostly empty. */
static __always_inline u64 first_way(u64 id)
{
	return id * 0x9e3779b97f4a7c15ULL >> 32 & (WAYS - 1);
}

/* The same as way_of, faster where the number is there. */
static __always_inline u64 quick_way_of(const u64 *ids, u64 id)
{
	u64 way = BOUND(first_way(id));

	return ids[way] == id ? way : way_of(ids, id);
}

/*
 * Takes a free way for a number that has none; WAYS where there is none, or where other
 * processors took those that were found.
 */
static __always_inline u64 take_way(u64 *ids, u64 id)
{
	u64 way = BOUND(first_way(id)), was;
	int i;

	was = COMPARE_AND_SWAP(&ids[way], 0, id);
	for (i = 0; i < 2 && was; i++) {
		way = way_of(ids, 0);
		if (way >= WAYS)
			return WAYS;
		way = BOUND(way);
		was = COMPARE_AND_SWAP(&ids[way], 0, id);
	}
	return was ? WAYS : way;
}
