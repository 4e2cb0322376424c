/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* How the bio above one is found, of those that are in flight. */
#pragma once

#include "layertables.bpf.h"

static __always_inline u32 disk_dev(struct gendisk *disk)
{
	return disk ? (u32)disk->major << 20 | disk->first_minor : 0;
}

static __always_inline bool is_loop(u32 dev)
{
	return dev >> 20 == LOOP_MAJOR;
}

/* Whether a device is of device-mapper, and one of it has requests. */
static __always_inline bool may_be_cloned(u32 dev)
{
	return dm_requests && dev >> 20 == dm_requests;
}

/* Whether a device hands on bios: it takes them itself instead of having requests made of them, or is known to. */
static __always_inline bool takes_bios(struct gendisk *disk)
{
	u32 dev = disk_dev(disk);

	if (is_loop(dev) || may_be_cloned(dev))
		return true;
	if (!disk || !bpf_core_field_exists(((struct block_device_operations *)0)->submit_bio))
		return false;
	return !!READ(struct gendisk___ops, disk, fops, submit_bio);
}

/* Blocks in a row have places in a row, for finding a page costs most. ^ dev: a verifier that knew bits of a block would go every way of layer_in. */
static __always_inline struct place_set *places_of(u32 dev, u64 at)
{
	u32 slot = ((at >> 10) + ((u64)dev << 32)) * 0x9e3779b97f4a7c15ULL >> 51 ^ (((at >> 3) ^ dev) & 127);

	return bpf_map_lookup_elem(&places, &slot);
}

static __always_inline struct place_set *regions_of(u32 dev, u64 at)
{
	u32 slot = (at + ((u64)dev << 32)) * 0x9e3779b97f4a7c15ULL >> 52;

	return bpf_map_lookup_elem(&regions, &slot);
}

static __always_inline u64 place_key(u32 dev, u64 at)
{
	return at + ((u64)dev << 32);
}

/* All bits where two numbers differ, else none: without a branch, of which the verifier would go both ways. */
static __always_inline u64 if_differs(u64 one, u64 other)
{
	u64 differs = one ^ other;

	return -((differs | -differs) >> 63);
}

/* The bio of which this is; 0 for none. Chosen by value: one chosen by address is looked at 5 times as often before Linux 6.4. */
static __always_inline u64 bio_in(struct place_set *set, u32 dev, u64 at)
{
	u64 key = place_key(dev, at), other;

	if (!set)
		return 0;
	other = if_differs(set->rows[0].key, key);
	return (set->rows[0].bio & ~other) | (set->rows[1].bio & other & ~if_differs(set->rows[1].key, key));
}

/* The one before goes beside it, and hides what is there: a part of that may be looked for in vain. */
static __always_inline void put_place(struct place_set *set, u32 dev, u64 at, u64 bio)
{
	u64 key = place_key(dev, at), moved;

	if (!set)
		return;
	moved = if_differs(set->rows[0].key, key);
	set->rows[1].key ^= (set->rows[1].key ^ set->rows[0].key) & moved;
	set->rows[1].bio ^= (set->rows[1].bio ^ set->rows[0].bio) & moved;
	set->rows[0].key = key;
	set->rows[0].bio = bio;
}

static __always_inline bool layer_covers(struct layer_bio *b, u32 dev, u64 sector)
{
	return b && b->dev == dev && (b->sector == sector || sector - b->sector < b->bytes >> 9);
}

/* The bio, in flight, that was queued last with these pages, which parts of it share. */
static __always_inline struct layer_bio *layer_by_pages(u64 pages, u64 *id)
{
	struct layer_bio *b;

	if (!pages)
		return 0;
	*id = bio_in(places_of(0, pages), 0, pages);
	b = layer_row(*id);
	return b && (b->pages == pages || (is_loop(b->dev) && pages - b->pages < LOOP_PAGES)) ? b : 0;
}

static __always_inline u64 layer_at(struct place_set *set, u32 dev, u64 at, u64 sector, u32 sectors)
{
	u32 of = dev & ~(BY_BLOCK | BY_REGION);
	u64 id = bio_in(set, dev, at);
	struct layer_bio *b = layer_row(id);

	return b && b->dev == of && b->sector < sector + sectors && sector < b->sector + (b->bytes >> 9) ? id : 0;
}

/*
 * The bio, in flight, that has some of these sectors of a device: it began in an
 * earlier region, or in this one. Not static: the verifier looks at it once.
 */
__noinline u64 layer_in(u32 dev, u64 sector, u32 sectors)
{
	u64 block = sector >> 3, id;
	int i;

	id = layer_at(regions_of(dev | BY_REGION, sector >> REGION), dev | BY_REGION, sector >> REGION, sector, sectors);
	for (i = 0; !id && i < 1 << (REGION - 3); i++, block--) {
		id = layer_at(places_of(dev, block << 3), dev, block << 3, sector, sectors);
		if (!id)
			id = layer_at(regions_of(dev | BY_BLOCK, block), dev | BY_BLOCK, block, sector, sectors);
		if (!(block & ((1 << (REGION - 3)) - 1)))
			break;
	}
	return id;
}

/*
 * RAID 4, 5 and 6 write and read by stripes. Of a part that is parity, or is read to
 * compute it, the bio above is one of the same stripe. The array tells no sector of
 * parity: the stripe is known by that of the member.
 */
static __always_inline u64 layer_in_stripe(struct stripes *array, u32 dev, u64 member, u32 sectors)
{
	u32 data = array->data, chunk = array->chunk, i;
	u64 at, id = 0;

	if (!chunk || member < array->offset)
		return 0;
	member -= array->offset;
	at = member / chunk * data * chunk + member % chunk;
	for (i = 0; !id && i < DATA_DISKS && i < data; i++, at += chunk)
		id = layer_in(dev, at, sectors);
	return id;
}

/* The bio of a device that a part was made of, by the sector that the part begins with there, or by its pages. */
static __always_inline struct layer_bio *layer_above(struct bio *bio, u32 dev, u64 sector, u64 *id)
{
	struct stripes *array = sector ? 0 : bpf_map_lookup_elem(&stripes, &dev);
	u32 sectors = (bio->bi_iter.bi_size + 511) >> 9;
	struct layer_bio *b;
	u64 pages;

	if (array) /* parity, or the first sector */
		goto stripe;
	*id = bio_in(places_of(dev, sector), dev, sector);
	b = layer_row(*id);
	if (layer_covers(b, dev, sector))
		return b;
	pages = as_number((u64)READ(struct bio, bio, bi_io_vec));
	b = layer_by_pages(pages, id);
	if (b && b->dev != dev && b->above) { /* a part beside this one */
		*id = b->above;
		b = layer_row(*id);
	}
	if (b && b->dev == dev)
		return b;
	/* a part with pages of its own, of a bio that is larger */
	*id = layer_in(dev, sector, sectors);
	if (*id)
		return layer_row(*id);
	array = bpf_map_lookup_elem(&stripes, &dev);
stripe:
	*id = array ? layer_in_stripe(array, dev, bio->bi_iter.bi_sector, sectors) : 0;
	return *id ? layer_row(*id) : 0;
}

/* Whether a bio is found in more places than where it begins. */
static __always_inline bool found_by_regions(u32 dev, u64 sector, u64 last)
{
	return sector & 7 || dev >> 20 == MD_MAJOR || ((sector >> REGION) + 1) << REGION < last;
}

/* Where parts of a bio that have pages of their own find it, from this sector of it to its last. */
__noinline int put_regions(u32 dev, u64 sector, u64 last, u64 id)
{
	u64 region = sector >> REGION;
	int i;

	if (sector & 7 || dev >> 20 == MD_MAJOR)
		put_place(regions_of(dev | BY_BLOCK, sector >> 3), dev | BY_BLOCK, sector >> 3, id);
	for (i = 0; i < REGIONS && ++region << REGION < last; i++)
		put_place(regions_of(dev | BY_REGION, region), dev | BY_REGION, region, id);
	return 0;
}

/* The pages of a loop device's bio, from where its rest begins: its worker may have lists of its own. */
__noinline int put_page(u64 id)
{
	u64 page = as_number((u64)bio_page((struct bio *)id));
	u64 pages = as_number((u64)READ(struct bio, id, bi_io_vec)) + (u64)READ(struct bio, id, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);

	if (page)
		put_place(places_of(0, page), 0, page, id);
	put_place(places_of(0, pages), 0, pages, id);
	return 0;
}

/*
 * The bio of a loop device that its worker makes this one for, past the page cache: the
 * worker has lists of pages of its own where it does several at once. Not static, as
 * layer_in.
 */
__noinline u64 layer_of_loop(u64 bio)
{
	u64 first = as_number((u64)bio_page((struct bio *)bio)), id;
	struct layer_bio *b;

	if (!first)
		return 0;
	id = bio_in(places_of(0, first), 0, first);
	b = layer_row(id);
	if (!b || !is_loop(b->dev))
		return 0;
	/* of what was cut off in front, or of the rest */
	return as_number((u64)READ(struct bio, id, bi_io_vec, bv_page)) == first || as_number((u64)bio_page((struct bio *)id)) == first ? id : 0;
}

/* A word of working: that the slot is this thread's is known by the bio that comes out, which must be in flight. */
static __always_inline u64 *work_of(u64 task)
{
	u64 slot = task * 0x9e3779b97f4a7c15ULL >> 56;

	asm volatile("" : "+r"(slot)); /* for the verifier to see the bound */
	return &working[slot & (WORKERS - 1)];
}

/* Where the bios are listed that a thread queues while it submits one to a layer that takes bios; 0 while it does not. */
static __always_inline void *submission_of(struct task_struct *task)
{
	return TASK_POINTER(struct task_struct___bios, task, bio_list);
}

/*
 * The bio that this thread works on. What is queued while it submits one to a layer
 * that takes bios is made of that one. The worker of a loop device may make several of
 * one request, where the image is in pieces, out of one list of pages.
 */
static __always_inline struct layer_bio *layer_in_work(u64 pages, u64 *id)
{
	struct task_struct *task = current_task();
	u64 *work = work_of(as_number((u64)task));
	struct layer_bio *b;

	*id = work[0] ^ as_number((u64)task);
	b = layer_row(*id);
	if (!b)
		return 0;
	return submission_of(task) || (is_loop(b->dev) && pages - work[WORKERS] < LOOP_LIST) ? b : 0;
}

/*
 * Whether this thread has queued that bio while it submits another one to a layer. It
 * is not submitted before that is done, and nothing is made of it until then.
 */
static __always_inline bool waits_here(u64 id)
{
	u64 queued = as_number((u64)submission_of(current_task()));
	int i;

	if (!queued)
		return false;
	queued = word_at(queued + bpf_core_field_offset(struct bio_list, head));
	for (i = 0; i < WAITING && queued && queued != id; i++)
		queued = word_at(queued + bpf_core_field_offset(struct bio___chain, bi_next));
	return queued && queued == id;
}

/*
 * Whether a bio has other data than one with the same list of pages, of so many bytes:
 * it begins before that one, or behind its end.
 */
static __always_inline bool has_others(u64 id, u64 one, u64 pages, u32 bytes)
{
	u32 done = READ(struct bio, id, bi_iter.bi_bvec_done), first = READ(struct bio, one, bi_iter.bi_bvec_done);
	u32 at = READ(struct bio, one, bi_iter.bi_idx), last = READ(struct bio, id, bi_iter.bi_idx);
	u64 length = 0;
	int i;

	if (last < at || (last == at && done < first))
		return true;
	pages += (u64)at * bpf_core_type_size(struct bio_vec);
	for (i = 0; i < SEGMENTS && at < last && length < (u64)bytes + first; i++, at++) {
		length += READ(struct bio_vec, pages, bv_len);
		pages += bpf_core_type_size(struct bio_vec);
	}
	return length + done >= (u64)bytes + first;
}

/*
 * The bio of a layer that this one is made of, though no event told; 0 for none. Not
 * static: the verifier looks at it once.
 */
__noinline u64 layer_unseen(u64 id, u32 dev)
{
	u64 pages = as_number((u64)READ(struct bio, id, bi_io_vec)), above_id = 0, at, on;
	struct layer_bio *above, *b;
	int i;

	above = layer_by_pages(pages, &above_id);
	/*
	 * Or it is a part beside this one: those for members of an array, or for a cache and
	 * the disk behind it, have the same pages. The device of the one above lies on this.
	 */
	for (b = above && above->above ? above : 0, at = above_id, i = 0; b && i < DEEP; i++) {
		on = (u64)b->dev << 32 | dev;
		if (bpf_map_lookup_elem(&lies_on, &on)) {
			above_id = at;
			break;
		}
		at = b->above;
		b = layer_row(at);
	}
	asm volatile("" : "+r"(above_id)); /* for the verifier of 6.1 to go on once, and not for each way to here */
	above = layer_row(above_id);
	if (above && above->above && /* so it is where its data say so, or it waits, whatever is known of devices */
	    (above->dev == dev || waits_here(above_id) || (above->pages == pages && has_others(id, above_id, pages, above->bytes)))) {
		above_id = above->above;
		above = layer_row(above_id);
	}
	if (!above && any_loops) {
		above_id = layer_of_loop(id);
		above = above_id ? layer_row(above_id) : 0;
	}
	if (above && is_loop(above->dev)) { /* what this worker makes next may be of the same */
		u64 task = as_number((u64)current_task()), *work = work_of(task);

		work[WORKERS] = pages;
		work[0] = above_id ^ task;
	}
	if (!above)
		above = layer_in_work(pages, &above_id);
	/* nothing that was made for a device comes to that one: a bio whose end was not seen may still have these pages */
	return above && above->dev != dev && above->top != dev && above_id != id ? above_id : 0;
}
