/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How far away pages of files had been that come back after reclaim evicted them:
 * how many others were evicted in between, of the page's own cgroup and of all. One
 * page of each aligned run of 16 is watched, which one a hash tells, and stands for 16
 * that are evicted: any other costs the hash and nothing else. docs/predict.md says
 * what follows from it.
 */
#pragma once

#include "hist.bpf.h"
#include "process.bpf.h"
#include "twice.bpf.h"

#define RUN_SHIFT 4
#define RUNS 33 /* in the largest folio, and one that it begins within */
#define BINS 120 /* four for each power of two, up to 2^31 pages */

struct refault_key {
	u64 cgroup; /* the page's, 0 for all */
	u32 tgid; /* that brings pages back */
	u32 pad;
};
struct refaults {
	u64 pages[BINS]; /* watched, by distance */
};
struct page_key {
	u64 file, page;
};
struct evicted {
	u64 cgroup, own, all; /* evicted before it: of its cgroup, and of all */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct refault_key);
	__type(value, struct refaults);
} refaults SEC(".maps");

/* Pages by cgroup that were evicted since the beginning, 0 for all: 16 for each that is watched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u64);
} evictions SEC(".maps");

/* Watched pages that are away. Those that were evicted first are forgotten first. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct page_key);
	__type(value, struct evicted);
} away SEC(".maps");

u64 lost_refaults;

static const struct refaults no_refaults;

/* Four steps for each power of two. */
static __always_inline u32 bin_of(u64 distance)
{
	u32 e = hist_slot(distance), bin;

	if (e < 2)
		return distance;
	bin = (e - 1) * 4 + ((distance >> (e - 2)) & 3);
	return bin < BINS ? bin : BINS - 1;
}

static __always_inline u64 *evictions_of(u64 cgroup)
{
	u64 *n = bpf_map_lookup_elem(&evictions, &cgroup), zero = 0;

	if (n)
		return n;
	bpf_map_update_elem(&evictions, &cgroup, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&evictions, &cgroup);
}

static __always_inline void count_refault(u64 cgroup, u64 distance)
{
	struct task_struct *task = current_task();
	struct refault_key key = { .cgroup = cgroup, .tgid = TASK(task, tgid) };
	struct refaults *row = bpf_map_lookup_elem(&refaults, &key);
	u32 bin = bin_of(distance);

	if (!row) {
		bpf_map_update_elem(&refaults, &key, &no_refaults, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&refaults, &key);
		if (!row) {
			ADD(lost_refaults, 1);
			return;
		}
		note_process(task, key.tgid);
	}
	if (bin < BINS)
		ADD(row->pages[bin], 1);
}

/* murmur3's finisher: neighbours get unrelated pages */
static __always_inline u64 watched_page(u64 file, u64 run)
{
	u64 hash = file + run * 0x9E3779B97F4A7C15ULL;

	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return (run << RUN_SHIFT) + (hash >> 60);
}

/* A page that comes back. Not static, so that it is verified once and not in every round. */
__noinline int comes_back(u64 file, u64 page)
{
	struct page_key key = { file, page };
	struct evicted *e = bpf_map_lookup_elem(&away, &key);
	u64 *own, *all;

	if (!e)
		return 0;
	own = evictions_of(e->cgroup);
	all = evictions_of(0);
	if (own && e->cgroup)
		count_refault(e->cgroup, *own - e->own);
	if (all)
		count_refault(0, *all - e->all);
	bpf_map_delete_elem(&away, &key);
	return 0;
}

/* A watched page that reclaim evicts; memcg is the address of its memory cgroup. */
__noinline int goes_away(u64 file, u64 page, u64 memcg)
{
	struct page_key key = { file, page };
	struct evicted e = {};
	u64 *own, *all;

	if (memcg)
		e.cgroup = css_id((struct cgroup_subsys_state *)memcg);
	own = evictions_of(e.cgroup);
	all = evictions_of(0);
	if (!own || !all) {
		ADD(lost_refaults, 1 << RUN_SHIFT);
		return 0;
	}
	e.own = *own;
	e.all = *all;
	if (e.cgroup)
		ADD(*own, 1 << RUN_SHIFT);
	ADD(*all, 1 << RUN_SHIFT);
	bpf_map_update_elem(&away, &key, &e, BPF_ANY);
	return 0;
}

static __always_inline u64 hash_of(struct inode *inode)
{
	return (inode->i_ino + ((u64)inode->i_sb->s_dev << 40)) * 0x9E3779B97F4A7C15ULL;
}

/* The pages of a folio that may be watched, run by run. */
struct folio_runs {
	u64 file, first, last, memcg;
};

static __always_inline u32 runs_of(struct folio_runs *x, struct folio *folio)
{
	x->file = hash_of(FOLIO(folio, mapping)->host);
	x->first = FOLIO(folio, index);
	x->last = x->first + folio_pages(folio) - 1;
	return (x->last >> RUN_SHIFT) - (x->first >> RUN_SHIFT) + 1;
}

static long run_comes_back(u32 i, struct folio_runs *x)
{
	u64 page = watched_page(x->file, (x->first >> RUN_SHIFT) + i);

	if (page >= x->first && page <= x->last)
		comes_back(x->file, page);
	return 0;
}

static long run_goes_away(u32 i, struct folio_runs *x)
{
	u64 page = watched_page(x->file, (x->first >> RUN_SHIFT) + i);

	if (page >= x->first && page <= x->last)
		goes_away(x->file, page, x->memcg);
	return 0;
}

/* Most folios lie in one run, or the verifier would look at as many rounds as there may be. */
#define EACH_RUN(n, step, x)                                 \
	do {                                                 \
		if ((n) == 1)                                \
			step(0, x);                          \
		else                                         \
			LOOP(RUNS, n, step, step, x);        \
	} while (0)

SEC("tp_btf/mm_filemap_add_to_page_cache")
int COUNTING_TWICE(TWICE_RETURN, on_return, struct folio *folio)
{
	struct folio_runs x = {};
	u32 n = runs_of(&x, folio);

	EACH_RUN(n, run_comes_back, &x);
	return 0;
}

/* Reclaim runs with PF_MEMALLOC set, truncation and drop_caches do not. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int COUNTING(on_evict, struct folio *folio)
{
	struct folio_runs x = {};
	u32 n;

	if (!(TASK(current_task(), flags) & PF_MEMALLOC))
		return 0;
	n = runs_of(&x, folio);
	x.memcg = bpf_core_field_exists(folio->memcg_data) ? memcg_of(folio->memcg_data) : folio_memcg(folio);
	EACH_RUN(n, run_goes_away, &x);
	return 0;
}
