/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What layers.bpf.h keeps: bios in flight, where their parts find them, and sums by layer. */
#pragma once

#include "compat.bpf.h"
#include "sets.bpf.h"

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define PLACES 8192 /* sets of them, a power of two */
#define MERGED 512 /* bios of one request that are followed to its end */
#define REGION 7 /* log2 of the sectors of a region, 64 KiB: a bio is found in each region that it goes on into */
#define REGIONS 32 /* that a bio is found in, from where it begins and from where it is split: 2 MiB */
#define BY_BLOCK (1U << 30) /* beside a device number, which is smaller: a place by blocks of 4 KiB */
#define BY_REGION (1U << 31)
#define MD_MAJOR 9
#define LOOP_MAJOR 7
#define LOOP_PAGES 65536 /* bytes of a bio's list of pages that are looked at, for a bio that was split: 16 MiB */
#define LOOP_LIST 2048 /* bytes of a list of pages that a loop device's worker makes for a request: 128 segments (BLK_MAX_SEGMENTS) */
#define SEGMENTS 128 /* of a list of pages: 512 KiB of single ones */
#define WAITING 16 /* bios that a thread has queued meanwhile, of which one is looked for */
#define DEEP 4 /* layers on top of each other that hand on without telling */
#define DATA_DISKS 16 /* of an array with parity, whose bios are looked for */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct block_device_operations {
	void *submit_bio; /* a function; of devices that have no requests */
};
struct gendisk___ops {
	struct block_device_operations *fops;
};
struct bio___private {
	void *bi_private;
};
struct task_struct___bios {
	void *bio_list; /* while it submits a bio, those that are made of it meanwhile */
};
struct bio___chain {
	void *bi_next;
};
struct bio_list {
	void *head;
};
#pragma clang attribute pop

/* For whom the first layer was asked; what of it is filled in is up to the probe. */
struct origin {
	u64 inode; /* its address: it stays while the bio is in flight */
	u64 ino;
	u64 cgroup; /* charged: an address */
	u64 own_cgroup; /* of the task, by the memory controller; address */
	u64 thread; /* process << 32 | thread */
	u32 sdev, flags;
	u8 comm[16];
	u8 owner;
	u8 pad[7];
};

/* A bio of a layer, or of a disk below one, from where it was made to its completion. */
struct layer_bio {
	u64 start; /* ns; 0 until it is queued */
	u64 above; /* the bio of the layer above that it is a part of; 0 for the first layer */
	u64 pages, sector; /* what its parts are found by */
	u32 dev, top, op, bytes; /* top: of the first layer */
	u64 below; /* its parts in layers below, now */
	u64 since, below_ns, parts_ns; /* when the first of them came; how long there were any; their times summed */
	u64 cut; /* parts that were cut off in front and are not complete; REST_DONE more: what was left of it is */
	u64 way; /* of its set */
	struct origin from;
};
#define LAYER_BIO_SETS 2048
struct layer_bio_set {
	u64 ids[WAYS];
	struct layer_bio rows[WAYS];
};

#define REST_DONE (1ULL << 32)

/* What a layer did for the device that the file system lies on. */
struct layer {
	u32 top, dev, op, pad;
	u64 ops, bytes, own_ns, below_ns, beside_ns; /* own and below together are the time from the queueing to the completion */
};
#define LAYER_SETS 256
struct layer_set {
	u64 ids[WAYS];
	struct layer rows[WAYS];
};

/*
 * Where the bio of a device is found by the sector that it began with, or, with device 0,
 * by the address of its list of pages: key has both. Whose it is tells the bio itself.
 */
struct place {
	u64 key, bio;
};
struct place_set {
	struct place rows[2]; /* the newest first */
};

/* Of an array that keeps parity, in sectors: where the members' data begin, and a chunk; and its members less those for parity. */
struct stripes {
	u64 offset;
	u32 chunk, data;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct stripes);
} stripes SEC(".maps");

/* Which disks lie right on which: the upper one's number << 32 | the lower one's. From the loader, for what no event tells. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u32);
} lies_on SEC(".maps");

SET_TABLE(layer_bios, LAYER_BIO_SETS, struct layer_bio_set); /* by the bio's address */
SET_TABLE(layers, LAYER_SETS, struct layer_set); /* by layer_id */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, u32);
	__type(value, struct place_set);
} places SEC(".maps");

/* The same by BY_BLOCK and BY_REGION: apart, for small bios on members of arrays would take the places of large ones in the thousands. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES / 2);
	__type(key, u32);
	__type(value, struct place_set);
} regions SEC(".maps");

/* Disks that have been seen below a layer. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} lower SEC(".maps");

u32 any_loops; /* some loop device reads and writes its image past the page cache */
u32 dm_requests; /* device-mapper's major number, where some volume of it has requests of its own (multipath); else 0 */
u32 follow; /* some device of this machine lies on another */
u32 passed_on; /* some layer hands on the bio that it was given */
u64 lost_layers;
/* Which bio a thread works on, by the thread: its address ^ the thread's; and of which list of pages it made the first part. */
#define WORKERS 256
u64 working[2 * WORKERS];

/*
 * The loader puts another number in the place of this one (layers.go): programs of
 * which most that the verifier looks at is for layers are loaded without that, as 0,
 * and as 1 when some device lies on another. With this number they are both in one.
 */
#define WITHOUT_LAYERS 0
#define FOR_LAYERS 1
static __always_inline u64 which_for_layers(void)
{
	u64 which;

	asm volatile("%0 = 0x6c617972" : "=r"(which));
	return which;
}

/* Whether an event is left to the other of these two: from one event on, to the one for layers. */
static __always_inline bool left_by_layers(void)
{
	u64 which = which_for_layers();

	return which == WITHOUT_LAYERS ? follow : which == FOR_LAYERS && !follow;
}

/* Whether such a program follows layers. */
static __always_inline bool follows(void)
{
	return which_for_layers() != WITHOUT_LAYERS && follow;
}

static __always_inline struct layer_bio_set *layer_set_of(u64 id)
{
	id = as_number(id);
	return id ? SET_OF(layer_bios, LAYER_BIO_SETS, id) : 0;
}

static __always_inline struct layer_bio *layer_row_at(struct layer_bio_set *set, u64 way)
{
	return way < WAYS ? &set->rows[BOUND(way)] : 0;
}

static __always_inline struct layer_bio *layer_row(u64 id)
{
	struct layer_bio_set *set = layer_set_of(id);

	return set ? layer_row_at(set, way_of(set->ids, as_number(id))) : 0;
}

/* A new row of a bio that has none (way is WAYS), or its old one anew. */
static __always_inline struct layer_bio *new_layer_row(struct layer_bio_set *set, u64 way, u64 id)
{
	struct layer_bio *b;

	if (way >= WAYS)
		way = take_way(set->ids, as_number(id));
	b = layer_row_at(set, way);
	if (!b) {
		ADD(lost_layers, 1);
		return 0;
	}
	__builtin_memset(b, 0, offsetof(struct layer_bio, from)); /* that is filled in by whoever makes it */
	b->way = way;
	return b;
}

static __always_inline void forget_layer_row(struct layer_bio_set *set, struct layer_bio *b)
{
	u64 way = b->way;

	b->dev = 0; /* or the next in its place could be taken for it before it is filled in */
	b->pages = 0;
	set->ids[BOUND(way)] = 0;
}

/* A device's number has 29 bits (BLKDEV_MAJOR_MAX), an operation a few. */
static __always_inline u64 layer_id(u32 top, u32 dev, u32 op)
{
	return (u64)top << 35 | (u64)dev << 6 | (op & 63);
}
