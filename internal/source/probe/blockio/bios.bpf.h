/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Who a bio is for, which file, and what was read before or held back. */
#pragma once

#include "tables.bpf.h"
#include "worker.bpf.h"

static __always_inline u32 request_op(u32 flags, u32 size)
{
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return OP_READ;
	case REQ_OP_WRITE:
		if (!size && flags & 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH))
			return OP_FLUSH;
		return OP_WRITE;
	case REQ_OP_DISCARD:
		return OP_DISCARD;
	}
	return OP_OTHER;
}

/* What a bio is charged to; 0 for none. Where there is no bio the kernel reads 0, too. */
static __always_inline struct blkcg_gq *bio_group(struct bio *bio)
{
	return LOOSE(struct bio, bio)->bi_blkg;
}

/* The cgroup of that, by its kernfs id; 0 for none. */
static __always_inline u64 group_cgroup(struct blkcg_gq *group)
{
	struct blkcg *blkcg = group ? group->blkcg : 0;
	struct cgroup *cgroup = blkcg ? blkcg->css.cgroup : 0;
	struct kernfs_node *node = cgroup ? cgroup->kn : 0;

	return node ? node->id : 0;
}

/* The same of an address. Not static: the verifier looks at it once. */
__noinline u64 layer_cgroup(u64 group)
{
	return group ? READ(struct blkcg_gq, group, blkcg, css.cgroup, kn, id) : 0;
}

/* A page of the slab allocator had a flag before 6.10; since 6.12 its type is a number. */
struct page___type {
	u32 page_type;
} __attribute__((preserve_access_index));
enum pagetype___number {
	PGTY_slab = 0x7002,
};

/*
 * Whether a page is of the slab allocator, which keeps words of its own where others have
 * their mapping: XFS reads metadata smaller than a page to such.
 */
static __always_inline bool of_slab(u64 folio, u64 flags)
{
	if (bpf_core_enum_value_exists(enum pageflags, PG_slab))
		return flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_slab);
	if (bpf_core_enum_value_exists(enum pagetype___number, PGTY_slab))
		return (u32)word_at(folio + bpf_core_field_offset(struct page___type, page_type)) >> 24 == bpf_core_enum_value(enum pagetype___number, PGTY_slab);
	return false;
}

/* What the first page of a bio belongs to. */
enum owner { OWNER_FILE, OWNER_USER, OWNER_KERNEL, OWNER_LOWER, OWNER_SWAP };

static __always_inline enum owner bio_owner(struct bio *bio, u64 *inode)
{
	u64 bits, flags, magic, folio;
	struct page *page;

	bio = LOOSE(struct bio, bio);
	page = bio->bi_iter.bi_idx || !bio->bi_io_vec ? bio_page(bio) : bio->bi_io_vec->bv_page;
	if (!page)
		return OWNER_KERNEL;
	folio = (u64)page_folio(page);
	flags = word_at(folio);
	bits = word_at(folio + (IS_FOLIO ? bpf_core_field_offset(struct folio, mapping) : bpf_core_field_offset(struct page___cache, mapping)));
	/* a page on its way in from swap: the request itself does not tell */
	if (flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_swapbacked) &&
	    (!bits || flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_swapcache)))
		return OWNER_SWAP;
	if (!bits)
		return OWNER_KERNEL;
	if (bits & MAPPING_FLAGS)
		return of_slab(folio, flags) ? OWNER_KERNEL : OWNER_USER;
	*inode = (u64)READ(struct address_space, bits, host);
	if (!*inode)
		return OWNER_KERNEL;
	if ((READ(struct inode, *inode, i_mode) & S_IFMT) == S_IFBLK)
		return OWNER_FILE; /* a device read or written through its own cache */
	if (is_own_bio(READ(struct inode, *inode, i_sb), bio))
		return OWNER_FILE;
	magic = READ(struct inode, *inode, i_sb, s_magic);
	if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC)
		return OWNER_USER; /* shared memory as the buffer of direct I/O */
	return OWNER_LOWER; /* a stacked device's copy of a bio counted above */
}

/* The bits of a chunk, where it has its place. */
static __always_inline struct chunk *near_chunk(u32 dev, u64 chunk)
{
	u64 id = (u64)dev << 32 | chunk, way, was;
	struct near_set *set = SET_OF(near_seen, NEAR_SETS, id);

	if (!set || chunk >> 32)
		return 0;
	way = BOUND(first_way(id));
	was = set->ids[way];
	if (!was)
		was = COMPARE_AND_SWAP(&set->ids[way], 0, id);
	return !was || was == id ? &set->rows[way] : 0;
}

/* Marks pages of a chunk, not beyond the word of the first one; how many were marked before. */
static __always_inline u64 mark(struct chunk *seen, u64 page, u64 pages)
{
	u64 mask = (~0ULL >> ((64 - pages) & 63)) << (page & 63), old;

	old = fetch_or(&seen->pages[page / 64 % CHUNK_WORDS], mask) & mask;
	old -= (old >> 1) & 0x5555555555555555ULL;
	old = (old & 0x3333333333333333ULL) + ((old >> 2) & 0x3333333333333333ULL);
	old = (old + (old >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (old * 0x0101010101010101ULL) >> 56;
}

/* The same of a chunk wherever it is. Not static, as what follows: the verifier looks at it once. */
__noinline u64 mark_word(u32 dev, u64 page, u64 pages)
{
	struct chunk_key key = { .chunk = page / (64 * CHUNK_WORDS), .dev = dev };
	struct chunk *seen = near_chunk(dev, key.chunk);

	if (!seen)
		seen = ROW(direct_seen, &key, &no_chunk, lost_direct);
	return seen ? mark(seen, page, pages) : 0;
}

/* Of any pages, of which at most 1 MiB is looked at. */
__noinline u64 mark_all(u32 dev, u64 page, u64 pages)
{
	u64 again = 0, n;
	u32 i;

	for (i = 0; i < 5 && pages; i++) {
		n = 64 - (page & 63);
		if (n > pages)
			n = pages;
		again += mark_word(dev, page, n);
		page += n;
		pages -= n;
	}
	return again;
}

/* Marks blocks of 4 KiB of a device as read with O_DIRECT; counts those read before. */
static __always_inline u64 direct_again(u32 dev, u64 sector, u32 size)
{
	u64 page = sector >> 3, pages = (size + 4095) >> 12;
	struct chunk *seen;

	if (pages <= 64 - (page & 63)) { /* mostly, and without a call */
		seen = near_chunk(dev, page / (64 * CHUNK_WORDS));
		if (seen)
			return mark(seen, page, pages) << 12;
	}
	return mark_all(dev, page, pages) << 12;
}

/*
 * A bio that a cgroup limit held back is submitted by the throttle's own work
 * queue when it may go, and in the name of its cgroup: data, and the flush of a
 * sync as well. The root has limits, too (blkio.throttle.* of cgroup v1).
 */
__noinline int note_held_back(u64 id, u32 dev)
{
	u32 flags = READ(struct bio, id, bi_opf), size = READ(struct bio, id, bi_iter.bi_size);
	struct throttle_key key = { .dev = dev };
	struct bios *row;

	if (!is_throttle_worker(current_task()))
		return 0;
	key.cgroup = layer_cgroup(as_number((u64)READ(struct bio, id, bi_blkg)));
	if (!key.cgroup)
		return 0; /* charged to nobody: no limit holds it */
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		key.op = OP_READ;
		break;
	case REQ_OP_WRITE:
		key.op = size ? OP_WRITE : OP_FLUSH;
		break;
	case REQ_OP_DISCARD:
		key.op = OP_DISCARD;
		break;
	default:
		key.op = OP_OTHER;
	}
	row = ROW(throttled, &key, &no_bios, lost_rows);
	if (row) {
		ADD(row->ops, 1);
		ADD(row->bytes, size);
	}
	return 0;
}

/* The same of any thread: the verifier looks at what is above once. */
static __always_inline void note_throttled(struct task_struct *task, struct bio *bio, u32 dev)
{
	if (TASK(task, flags) & PF_WQ_WORKER)
		note_held_back(as_number((u64)bio), dev);
}

/* What is moved for a file: at the device that the file system is on, or below that one. */
static __always_inline void add_file(struct file_key *file, u32 size)
{
	struct bios *row = ROW(by_file, file, &no_bios, lost_rows);

	if (row) {
		ADD(row->ops, 1);
		ADD(row->bytes, size);
	}
}

/* A bio of which nobody knows what for it was made, on a disk below a layer. */
static __always_inline void note_no_origin(u32 dev, u32 op)
{
	struct hist_key key = { .dev = dev, .op = op };
	struct bios *row;

	if (!bpf_map_lookup_elem(&lower, &dev))
		return;
	row = ROW(no_origin, &key, &no_bios, lost_rows);
	if (row)
		ADD(row->ops, 1);
}

/* Bytes that one bio reads with O_DIRECT, and how many of them were read before. */
struct direct {
	u32 bytes, again;
};

/* What a bio moves, which no layer has handed on: for a file, for swap, or past the page cache. */
static __always_inline enum owner moved(struct bio *bio, struct file_key *file, u32 size, u32 tgid, struct direct *direct)
{
	struct process_bios *p;
	enum owner owner;
	u64 inode = 0;

	owner = bio_owner(bio, &inode);
	if (owner == OWNER_SWAP || bio->bi_opf & 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SWAP)) {
		p = ROW(process_io, &tgid, &no_process, lost_rows);
		if (p && file->op == REQ_OP_READ)
			ADD(p->swap_in, size);
		else if (p)
			ADD(p->swap_out, size);
		return OWNER_SWAP;
	}
	if (inode) { /* of a file, or of one whose file system lies above */
		file->ino = READ(struct inode, inode, i_ino);
		file->sdev = READ(struct inode, inode, i_sb, s_dev);
	}
	if (inode && (owner == OWNER_FILE || owner == OWNER_LOWER)) {
		file->lower = owner == OWNER_LOWER;
		add_file(file, size);
	} else if (owner == OWNER_USER && file->op == REQ_OP_READ) {
		direct->bytes = size;
		direct->again = direct_again(file->dev, bio->bi_iter.bi_sector, size);
	}
	return owner;
}

static __always_inline void add_direct(u32 tgid, struct direct *direct)
{
	struct process_bios *p;

	if (!direct->bytes)
		return;
	p = ROW(process_io, &tgid, &no_process, lost_rows);
	if (p) {
		ADD(p->direct_bytes, direct->bytes);
		ADD(p->direct_again, direct->again);
	}
}

/* A bio became part of a request that had begun. */
static __noinline int taken_in(struct bio *bio)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, size = bio->bi_iter.bi_size;
	struct direct direct = {};
	struct file_key file = {};

	if (at_queue)
		return 0;
	file.dev = disk_dev(bio_disk(bio));
	file.op = bio->bi_opf & REQ_OP_MASK;
	note_throttled(current_task(), bio, file.dev);
	if (size && file.op <= REQ_OP_WRITE)
		moved(bio, &file, size, tgid, &direct);
	add_direct(tgid, &direct);
	return 0;
}

/* What a layer hands on was counted at the first one, for the same file. */
static __always_inline void add_lower(u32 size, u32 op, struct layer_bio *layer)
{
	struct file_key file = {};

	if (!size || op > REQ_OP_WRITE || !layer->from.ino)
		return;
	file.dev = layer->dev;
	file.op = op;
	file.ino = layer->from.ino;
	file.sdev = layer->from.sdev;
	file.lower = 1;
	add_file(&file, size);
}

/* The same of a bio that was not queued: of a request that the layer made. */
__noinline int add_clone(u64 id)
{
	struct layer_bio *layer = layer_row(id);

	if (layer)
		add_lower(layer->bytes, layer->op, layer);
	return 0;
}

/* When threads began whose processes were noted lately: no two begin at the same nanosecond. */
#define NOTED 64
u64 noted[NOTED];

/* Notes the process of the thread that runs: without a call, which may take 15 ns, where that was done. */
static __always_inline void note_current(struct task_struct *task, u64 thread)
{
	u64 start = TASK(task, start_boottime), slot = thread;

	asm volatile("" : "+r"(slot)); /* for the verifier to see the bound */
	slot &= NOTED - 1;
	if (noted[slot] == start)
		return;
	note_process(task, thread >> 32);
	noted[slot] = start;
}

static __always_inline int queued(struct bio *bio, u64 id)
{
	struct task_struct *task = current_task();
	u64 thread = (u64)(u32)TASK(task, tgid) << 32 | (u32)TASK(task, pid);
	u32 size = bio->bi_iter.bi_size, flags = bio->bi_opf, op = flags & REQ_OP_MASK, tgid = thread >> 32;
	struct layer_bio *layer = 0;
	struct direct direct = {};
	struct file_key file = {};
	enum owner owner;
	bool first = false;

	file.dev = disk_dev(bio_disk(bio));
	note_throttled(task, bio, file.dev);
	if (follow) {
		layer = layer_queued(task, bio, id, request_op(flags, size), &first);
		if (layer && first) {
			layer->from.thread = thread;
			layer->from.cgroup = (u64)bio_group(bio);
			layer->from.ino = 0;
			note_current(task, thread);
		}
	}
	if (!size || op > REQ_OP_WRITE)
		return 0;
	file.op = op;
	if (layer && !first) {
		add_lower(size, op, layer);
		return 0;
	}
	owner = moved(bio, &file, size, tgid, &direct);
	if (layer && (owner == OWNER_FILE || owner == OWNER_LOWER)) {
		layer->from.ino = file.ino;
		layer->from.sdev = file.sdev;
	}
	add_direct(tgid, &direct);
	if (follow && !layer && owner == OWNER_KERNEL)
		note_no_origin(file.dev, op);
	return 0;
}
