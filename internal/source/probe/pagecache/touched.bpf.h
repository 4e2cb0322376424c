/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How many different pages each process asks for. Of each aligned run of pages
 * exactly one is watched, which one a hash tells (stratified SHARDS: Waldspurger
 * et al., FAST '15), so that most reads cost the hash and nothing else.
 */
#pragma once

#include "chunks.bpf.h"

/* Pages of a run, as a power of two; 0: nobody asks. */
const volatile u32 touch_shift;

struct touch_key {
	u64 file, run;
	u32 tgid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 17); /* 32 GiB of pages, one in 64 watched */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct touch_key);
	__type(value, u64); /* calls that asked for it */
} touched SEC(".maps");

u64 lost_touched;

struct touch {
	u64 file, from, to;
	u32 tgid;
};

static __always_inline int touch_page(u64 file, u64 run, u64 from, u64 to, u32 tgid)
{
	struct touch_key key = { file, run, tgid };
	u64 page, hash, *count, one = 1;

	/* murmur3's finisher: neighbours get unrelated pages */
	hash = file + run * 0x9E3779B97F4A7C15ULL;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	hash ^= hash >> 33;
	page = (run << touch_shift) + (hash & ((1ULL << touch_shift) - 1));
	if (page < from || page > to)
		return 0;
	count = bpf_map_lookup_elem(&touched, &key);
	if (!count) {
		if (!bpf_map_update_elem(&touched, &key, &one, BPF_NOEXIST))
			return 0;
		count = bpf_map_lookup_elem(&touched, &key);
		if (!count) {
			ADD(lost_touched, 1);
			return 0;
		}
	}
	ADD(*count, 1);
	return 0;
}

static long touch_run(u32 i, struct touch *t)
{
	u64 run = (t->from >> touch_shift) + i;

	if (run > t->to >> touch_shift)
		return 1;
	touch_page(t->file, run, t->from, t->to, t->tgid);
	return 0;
}

/* As in chunks.bpf.h. */
__noinline int touch_page_once(u64 file, u64 run, u64 from, u64 to, u32 tgid)
{
	return touch_page(file, run, from, to, tgid);
}

__noinline int touch_range_once(u64 file, u64 from, u64 to, u32 tgid)
{
	u64 run = from >> touch_shift;
	u32 i;

	for (i = 0; i < MAX_CHUNKS && run + i <= to >> touch_shift; i++)
		touch_page_once(file, run + i, from, to, tgid);
	return 0;
}

/* A range that is longer than one walk. */
__noinline int touch_walks_once(u64 file, u64 from, u64 to, u32 tgid)
{
	u32 i;

	for (i = 0; i < MOST_WALKS && from <= to; i++) {
		touch_range_once(file, from, to, tgid);
		from = ((from >> touch_shift) + MAX_CHUNKS) << touch_shift;
	}
	return 0;
}

/* A call asks for these pages of a file. */
static __noinline int touch(u64 file, u64 from, u64 to)
{
	struct touch t = { .file = file, .from = from, .to = to };
	u64 runs;

	if (!touch_shift || to < from)
		return 0;
	t.tgid = this_tgid();
	runs = (to >> touch_shift) - (from >> touch_shift) + 1;
	if (runs > 2) {
		if (lacks & LACKS_LOOP)
			touch_walks_once(file, from, to, t.tgid);
		else
			bpf_loop(runs, touch_run, &t, 0);
		return 0;
	}
	touch_run(0, &t);
	if (runs == 2)
		touch_run(1, &t);
	return 0;
}
