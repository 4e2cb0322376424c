/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The bitmaps of pages that nobody has used yet, and of pages that were evicted. */
#pragma once

#include "names.bpf.h"

static __always_inline struct account *find_account(struct file_key *key)
{
	return bpf_map_lookup_elem(&accounts, key);
}

/* The account of one process and file, made on first sight. task is a thread of the process. */
static __always_inline struct account *account_at(struct file_key *key, struct inode *inode, struct task_struct *task)
{
	struct account *a = find_account(key);

	if (a)
		return a;
	bpf_map_update_elem(&accounts, key, &no_account, BPF_NOEXIST);
	a = find_account(key);
	if (!a) {
		ADD(lost_accounts, 1);
		return 0;
	}
	note_path(as_number((u64)inode), key->ino, key->dev);
	note(task, key->tgid);
	return a;
}

/* The same of a file that the running thread uses. */
static __noinline struct account *account_of(struct inode *inode, u32 tgid)
{
	struct file_key key = { .tgid = tgid };

	key.ino = OF(inode, i_ino);
	key.dev = OF(inode, i_sb, s_dev);
	return account_at(&key, inode, current_task());
}

/*
 * A range of one file's pages on its way through the bitmaps. The count lives
 * in a map, since the verifier follows every value of a counter on the stack,
 * and with the task, since programs may be preempted (7.2).
 */
struct range {
	u64 file, from, to;
	u64 *found;
};

static __always_inline u64 *new_count(void)
{
	struct task *t = task_state_of(current_task());

	if (!t) {
		ADD(lost_tasks, 1);
		return 0;
	}
	t->found = 0;
	return &t->found;
}

#define FOLIO_CHUNKS (FOLIO_PAGES / 64 + 2)

/* Takes the fresh marks off those of a range's pages that are in one chunk, and counts them. */
static __always_inline u32 use_pages(u64 file, u64 first, u64 last, u64 chunk)
{
	struct chunk_key key = { file, chunk };
	u64 from = chunk << CHUNK_SHIFT, to = from + 63, mask, old, *count;
	struct chunk *c;
	u32 n;

	if (from < first)
		from = first;
	if (to > last)
		to = last;
	c = bpf_map_lookup_elem(&chunks, &key);
	if (!c || !c->fresh)
		return 0;
	mask = bits(from & 63, to & 63);
	old = fetch_and(&c->fresh, ~mask);
	n = popcount(old & mask);
	if (!n)
		return 0;
	count = fresh_count(file);
	if (count)
		ADD(*count, -(u64)n);
	if (!(old & ~mask) && !c->evicted)
		bpf_map_delete_elem(&chunks, &key);
	return n;
}

/* A function that is not static is verified once, not for every way to it. */
__noinline int use_pages_once(u64 file, u64 first, u64 last, u64 chunk)
{
	return use_pages(file, first, last, chunk);
}

/* Takes the fresh marks off a range and counts them. */
static long use_chunk(u32 i, struct range *r)
{
	u64 chunk = (r->from >> CHUNK_SHIFT) + i;

	if (chunk > r->to >> CHUNK_SHIFT)
		return 1;
	*r->found += (u32)use_pages_once(r->file, r->from, r->to, chunk);
	return 0;
}

/* The same without a helper for loops. */
__noinline int use_range_once(u64 file, u64 first, u64 last)
{
	u64 chunk = first >> CHUNK_SHIFT;
	u32 found = 0, i;

	for (i = 0; i < MAX_CHUNKS && chunk + i <= last >> CHUNK_SHIFT; i++)
		found += use_pages_once(file, first, last, chunk + i);
	return found;
}

/* Takes the fresh marks off a range, of MAX_CHUNKS chunks at most, and counts them. */
static __always_inline u64 use_range(struct range *r)
{
	if (lacks & LACKS_LOOP)
		return (u32)use_range_once(r->file, r->from, r->to);
	*r->found = 0;
	bpf_loop(MAX_CHUNKS, use_chunk, r, 0);
	return *r->found;
}

/* Marks a range fresh; r->found counts the pages that had been evicted. */
static long insert_chunk(u32 i, struct range *r)
{
	u64 chunk = (r->from >> CHUNK_SHIFT) + i;
	struct chunk_key key = { r->file, chunk };
	u64 from = chunk << CHUNK_SHIFT, to = from + 63, mask, old, *count;
	struct chunk *c;

	if (chunk > r->to >> CHUNK_SHIFT)
		return 1;
	if (from < r->from)
		from = r->from;
	if (to > r->to)
		to = r->to;
	mask = bits(from & 63, to & 63);
	count = fresh_count(r->file);
	c = bpf_map_lookup_elem(&chunks, &key);
	if (!c) {
		struct chunk fresh = { .fresh = mask };

		if (!bpf_map_update_elem(&chunks, &key, &fresh, BPF_NOEXIST)) {
			if (count)
				ADD(*count, to - from + 1);
			return 0;
		}
		c = bpf_map_lookup_elem(&chunks, &key);
		if (!c) {
			ADD(lost_chunks, 1);
			return 0;
		}
	}
	old = fetch_or(&c->fresh, mask);
	if (count)
		ADD(*count, popcount(mask & ~old));
	if (c->evicted & mask)
		*r->found += popcount(fetch_and(&c->evicted, ~mask) & mask);
	return 0;
}

/* Marks a range evicted. */
static long evict_chunk(u32 i, struct range *r)
{
	u64 chunk = (r->from >> CHUNK_SHIFT) + i;
	struct chunk_key key = { r->file, chunk };
	u64 from = chunk << CHUNK_SHIFT, to = from + 63, mask;
	struct chunk *c;

	if (chunk > r->to >> CHUNK_SHIFT)
		return 1;
	if (from < r->from)
		from = r->from;
	if (to > r->to)
		to = r->to;
	mask = bits(from & 63, to & 63);
	c = bpf_map_lookup_elem(&chunks, &key);
	if (!c) {
		struct chunk gone = { .evicted = mask };

		if (!bpf_map_update_elem(&chunks, &key, &gone, BPF_NOEXIST))
			return 0;
		c = bpf_map_lookup_elem(&chunks, &key);
		if (!c) {
			ADD(lost_chunks, 1);
			return 0;
		}
	}
	fetch_or(&c->evicted, mask);
	return 0;
}

/* Takes the fresh marks off a folio and counts them. */
static __noinline u64 use_folio(u64 file, u64 index, u32 pages)
{
	struct range r = { .file = file, .from = index, .to = index + pages - 1 };
	u64 *count = fresh_count(file);

	if (!count || !*count)
		return 0;
	r.found = new_count();
	if (!r.found)
		return 0;
	if (pages > 1)
		return use_range(&r);
	use_chunk(0, &r);
	return *r.found;
}

/*
 * Counts the pages of a range that had come from disk since their last use. A
 * page of one call is cold once at most: one that was looked at ahead may be
 * dropped before the call gets there, and read again.
 */
static __always_inline void count_misses(struct task *t, u64 from, u64 to)
{
	struct range r = { .file = t->file, .from = from, .to = to };
	u64 *count = fresh_count(t->file), most = to + 1 - t->call_from - t->call_misses, found;

	if (!count || !*count || from > to)
		return;
	r.found = &t->found;
	found = use_range(&r);
	if (found > most)
		found = most;
	t->call_misses += found;
	t->misses += found;
}
