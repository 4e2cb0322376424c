/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Every difference between kernels that the probes meet, each with its reason. */
#pragma once

#include "lacks.bpf.h"

/*
 * A number as a pointer whose fields can be read directly, for a fifth of what
 * BPF_CORE_READ takes; a bad address reads as zeros. Since a35b9af4ec2c (6.2).
 */
extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym __weak;
#define KERNEL(type, pointer) ((type *)bpf_rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)))

/* A field behind a number, READ(struct inode, at, i_sb, s_dev), on older kernels as well. */
#define READ(type, pointer, ...)                                                             \
	(!!bpf_rdonly_cast ? ___arrow(KERNEL(type, pointer), __VA_ARGS__)     \
					  : BPF_CORE_READ((type *)(pointer), __VA_ARGS__))

/*
 * The same pointer, of which the verifier no longer knows that it is good. Where a
 * pointer is read through one that it knows to be good, it searches all types of
 * the kernel, four times, for what it may trust: a few milliseconds each time.
 */
#define LOOSE(type, pointer) (!!bpf_rdonly_cast ? KERNEL(type, pointer) : (pointer))

/* A word of the kernel's memory as a number, whatever is there: the first one of a page is its flags. */
static __always_inline u64 word_at(u64 at)
{
	u64 word = 0;

	if (!!bpf_rdonly_cast)
		return *(u64 *)KERNEL(struct page, at);
	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	return word;
}

/*
 * folio->flags was a plain unsigned long until 53fbef56e07d ("mm: introduce
 * memdesc_flags_t", 6.18) wrapped it; it has always been the first word.
 * folio->_nr_pages was _folio_nr_pages before 4996fc547f5b (6.15).
 */
struct folio___old {
	unsigned int _folio_nr_pages;
} __attribute__((preserve_access_index));

/* Before folios (5.16) the page cache held pages, and a large one's second had their number. */
struct page___cache {
	struct address_space *mapping;
	unsigned long index;
	unsigned long memcg_data;
	struct mem_cgroup *mem_cgroup; /* before bcfe06bf2622 (5.11) */
	unsigned int compound_nr;
} __attribute__((preserve_access_index));

#define IS_FOLIO bpf_core_type_exists(struct folio)
/* mapping and index of what is in the page cache: of an event's argument, and of any address. */
#define FOLIO(f, field) (IS_FOLIO ? LOOSE(struct folio, f)->field : ((struct page___cache *)(f))->field)
#define READ_FOLIO(f, field) (IS_FOLIO ? BPF_CORE_READ((f), field) : BPF_CORE_READ((struct page___cache *)(f), field))

/* Memory that was set aside as huge pages. It enters no cache that anything is read into, though the same event tells of it. */
static __always_inline bool set_aside(struct inode *inode)
{
	return READ(struct inode, inode, i_sb, s_magic) == HUGETLBFS_MAGIC;
}

/* The pages of a folio that is large. */
static __always_inline u32 large_pages(struct folio *f)
{
	struct page___cache *second;

	if (bpf_core_field_exists(f->_nr_pages))
		return BPF_CORE_READ(f, _nr_pages);
	if (bpf_core_field_exists(((struct folio___old *)f)->_folio_nr_pages))
		return BPF_CORE_READ((struct folio___old *)f, _folio_nr_pages);
	second = (void *)f + bpf_core_type_size(struct page);
	return BPF_CORE_READ(second, compound_nr);
}

static __always_inline u32 folio_pages(struct folio *f)
{
	u64 flags = *(u64 *)f;

	if (!(flags & (1ULL << bpf_core_enum_value(enum pageflags, PG_head))))
		return 1;
	if (bpf_core_field_exists(f->_nr_pages))
		return f->_nr_pages;
	return large_pages(f);
}

#define MEMCG_FLAGS 7ULL /* low bits of memcg_data */

/* Since 7.2 all folios are charged to one of these, which outlives its cgroup; is_root came with that. */
struct obj_cgroup {
	struct mem_cgroup *memcg;
	bool is_root;
} __attribute__((preserve_access_index));

/* The memory cgroup in memcg_data of a folio, as an address; 0 for none. */
static __always_inline u64 memcg_of(u64 data)
{
	data &= ~MEMCG_FLAGS;
	if (data && bpf_core_field_exists(((struct obj_cgroup *)0)->is_root))
		return (u64)BPF_CORE_READ((struct obj_cgroup *)data, memcg);
	return data;
}

/* The memory cgroup that owns a folio, likewise. */
static __always_inline u64 folio_memcg(struct folio *f)
{
	struct page___cache *p = (void *)f;

	if (bpf_core_field_exists(f->memcg_data))
		return memcg_of(BPF_CORE_READ(f, memcg_data));
	if (bpf_core_field_exists(p->memcg_data))
		return memcg_of(BPF_CORE_READ(p, memcg_data));
	return (u64)BPF_CORE_READ(p, mem_cgroup);
}

/* rq->q->disk came with d152c682f03c (5.15), bio->bi_bdev with 309dca309fc3 (5.12). */
struct request___disk {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));
struct bio___disk {
	struct gendisk *bi_disk;
} __attribute__((preserve_access_index));

static __always_inline struct gendisk *request_disk(struct request *rq)
{
	if (bpf_core_field_exists(rq->q->disk))
		return LOOSE(struct request, rq)->q->disk;
	return ((struct request___disk *)rq)->rq_disk;
}

static __always_inline struct gendisk *bio_disk(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return LOOSE(struct bio, bio)->bi_bdev->bd_disk;
	return ((struct bio___disk *)bio)->bi_disk;
}

/*
 * Whether a bio goes to a device that a file system is on, and is no stacked device's copy
 * of one that did. Of several devices (all of btrfs, which names none as its own; the log
 * of XFS) the file system or its type is the holder; of what lies below a stacked device,
 * that one is.
 */
static __always_inline bool is_own_bio(struct super_block *sb, struct bio *bio)
{
	u64 bdev = (u64)BPF_CORE_READ(sb, s_bdev), holder;

	if (!bpf_core_field_exists(bio->bi_bdev)) /* before 5.12: not told apart on btrfs */
		return !bdev || (u64)BPF_CORE_READ((struct block_device *)bdev, bd_disk) == (u64)((struct bio___disk *)bio)->bi_disk;
	if (bdev == (u64)LOOSE(struct bio, bio)->bi_bdev)
		return true;
	holder = (u64)BPF_CORE_READ(bio, bi_bdev, bd_holder);
	return holder && (holder == (u64)sb || holder == (u64)BPF_CORE_READ(sb, s_type));
}

/*
 * What block_rq_complete says of the outcome: a blk_status_t since 8a7d267b4a2d
 * (5.16), before that what blk_status_to_errno makes of one.
 */
static __always_inline u8 request_status(int error)
{
	if (error >= 0)
		return error;
	switch (-error) {
	case 95: /* EOPNOTSUPP */
		return 1;
	case 110: /* ETIMEDOUT */
		return 2;
	case 28: /* ENOSPC */
		return 3;
	case 67: /* ENOLINK */
		return 4;
	case 121: /* EREMOTEIO */
		return 5;
	case 52: /* EBADE */
		return 6;
	case 61: /* ENODATA */
		return 7;
	case 84: /* EILSEQ */
		return 8;
	case 12: /* ENOMEM */
		return 9;
	case 11: /* EAGAIN */
		return 12;
	}
	return 10; /* BLK_STS_IOERR */
}

/*
 * When a request began, as the kernel keeps it; 0 where it does not. Since 746fc7e9d459
 * (6.13) it does for those that are accounted, which have a part: in others (the queue's
 * iostats are off, or a command of its own) is the start of whoever had the tag before.
 */
static __always_inline u64 kept_start(struct request *rq)
{
	return rq->part ? rq->start_time_ns : 0;
}

/*
 * 1 for a request with flushes before or after its data, or with nothing else, which the
 * block layer has taken over: it has taken them out of the request's flags, and not out of
 * its bio's. 0 for others. A branch would double what the verifier looks at, here and below.
 * There may be no bio: what reads a pointer that is not one must be a helper or a cast, for
 * 5.10 panics where a program that has functions of its own reads it itself (its table of
 * places where that may happen is then searched in vain).
 */
static __always_inline u64 flushes(struct request *rq)
{
	u32 flags = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) | 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_FUA);
	u64 lost = READ(struct bio, rq->bio, bi_opf) & ~rq->cmd_flags & flags;

	return (lost + 0xffffffff) >> 32;
}

/* The data of such a request are written: it completes once more, when all is done, without a byte. */
static __always_inline u64 flush_follows(struct request *rq, u32 bytes, u64 flush)
{
	u64 end = (u64)rq->end_io;

	return flush & ((u64)bytes + 0xffffffff) >> 32 & (end | -end) >> 63;
}

/* task_struct.state became __state in 2f064a59a11f (5.14). */
struct task_struct___old {
	long state;
} __attribute__((preserve_access_index));

static __always_inline u32 task_state(struct task_struct *t)
{
	if (bpf_core_field_exists(t->__state))
		return t->__state;
	return BPF_CORE_READ((struct task_struct___old *)t, state);
}

/* The number of the system call a task is in; -1 for an exception (page fault). */
static __always_inline s32 task_syscall(struct task_struct *t)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86) &&
	    bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		return REG(struct pt_regs___x86, regs, orig_ax);
	return REG(struct pt_regs___arm64, regs, syscallno);
}

/* An address that the verifier knows to be a pointer, with which it allows no arithmetic but this. */
static __always_inline u64 as_number(u64 id)
{
	asm volatile("%0 = -%0; %0 = -%0" : "+r"(id));
	return id;
}

/*
 * A page's folio: compound_head's low bit marks a tail page. 8c846c879e22
 * (7.2) renamed it and, where struct page has a size that is a power of two,
 * keeps a mask for the page's address there instead of the head's address.
 */
struct page___mask {
	unsigned long compound_info;
} __attribute__((preserve_access_index));

static __always_inline struct folio *page_folio(struct page *p)
{
	struct page___mask *m = (void *)p;
	u64 head;

	if (bpf_core_field_exists(m->compound_info)) {
		head = word_at((u64)p + bpf_core_field_offset(m->compound_info));
		if (head & 1 && (head | 0xffffffffULL) == ~0ULL)
			return (struct folio *)(as_number((u64)p) & head & ~1ULL);
	} else {
		head = word_at((u64)p + bpf_core_field_offset(p->compound_head));
	}
	return head & 1 ? (struct folio *)(head - 1) : (struct folio *)p;
}

/*
 * The first segment of a bio's rest. Older verifiers refuse arithmetic on the
 * pointer itself: read it as a number.
 */
static __always_inline struct page *bio_page(struct bio *bio)
{
	u64 vec = (u64)BPF_CORE_READ(bio, bi_io_vec);

	vec += (u64)BPF_CORE_READ(bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	return BPF_CORE_READ((struct bio_vec *)vec, bv_page);
}

/* An inode's first name; d_u became an anonymous union in 7.2. */
struct dentry___anonymous {
	struct hlist_node d_alias;
} __attribute__((preserve_access_index));

static __always_inline struct dentry *inode_dentry(struct inode *inode)
{
	u64 alias = (u64)BPF_CORE_READ(inode, i_dentry.first);
	struct dentry *d = 0;

	if (!alias)
		return 0;
	if (bpf_core_field_exists(d->d_u))
		return (void *)(alias - bpf_core_field_offset(struct dentry, d_u.d_alias));
	return (void *)(alias - bpf_core_field_offset(struct dentry___anonymous, d_alias));
}

static __always_inline u64 css_id(struct cgroup_subsys_state *css)
{
	return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

static __always_inline u64 task_cgroup(struct task_struct *t, u32 subsys)
{
	struct css_set *set = BPF_CORE_READ(t, cgroups);
	struct cgroup_subsys_state *css = 0;

	if (!set || subsys >= 16)
		return 0;
	bpf_core_read(&css, sizeof(css), &set->subsys[subsys]);
	return css_id(css);
}

/* Nothing is counted before the window begins and after it ends. */
u32 enabled;

/* BPF_PROG for a program that returns at once where passes is true. */
#define COUNTING_UNLESS(passes, name, args...)                                          \
	name(unsigned long long *ctx);                                                  \
	static __always_inline int counting_##name(unsigned long long *ctx, ##args);    \
	int name(unsigned long long *ctx)                                               \
	{                                                                               \
		if (passes)                                                             \
			return 0;                                                       \
		_Pragma("GCC diagnostic push")                                          \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                  \
		return counting_##name(___bpf_ctx_cast(args));                          \
		_Pragma("GCC diagnostic pop")                                           \
	}                                                                               \
	static __always_inline int counting_##name(unsigned long long *ctx, ##args)

/* The same for one that counts. */
#define COUNTING(name, args...) COUNTING_UNLESS(!enabled, name, ##args)
