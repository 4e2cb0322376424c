/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a request that completes adds to the sums of its owner, its device and its time. */
#pragma once

#include "requests.bpf.h"

static __always_inline u32 size_row(u32 size_slot)
{
	u32 slot = size_slot > SECTOR_SHIFT ? size_slot - SECTOR_SHIFT : 0;

	return slot > SIZE_SLOTS - 1 ? SIZE_SLOTS - 1 : slot;
}

static __always_inline void add_io(struct io *io, struct request_info *info, u32 bytes, u32 row, u64 queue, u64 device, bool failed)
{
	ADD(io->bytes, bytes);
	ADD(io->queue_ns, queue);
	ADD(io->device_ns, device);
	asm volatile("" : "+r"(row)); /* for the verifier to see the bound */
	ADD(io->size[row % SIZE_SLOTS], 1);
	if (info->sequential)
		ADD(io->sequential, 1);
	if (failed)
		ADD(io->errors, 1);
	if (info->direct)
		ADD(io->direct_bytes, info->direct);
	if (info->again)
		ADD(io->direct_again, info->again);
}

static __always_inline void add_device(struct device *to, struct request_info *info, u32 bytes, u32 size_slot, u32 row, u64 queue, u64 device, u32 beside)
{
	u32 op = info->op;
	struct hists *h;
	u32 depth = hist_slot(info->depth), cell;
	struct depth_io *d;

	asm volatile("" : "+r"(op));
	h = &to->hists[op % 4];
	ADD(h->queue[hist_slot(queue)], 1);
	ADD(h->device[hist_slot(device)], 1);
	ADD(h->queue_sum, queue);
	ADD(h->device_sum, device);
	ADD(h->size_sum, bytes);
	if (info->op > OP_WRITE) {
		if (size_slot < HIST_SLOTS) /* it always is, which older verifiers forget of what was on the stack */
			ADD(h->size[size_slot], 1);
		return;
	}
	cell = depth < DEPTH_SLOTS ? depth : DEPTH_SLOTS - 1;
	cell += (row + info->op * SIZE_SLOTS) * DEPTH_SLOTS;
	asm volatile("" : "+r"(cell)); /* for the verifier to see the bound */
	d = &to->depths[0][0][0] + cell % (2 * SIZE_SLOTS * DEPTH_SLOTS);
	ADD(d->ops, 1);
	ADD(d->ns, queue + device);
	if (!beside) {
		ADD(d->alone_ops, 1);
		ADD(d->alone_ns, queue + device);
	}
}

/* Requests that complete at the same instant may spoil a vote, not a sum. */
static __always_inline void vote(struct bin *b, u32 tgid, u64 ns)
{
	if (b->leader == tgid) {
		b->lead += ns;
	} else if (b->lead >= (s64)ns) {
		b->lead -= ns;
	} else {
		b->lead = ns - b->lead;
		b->leader = tgid;
	}
}

static __always_inline void add_bin(struct bin *b, u32 bytes, u64 ns, u32 tgid)
{
	ADD(b->ops, 1);
	ADD(b->bytes, bytes);
	ADD(b->ns, ns);
	vote(b, tgid, ns);
}

static __always_inline void owner_of(struct request_info *info, struct owner_key *owner)
{
	owner->cgroup = info->cgroup;
	owner->tgid = info->tgid;
	owner->dev = info->dev;
	owner->op = info->op;
}

/* What has no place near of a request that completes. Not static: the verifier looks at each once. */
__noinline int far_io(u64 id, u32 bytes, u64 queue, u64 device, u32 failed)
{
	struct owner_key owner = {};
	struct request_info *info;
	struct spot at;
	struct io *io;

	info = in_flight(id, &at);
	if (!info)
		return 0;
	owner_of(info, &owner);
	io = ROW(by_owner, &owner, &no_io, lost_rows);
	if (io)
		add_io(io, info, bytes, size_row(hist_slot(bytes)), queue, device, failed);
	return 0;
}

__noinline int far_device(u64 id, u32 bytes, u64 queue, u64 device, u32 beside)
{
	struct near_device *near;
	struct request_info *info;
	struct device *d;
	struct disk *disk;
	struct spot at;
	u32 dev, slot, place;

	info = in_flight(id, &at);
	if (!info)
		return 0;
	dev = info->dev;
	d = bpf_map_lookup_elem(&devices, &dev);
	slot = hist_slot(bytes);
	if (!d) { /* its row was given its place after the request began */
		disk = disk_of(dev);
		place = disk ? disk->near - 1 : NEAR_DEVICES;
		near = bpf_map_lookup_elem(&near_devices, &place);
		d = near ? &near->device : 0;
	}
	if (d)
		add_device(d, info, bytes, slot, size_row(slot), queue, device, beside);
	else
		ADD(lost_rows, 1);
	return 0;
}

__noinline int far_bin(u32 dev, u64 bin, u32 bytes, u64 ns, u32 tgid)
{
	struct bin_key key = { .bin = bin, .dev = dev };
	struct bin *b = ROW(bins, &key, &no_bin, lost_bins);

	if (b)
		add_bin(b, bytes, ns, tgid);
	return 0;
}

__noinline int add_failure(u64 id, u32 status, u64 ns)
{
	struct failure_key key = { .status = status };
	struct request_info *info;
	struct failure *f;
	struct spot at;

	info = in_flight(id, &at);
	if (!info)
		return 0;
	key.tgid = info->tgid;
	key.dev = info->dev;
	key.op = info->op;
	f = ROW(failures, &key, &no_failure, lost_rows);
	if (f) {
		ADD(f->ops, 1);
		ADD(f->ns, ns);
	}
	return 0;
}
