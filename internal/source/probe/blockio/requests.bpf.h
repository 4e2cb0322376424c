/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Where what is in flight, its device and its stream are found. What is not static
 * the verifier looks at once.
 */
#pragma once

#include "tables.bpf.h"

/* Which way of a set has a request, or, for 0, is free; WAYS for none. */
static __always_inline u64 way_with(struct request_set *set, u64 id)
{
	u64 ids[WAYS];
	int i;

#pragma unroll
	for (i = 0; i < WAYS; i++)
		ids[i] = set->rows[i].id;
	return way_of(ids, id);
}

/* Which way has a request that may not have found its first one free; WAYS for none. */
__noinline u64 displaced_way(u64 id)
{
	struct request_set *set = SET_OF(requests, REQUEST_SETS, id);

	return set ? way_with(set, id) : WAYS;
}

/* Takes another way than the first one; WAYS where all are taken, or other processors took those that were found. */
__noinline u64 displace(u64 id)
{
	struct request_set *set = SET_OF(requests, REQUEST_SETS, id);
	u64 way;
	int i;

	for (i = 0; i < 2 && set; i++) {
		way = way_with(set, 0);
		if (way >= WAYS)
			return WAYS;
		way = BOUND(way);
		if (!COMPARE_AND_SWAP(&set->rows[way].id, 0, id)) {
			ADD(displaced, 1);
			return way;
		}
	}
	return WAYS;
}

/* Where a request is kept. */
struct spot {
	struct request_row *row;
	u64 way;
};

/*
 * What is kept of a request. Its line is on another processor, mostly: to exchange is to
 * get it once, where to read it and then to write would be to get it twice.
 */
static __always_inline struct request_info *in_flight(u64 id, struct spot *at)
{
	struct request_set *set = SET_OF(requests, REQUEST_SETS, id);

	if (!set)
		return 0;
	at->way = BOUND(first_way(id));
	if (COMPARE_AND_SWAP(&set->rows[at->way].id, id, id) != id) {
		at->way = displaced ? displaced_way(id) : WAYS;
		if (at->way >= WAYS)
			return 0;
	}
	at->row = &set->rows[BOUND(at->way)];
	return &at->row->info;
}

/* The row is free from here on for any processor: what was read of it was read before. */
static __always_inline void release(struct spot *at)
{
	if (first_way(at->row->id) != at->way)
		ADD(displaced, -1);
	EXCHANGE(&at->row->id, 0);
}

/* A device's first request, or those that begin on several processors before it has its row; WAYS: there is none left. */
__noinline u64 take_disk(u32 dev)
{
	struct disk_set *set = SET_OF(disks, DISK_SETS, (u64)dev);
	u64 way = set ? take_way(set->ids, dev) : WAYS, taken;
	u32 first = 0;
	void *zero;

	if (!set || way >= WAYS) {
		ADD(lost_rows, 1);
		return WAYS;
	}
	way = BOUND(quick_way_of(set->ids, dev)); /* the same for all of them, whichever each has taken */
	if (!(lacks & LACKS_FETCH)) { /* else two may get the same */
		if (COMPARE_AND_SWAP(&set->rows[way].near, 0, NOT_NEAR))
			return way; /* another one gives it its place */
		taken = fetch_add(&taken_devices, 1);
		if (taken < NEAR_DEVICES) {
			set->rows[way].near = taken + 1;
			return way;
		}
	}
	zero = bpf_map_lookup_elem(&no_device, &first);
	if (!zero || (bpf_map_update_elem(&devices, &dev, zero, BPF_NOEXIST) && !bpf_map_lookup_elem(&devices, &dev)))
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

/* The bin of a device with a row near; 0 where its place is not emptied yet. */
static __always_inline struct bin *near_bin(struct near_device *device, u64 bin)
{
	u64 place = bin, was;
	struct near_bin *row;

	asm volatile("" : "+r"(place)); /* for the verifier to see the bound */
	row = &device->bins[place % NEAR_BINS];
	was = row->id;
	if (!was)
		was = COMPARE_AND_SWAP(&row->id, 0, bin);
	return !was || was == bin ? &row->bin : 0;
}

/* The place of an owner; 0 where another has it. */
static __always_inline struct io *near_io(struct owner_key *owner)
{
	u64 who = (u64)owner->tgid << 32 | owner->dev, id, was, differs;
	struct near_owner *row;
	u32 place;

	id = ((owner->cgroup * 0x9e3779b97f4a7c15ULL ^ who) * 0x9e3779b97f4a7c15ULL + owner->op) * 0x9e3779b97f4a7c15ULL | 1;
	place = id >> (64 - NEAR_OWNERS_BITS);
	row = bpf_map_lookup_elem(&near_owners, &place);
	if (!row)
		return 0;
	was = row->id;
	if (!was) {
		was = COMPARE_AND_SWAP(&row->id, 0, id);
		if (!was) {
			row->key = *owner;
			return &row->io;
		}
	}
	/* who comes before the key is there goes to the hash table, as who has the same id */
	differs = (was ^ id) | (row->key.cgroup ^ owner->cgroup) | (row->key.tgid ^ owner->tgid) | (row->key.dev ^ owner->dev) |
		(row->key.op ^ owner->op);
	return differs ? 0 : &row->io;
}

/* A request has begun before: the kernel did not tell how it ended. */
static __always_inline void missed(struct request_info *r)
{
	struct disk *disk = disk_of(r->dev);

	ADD(missed_completions, 1);
	if (disk)
		ADD(disk->flights, -1);
}

/* What is to be kept of a request that begins; 0 where there is no room. */
static __always_inline struct request_info *keep(u64 id)
{
	struct request_set *set = SET_OF(requests, REQUEST_SETS, id);
	u64 way = WAYS, was = id;

	if (!set)
		return 0;
	if (displaced)
		way = displaced_way(id);
	if (way >= WAYS) {
		way = first_way(id);
		was = COMPARE_AND_SWAP(&set->rows[BOUND(way)].id, 0, id);
	}
	if (was == id)
		missed(&set->rows[BOUND(way)].info);
	else if (was)
		way = displace(id);
	if (way < WAYS)
		return &set->rows[BOUND(way)].info;
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
