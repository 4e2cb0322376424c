/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * While reads of cached data are counted in slices only, each read stands for
 * others that were not looked at. How many, the kernel knows: it counts the
 * read calls of every thread. What happened between two slices is a debt of
 * the thread, in calls, that the reads of the next slice pay off.
 */
#pragma once

#include "publish.bpf.h"

#define MISSED 5 /* slices without a read, after which the calls between were others: 1 s */
#define SPREAD 4 /* a read pays at most that many times what it would by time */

struct task_io_accounting {
	u64 syscr;
} __attribute__((preserve_access_index));
struct task_struct___accounting {
	struct task_io_accounting ioac;
} __attribute__((preserve_access_index));

/* Read calls that a thread has ended; 0 without CONFIG_TASK_XACCT. */
static __always_inline u64 read_calls(struct task_struct *task)
{
	struct task_struct___accounting *t = (void *)task;

	if (!bpf_core_field_exists(t->ioac.syscr))
		return 0;
	return TASK(t, ioac.syscr);
}

/* Began after the reads began to be sampled: not so long that it did not. */
static __always_inline u64 age_if_young(struct task_struct *task)
{
	u64 start = TASK(task, start_boottime);

	return start > sampled_since ? bpf_ktime_get_boot_ns() - start : ~0ULL;
}

/* The first read of a thread in a slice; calls includes this one. */
static __noinline int meet(struct task *t, struct task_struct *task, u64 calls)
{
	u64 number = slice_number, before = calls - 1, most = SPREAD * (weight - 1), extra;
	bool known;

	if (!t || !task)
		return 0;
	if (t->seen)
		known = number - (t->slice ? t->slice : sampled_from) <= MISSED;
	else
		known = age_if_young(task) < MISSED * weight * slice_ns;
	t->by_time = !known;
	if (!known)
		t->debt = 0;
	else if (before > t->seen)
		t->debt += before - t->seen;
	if (!known || before > t->seen)
		t->seen = before;
	extra = weight - 1;
	if (t->watched)
		extra = (t->debt + t->watched - 1) / t->watched;
	t->extra = extra < most ? extra : most;
	t->watched = 0;
	t->all_watched >>= 1;
	t->all_reads >>= 1;
	t->all_pages >>= 1;
	t->slice = number;
	return 0;
}

/*
 * How many reads this one stands for. Ways of reading that the kernel does not
 * count, or not call by call, are scaled by time.
 */
static __noinline u64 reads_for(struct task *t, struct task_struct *task)
{
	u64 calls, n, debt, extra;

	if (!t || !task)
		return 1;
	calls = read_calls(task) + 1;
	if (t->slice != slice_number)
		meet(t, task, calls);
	n = calls > t->seen ? calls - t->seen : 0;
	t->seen = calls;
	t->watched += n;
	t->all_watched += n;
	debt = t->debt;
	extra = t->extra * n;
	if (extra > debt)
		extra = debt;
	/* the end of a window takes the debt too */
	if (extra && COMPARE_AND_SWAP(&t->debt, debt, debt - extra) != debt)
		extra = 0;
	if (!n || t->by_time || t->way != WAY_READ)
		return weight;
	return n == 1 ? 1 + extra : 1 + extra / n;
}

/*
 * Counts the calls since a thread's last slice as its reads were of late. One
 * that ended before it could be in two slices stands for those of its kind
 * that were in none.
 */
static __noinline int settle_reads(struct task *t, struct task_struct *task, bool over)
{
	u64 calls, rest, length = weight * slice_ns, age;

	if (!t || !task || !t->slice)
		return 0;
	calls = read_calls(task);
	rest = EXCHANGE(&t->debt, 0);
	if (calls > t->seen) {
		if (slice_number - t->slice <= MISSED)
			rest += calls - t->seen;
		t->seen = calls;
	}
	if (over) {
		age = age_if_young(task) + slice_ns;
		if (age >= slice_ns && age < length)
			rest += calls * (length - age) / age;
	}
	if (!rest || !t->all_watched)
		return 0;
	publish(t, WAY_READ, rest * t->all_pages / t->all_watched, rest * t->all_reads / t->all_watched, 0);
	return 0;
}

/* Every read is counted, from here on at the latest. */
static __always_inline void count_all(struct task *t, struct task_struct *task)
{
	if (t->slice) {
		settle_reads(t, task, false);
		t->slice = 0;
	}
	t->seen = read_calls(task) + 1;
}

/* The calls so far are no debt. */
static __always_inline void begin_sampling(struct task *t, struct task_struct *task)
{
	u64 calls = read_calls(task);

	if (calls > t->seen)
		t->seen = calls;
	t->slice = 0;
	t->debt = 0;
	t->watched = 0;
	t->all_watched = 0;
	t->all_reads = 0;
	t->all_pages = 0;
}
