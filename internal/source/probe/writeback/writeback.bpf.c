//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What leaves the page cache for the devices: bytes by file, by the memory
 * cgroup that owns the pages, and by device; and the rate that the kernel
 * grants to writers that it pauses.
 */
#include "twice.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1

struct written_key {
	u64 ino, cgroup;
	u32 sdev, dev;
};
struct written {
	u64 bios, bytes;
};
struct writer {
	u64 task_rate; /* pages a second granted at the newest pause */
	u64 pauses;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct written_key);
	__type(value, struct written);
} written SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct writer);
} writers SEC(".maps");

u64 lost_rows;

static const struct written nothing;
static const struct writer nobody;

static __always_inline int note_pause(u64 rate, s64 pause)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct writer *w;

	if (pause <= 0)
		return 0;
	w = bpf_map_lookup_elem(&writers, &tgid);
	if (!w) {
		bpf_map_update_elem(&writers, &tgid, &nobody, BPF_NOEXIST);
		w = bpf_map_lookup_elem(&writers, &tgid);
		if (!w) {
			ADD(lost_rows, 1);
			return 0;
		}
	}
	w->task_rate = rate;
	ADD(w->pauses, 1);
	return 0;
}

/* (wb, dtc, base rate, task rate, dirtied, period, pause, start), since 6.17 */
SEC("tp_btf/balance_dirty_pages")
int COUNTING_TWICE(TWICE_BALANCE, on_balance)
{
	return note_pause(ctx[3], ctx[6]);
}

/* (wb, thresh, bg_thresh, dirty, bdi_thresh, bdi_dirty, base rate, ...) before */
SEC("tp_btf/balance_dirty_pages")
int COUNTING(on_balance_old)
{
	return note_pause(ctx[7], ctx[10]);
}

static __always_inline int queued(struct bio *bio)
{
	u32 size = bio->bi_iter.bi_size;
	struct written_key key = {};
	struct address_space *mapping;
	struct super_block *sb;
	struct gendisk *disk;
	struct inode *inode;
	struct folio *folio;
	struct written *w;
	struct page *page;
	u64 bits;

	if ((bio->bi_opf & REQ_OP_MASK) != REQ_OP_WRITE || !size)
		return 0;
	page = bio_page(bio);
	if (!page)
		return 0;
	folio = page_folio(page);
	bits = (u64)READ_FOLIO(folio, mapping);
	if (!bits || bits & MAPPING_FLAGS)
		return 0; /* not a page of the cache */
	mapping = (void *)bits;
	inode = BPF_CORE_READ(mapping, host);
	sb = BPF_CORE_READ(inode, i_sb);
	/* a stacked device's copy of the bio was counted above it */
	if (!is_own_bio(sb, bio) && (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFBLK)
		return 0;
	key.ino = BPF_CORE_READ(inode, i_ino);
	key.sdev = BPF_CORE_READ(sb, s_dev);
	disk = bio_disk(bio);
	key.dev = (u32)disk->major << 20 | disk->first_minor;
	bits = folio_memcg(folio);
	if (bits)
		key.cgroup = BPF_CORE_READ((struct mem_cgroup *)bits, css.cgroup, kn, id);
	w = bpf_map_lookup_elem(&written, &key);
	if (!w) {
		bpf_map_update_elem(&written, &key, &nothing, BPF_NOEXIST);
		w = bpf_map_lookup_elem(&written, &key);
		if (!w) {
			ADD(lost_rows, 1);
			return 0;
		}
	}
	ADD(w->bios, 1);
	ADD(w->bytes, size);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int COUNTING_TWICE(TWICE_BIO, on_bio, struct bio *bio)
{
	return queued(bio);
}

/* Before e8a676d61c07 (5.11). */
SEC("tp_btf/block_bio_queue")
int COUNTING(on_bio_old, struct request_queue *q, struct bio *bio)
{
	return queued(bio);
}
