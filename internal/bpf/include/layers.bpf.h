/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Bios on their way through stacked devices (device-mapper, md): for whom the first
 * layer was asked, down to the requests of the disks, and how long each layer took.
 * docs/blockio.md says how.
 */
#pragma once

#include "layerplaces.bpf.h"

/* A bio is to be handled in two parts: the second is found by where it begins. */
static __always_inline int layer_split(struct bio *bio, u64 id)
{
	struct layer_bio *b = layer_row(id);
	u64 at = bio->bi_iter.bi_sector; /* device-mapper passes what is left */

	if (!b) { /* others what they have cut off in front */
		at += bio->bi_iter.bi_size >> 9;
		id = (u64)READ(struct bio___private, bio, bi_private);
		b = layer_row(id);
		if (b && (is_loop(b->dev) || may_be_cloned(b->dev)))
			fetch_add(&b->cut, 1);
	}
	if (b) {
		put_place(places_of(b->dev, at), b->dev, at, id);
		put_regions(b->dev, at, b->sector + (b->bytes >> 9), as_number(id));
		if (is_loop(b->dev))
			put_page(as_number(id));
	}
	return 0;
}

/* A part of the bio above is on its way to a device below. */
static __always_inline struct layer_bio *layer_part(u64 id, u32 below, u32 bytes, u32 op, struct layer_bio *above, u64 above_id)
{
	struct layer_bio_set *set = layer_set_of(id);
	struct layer_bio *b;
	u32 one = 1;

	if (!bpf_map_lookup_elem(&lower, &below))
		bpf_map_update_elem(&lower, &below, &one, BPF_ANY);
	b = set ? new_layer_row(set, way_of(set->ids, as_number(id)), id) : 0;
	if (!b)
		return 0;
	b->above = above_id;
	b->top = above->top;
	b->from = above->from;
	b->dev = below;
	b->op = op;
	b->bytes = bytes;
	return b;
}

/* Its time begins. */
static __always_inline void layer_begins(struct layer_bio *b)
{
	u64 above_id = b->above;
	struct layer_bio *above;

	b->start = bpf_ktime_get_ns();
	above = above_id ? layer_row(above_id) : 0;
	if (!above)
		return;
	/* before it counts, for a part beside it may end at once; and after, for that may have been the last just now */
	if (!*(volatile u64 *)&above->below)
		*(volatile u64 *)&above->since = b->start;
	if (!fetch_add(&above->below, 1))
		above->since = b->start;
}

/*
 * A layer hands a bio on to a device below it. Where that is the very bio that was
 * queued to the layer (NVMe multipath), no other event tells of its part below: it is
 * found by an address beside the bio's own. Nor is one told of that was cut off in
 * front of that bio, whose time is not counted: of the end of the whole no event
 * tells. Both are returned.
 */
static __always_inline struct layer_bio *layer_remapped(struct bio *bio, u64 id, u32 dev, u64 sector, u32 op)
{
	u32 below = disk_dev(bio_disk(bio));
	struct layer_bio *b, *above;
	u64 above_id = 0;
	bool same;

	above = layer_above(bio, dev, sector, &above_id);
	if (!above)
		return 0;
	same = above_id == id;
	if (same) {
		if (below == dev)
			return 0;
		passed_on = 1;
		id++;
	}
	b = layer_part(id, below, bio->bi_iter.bi_size, op, above, above_id);
	if (!b)
		return 0;
	if (same)
		layer_begins(b);
	else if (above_id != (u64)READ(struct bio___private, bio, bi_private))
		return 0;
	return b;
}

/*
 * A bio of a request that begins: where a layer has cloned it for a request of its own
 * (dm-multipath), it has the pages of that layer's, and no other event tells of it.
 */
__noinline int layer_cloned(u64 id, u32 dev, u32 op)
{
	u64 pages = as_number((u64)READ(struct bio, id, bi_io_vec)), above_id = 0;
	struct layer_bio *b, *above = layer_by_pages(pages, &above_id);

	if (!above || above->dev == dev || !may_be_cloned(above->dev))
		return 0;
	b = layer_row(id);
	if (b && b->above == above_id)
		return 0;
	b = layer_part(id, dev, READ(struct bio, id, bi_iter.bi_size), op, above, above_id);
	if (!b)
		return 0;
	layer_begins(b);
	return 1;
}

/* A request begins that a layer may have cloned, bio by bio, of which each is told that was. */
static __always_inline void layers_cloned(u64 id, u32 dev, u32 op, int (*told)(u64 id))
{
	int i;

	if (!dm_requests || may_be_cloned(dev))
		return;
	id = as_number(id);
	for (i = 0; i < MERGED && id; i++) {
		if (layer_cloned(id, dev, op) && told)
			told(id);
		id = word_at(id + bpf_core_field_offset(struct bio___chain, bi_next));
	}
}

/*
 * A bio is queued: what a layer has made begins its time, and what comes to a first
 * layer is written down. 0 where no layer has to do with it. Some layers do not tell
 * that they hand a bio on (bcache; thin, snapshot, cache, integrity of device-mapper
 * where a thread of theirs does): theirs has the pages of the one above. first is set
 * where no layer has made the bio. task is the thread that runs.
 */
static __always_inline struct layer_bio *layer_queued(struct task_struct *task, struct bio *bio, u64 id, u32 op, bool *first)
{
	u64 pages = as_number((u64)READ(struct bio, bio, bi_io_vec)), above_id = 0, way = WAYS, any = 0;
	struct gendisk *disk = bio_disk(bio);
	struct place_set *by_pages = places_of(0, pages);
	struct layer_bio_set *set = layer_set_of(id);
	bool takes = takes_bios(disk), submits = submission_of(task);
	struct layer_bio *b, *above = 0;
	u32 dev = disk_dev(disk);
	u64 sector, last;
	int i;

	if (!set)
		return 0;
	if (takes) { /* before anything is known of the bio, which the verifier would have to tell apart */
		sector = bio->bi_iter.bi_sector;
		last = sector + (bio->bi_iter.bi_size >> 9);
		if (found_by_regions(dev, sector, last))
			put_regions(dev, sector, last, as_number(id));
	}
#pragma unroll
	for (i = 0; i < WAYS; i++)
		any |= set->ids[i];
	if (any) /* mostly nothing else is there */
		way = way_of(set->ids, as_number(id));
	b = layer_row_at(set, way);
	if (!b || b->start) { /* or one whose completion was not seen */
		/* mostly its own pages, from when it was used before */
		if (bio->bi_iter.bi_size && ((by_pages && by_pages->rows[0].bio != as_number(id)) || any_loops || submits))
			above_id = layer_unseen(as_number(id), dev);
		above = above_id ? layer_row(above_id) : 0;
		if (above) {
			b = layer_part(id, dev, bio->bi_iter.bi_size, op, above, above_id);
		} else if (takes) {
			b = new_layer_row(set, way, id);
			if (b) {
				b->dev = b->top = dev;
				b->op = op;
				b->bytes = bio->bi_iter.bi_size;
			}
			if (!submits)
				*work_of(as_number((u64)task)) = as_number(id) ^ as_number((u64)task);
			*first = true;
		} else {
			if (b)
				forget_layer_row(set, b);
			return 0;
		}
		if (!b)
			return 0;
	}
	layer_begins(b);
	if (takes) {
		b->sector = bio->bi_iter.bi_sector;
		b->pages = pages;
		put_place(by_pages, 0, pages, id);
		put_place(places_of(dev, b->sector), dev, b->sector, id);
		if (is_loop(dev))
			put_page(as_number(id));
	}
	return b;
}

/* What a layer did of one operation; 0 where there is no room. */
static __always_inline struct layer *layer_sums(struct layer_bio *b)
{
	u64 id = layer_id(b->top, b->dev, b->op), way;
	struct layer_set *set = SET_OF(layers, LAYER_SETS, id);
	struct layer *l;

	if (!set)
		return 0;
	way = quick_way_of(set->ids, id);
	if (way >= WAYS) {
		way = take_way(set->ids, id);
		if (way >= WAYS) {
			ADD(lost_layers, 1);
			return 0;
		}
	}
	l = &set->rows[BOUND(way)];
	if (!l->dev) {
		l->top = b->top;
		l->op = b->op;
		l->dev = b->dev;
	}
	return l;
}

/*
 * A bio is complete: now, where somebody has read the clock already, else 0. again, where
 * another program may have counted it, which has taken its row then. Of a part that was
 * cut off in front nothing tells whether one has: mostly it is complete with its request.
 */
static __always_inline int layer_done(u64 id, u64 now, bool again)
{
	struct layer_bio_set *set = layer_set_of(id);
	u64 total, below, above_id, since;
	struct layer_bio *b, *above;
	struct place_set *by_pages;
	struct layer *l;

	if (!set)
		return 0;
	b = layer_row_at(set, quick_way_of(set->ids, as_number(id)));
	if (!b) { /* a part that was cut off in front */
		if (again || (!any_loops && !dm_requests))
			return 0;
		id = as_number((u64)READ(struct bio___private, id, bi_private));
		set = layer_set_of(id);
		b = set ? layer_row_at(set, way_of(set->ids, id)) : 0;
		if (!b || !b->cut || fetch_add(&b->cut, -1) != REST_DONE + 1)
			return 0;
	} else if (b->cut && ((again && b->cut >= REST_DONE) || fetch_add(&b->cut, REST_DONE))) {
		return 0;
	}
	if (!b->start) /* handed on and never queued */
		goto forget;
	if (!now)
		now = bpf_ktime_get_ns();
	total = now - b->start;
	below = b->below_ns;
	if (b->below) /* it does not wait for all of its parts */
		below += now - b->since;
	l = layer_sums(b);
	if (l) {
		ADD(l->ops, 1);
		ADD(l->bytes, b->bytes);
		if (below > total)
			below = total;
		ADD(l->own_ns, total - below);
		if (below)
			ADD(l->below_ns, below);
		if (b->parts_ns > b->below_ns)
			ADD(l->beside_ns, b->parts_ns - b->below_ns);
	}
	above_id = b->above;
	above = above_id ? layer_row(above_id) : 0;
	if (above && above->start <= b->start) {
		ADD(above->parts_ns, total);
		since = *(volatile u64 *)&above->since;
		if (fetch_add(&above->below, -1) == 1)
			ADD(above->below_ns, now - since);
		if (b->pages == above->pages) { /* the next part of it finds it by its pages, not this one */
			by_pages = places_of(0, b->pages);
			if (bio_in(by_pages, 0, b->pages) == id)
				put_place(by_pages, 0, b->pages, above_id);
		}
	} else if (above_id && l) { /* it was not waited for, and another bio may have the address now */
		ADD(l->beside_ns, total);
	}
forget:
	forget_layer_row(set, b);
	return 0;
}

/* With what it was handed on as. */
static __always_inline int layers_of_bio_done(u64 id, u64 now, bool again)
{
	if (passed_on)
		layer_done(id + 1, now, again);
	return layer_done(id, now, again);
}

#define WHOLE (1ULL << 40) /* all of a request is complete */
#define NO_MORE (~0ULL)

/*
 * One bio of a request of which so many bytes are complete; returns how many are of
 * those after it. Not static: the verifier looks at it once, however often it is called.
 */
__noinline u64 layers_of_merged_done(u64 id, u64 bytes, u64 now)
{
	u32 size;

	if (bytes != WHOLE) {
		size = READ(struct bio, id, bi_iter.bi_size);
		if (size > bytes)
			return NO_MORE;
		bytes -= size;
	}
	layers_of_bio_done(id, now, false);
	return bytes;
}

/* A request, or the first bytes of what is left of it, are complete: of its bios block_bio_complete does not tell. */
static __always_inline void layers_done(struct request *rq, u32 bytes, u64 now)
{
	u64 id = word_at((u64)rq + bpf_core_field_offset(struct request, bio)), left = bytes < rq->__data_len ? bytes : WHOLE;
	int i;

	for (i = 0; i < MERGED && id; i++) {
		left = layers_of_merged_done(id, left, now);
		if (left == NO_MORE)
			return;
		id = word_at(id + bpf_core_field_offset(struct bio___chain, bi_next));
	}
}

/* Where a request comes from whose first bio this is, or what that bio was cut off from; 0 where no layer made it. */
static __always_inline struct layer_bio *layer_of(struct bio *bio)
{
	u64 id = (u64)bio;
	struct layer_bio *b = passed_on ? layer_row(id + 1) : 0;

	if (!b)
		b = layer_row(id);
	if (!b) {
		id = (u64)READ(struct bio___private, bio, bi_private);
		b = layer_row(id);
	}
	return b && b->above ? b : 0;
}
