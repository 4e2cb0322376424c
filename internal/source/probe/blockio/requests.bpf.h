/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Where what is in flight, its device and its stream are found. What is not static
 * the verifier looks at once.
 */
#pragma once

#include "tables.bpf.h"

/* Where a request is kept. */
struct spot {
	struct request_set *set;
	u64 way;
};

static __always_inline struct request_info *in_flight(u64 id, struct spot *at)
{
	at->set = SET_OF(requests, REQUEST_SETS, id);
	if (!at->set)
		return 0;
	at->way = quick_way_of(at->set->ids, id);
	return at->way < WAYS ? &at->set->rows[BOUND(at->way)] : 0;
}

/* The row is free from here on for any processor: what was read of it was read before. */
static __always_inline void release(struct spot *at)
{
	EXCHANGE(&at->set->ids[BOUND(at->way)], 0);
}

/* A device's first request; WAYS: there is no row left. */
__noinline u64 take_disk(u32 dev)
{
	struct disk_set *set = SET_OF(disks, DISK_SETS, (u64)dev);
	u64 way = set ? take_way(set->ids, dev) : WAYS;
	u32 first = 0;
	void *zero;

	zero = bpf_map_lookup_elem(&no_device, &first);
	if (way >= WAYS || !zero || bpf_map_update_elem(&devices, &dev, zero, BPF_NOEXIST))
		ADD(lost_rows, 1);
	return way;
}

/* A device's row; 0 where there is none, or no room for one. */
static __always_inline struct disk *disk_row(u32 dev, bool take)
{
	struct disk_set *set = SET_OF(disks, DISK_SETS, (u64)dev);
	u64 way;

	if (!set)
		return 0;
	way = quick_way_of(set->ids, dev);
	if (take && way >= WAYS)
		way = take_disk(dev);
	return way < WAYS ? &set->rows[BOUND(way)] : 0;
}

static __always_inline struct disk *disk_of(u32 dev)
{
	return disk_row(dev, false);
}

static __always_inline struct disk *new_disk(u32 dev)
{
	return disk_row(dev, true);
}

/* A request has begun before: the kernel did not tell how it ended. */
static __always_inline void missed(struct request_info *r)
{
	struct disk *disk = disk_of(r->dev);

	ADD(missed_completions, 1);
	if (disk)
		ADD(disk->flights, -1);
}

/* The row for a request that begins; 0 where there is no room. */
static __always_inline struct request_info *keep(u64 id)
{
	struct request_set *set = SET_OF(requests, REQUEST_SETS, id);
	u64 any = 0, way = WAYS;
	int i;

	if (!set)
		return 0;
#pragma unroll
	for (i = 0; i < WAYS; i++)
		any |= set->ids[i];
	if (any) /* mostly nothing else is there */
		way = way_of(set->ids, id);
	if (way < WAYS)
		missed(&set->rows[BOUND(way)]);
	else
		way = take_way(set->ids, id);
	if (way < WAYS)
		return &set->rows[BOUND(way)];
	ADD(lost_requests, 1);
	return 0;
}

/* Takes a stream in, and another one out where there is no way left. */
__noinline u64 recall(u64 stream)
{
	struct recent_set *set = SET_OF(recent, RECENT_SETS, stream);
	u64 *end, was, way;

	if (!set)
		return 0;
	way = take_way(set->ids, stream);
	if (way >= WAYS) {
		way = first_way(stream);
		was = set->ids[BOUND(way)];
		bpf_map_update_elem(&streams, &was, &set->ends[BOUND(way)], BPF_ANY);
	}
	end = bpf_map_lookup_elem(&streams, &stream);
	set->ends[BOUND(way)] = end ? *end : 0;
	set->ids[BOUND(way)] = stream;
	return way;
}

/* Where the stream's last request ended; 0: this is its first one. */
static __always_inline u64 *end_of(u64 stream)
{
	struct recent_set *set = SET_OF(recent, RECENT_SETS, stream);
	u64 way;

	if (!set)
		return 0;
	way = quick_way_of(set->ids, stream);
	if (way >= WAYS)
		way = recall(stream);
	return &set->ends[BOUND(way)];
}
