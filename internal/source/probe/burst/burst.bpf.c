//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What arrives at each disk in every millisecond, and whose it is. The bins
 * are a ring in memory that is shared with the reader, who empties them.
 */
#include "twice.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1
#define BIN_NS 1000000ULL
#define BINS 1024 /* a second; the reader comes ten times as often */
#define OWNERS 8

struct owner {
	u64 cgroup;
	u64 bytes;
	u32 who; /* process + 1; 0 for a free place */
	u32 ops;
	u8 comm[16];
};

/* One millisecond of one disk. */
struct bin {
	u64 ms; /* since the machine started, + 1; 0 for an empty bin */
	u64 bytes;
	u32 ops;
	u32 done; /* completed in it, whenever they came */
	u64 done_ns; /* how long those took together */
	struct owner owners[OWNERS]; /* whoever comes later is in the sums only */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BINS); /* for each disk: the loader says how many */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct bin);
} bins SEC(".maps");

/* Disk to its place among the bins. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} disks SEC(".maps");

const volatile u32 self;

u64 unknown_disk; /* I/Os on a disk that came later */
u64 late_reader; /* I/Os that came when their bin was not emptied yet */

static __always_inline struct bin *bin_of(struct gendisk *disk, u64 now)
{
	u64 ms = now / BIN_NS, old;
	u32 dev, *place, at;
	struct bin *b;

	if (!disk)
		return 0;
	dev = (u32)disk->major << 20 | disk->first_minor;
	place = bpf_map_lookup_elem(&disks, &dev);
	if (!place) {
		ADD(unknown_disk, 1);
		return 0;
	}
	at = *place * BINS + (ms & (BINS - 1));
	b = bpf_map_lookup_elem(&bins, &at);
	if (!b)
		return 0;
	old = COMPARE_AND_SWAP(&b->ms, 0, ms + 1);
	if (old && old != ms + 1) {
		ADD(late_reader, 1);
		return 0;
	}
	return b;
}

static __always_inline void add(struct bin *b, struct bio *bio, u32 ops, u32 bytes)
{
	u32 who = (bpf_get_current_pid_tgid() >> 32) + 1, old;
	struct owner *o;
	u64 cgroup = 0;
	int i;

	if (bio)
		cgroup = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup, kn, id);
	if (ops) /* adding 0 compilers make an atomic or, which kernels have since 5.12 */
		ADD(b->ops, ops);
	ADD(b->bytes, bytes);
	for (i = 0; i < OWNERS; i++) {
		o = &b->owners[i];
		old = o->who;
		if (!old) {
			old = COMPARE_AND_SWAP(&o->who, 0, who);
			if (!old) {
				o->cgroup = cgroup;
				bpf_get_current_comm(&o->comm, sizeof(o->comm));
				old = who;
			}
		}
		/* of two that claim places at once, one may take a second: the
		 * reader adds them up */
		if (old == who && o->cgroup == cgroup) {
			if (ops)
				ADD(o->ops, ops);
			ADD(o->bytes, bytes);
			return;
		}
	}
}

/* Nothing is moved when a range is discarded, however long it is. */
static __always_inline u32 moved(u32 flags, u32 bytes)
{
	return (flags & REQ_OP_MASK) <= REQ_OP_WRITE ? bytes : 0;
}

static __always_inline bool is_own(void)
{
	return self && bpf_get_current_pid_tgid() >> 32 == self;
}

static __always_inline int arrived(struct gendisk *disk, struct bio *bio, u32 ops, u32 flags, u32 bytes)
{
	struct bin *b;

	if (is_own())
		return 0;
	b = bin_of(disk, bpf_ktime_get_ns());
	if (b)
		add(b, bio, ops, moved(flags, bytes));
	return 0;
}

SEC("tp_btf/block_io_start")
int COUNTING_TWICE(TWICE_START, on_start, struct request *rq)
{
	return arrived(request_disk(rq), rq->bio, 1, rq->cmd_flags, rq->__data_len);
}

/* Before that tracepoint (6.5): the bio has just been given a request. */
SEC("tp_btf/block_getrq")
int COUNTING(on_getrq, struct bio *bio)
{
	return arrived(bio_disk(bio), bio, 1, bio->bi_opf, bio->bi_iter.bi_size);
}

/* Before e8a676d61c07 (5.11) the queue came first, here and below. */
SEC("tp_btf/block_getrq")
int COUNTING(on_getrq_old, struct request_queue *q, struct bio *bio)
{
	if (!bio) /* a command of its own */
		return 0;
	return arrived(bio_disk(bio), bio, 1, bio->bi_opf, bio->bi_iter.bi_size);
}

/* A bio that joins a request adds to its bytes. */
static __always_inline int merged(struct bio *bio)
{
	return arrived(bio_disk(bio), bio, 0, bio->bi_opf, bio->bi_iter.bi_size);
}

SEC("tp_btf/block_bio_backmerge")
int COUNTING_TWICE(TWICE_BACK, on_backmerge, struct bio *bio)
{
	return merged(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int COUNTING_TWICE(TWICE_FRONT, on_frontmerge, struct bio *bio)
{
	return merged(bio);
}

SEC("tp_btf/block_bio_backmerge")
int COUNTING(on_backmerge_old, struct request_queue *q, struct request *rq, struct bio *bio)
{
	return merged(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int COUNTING(on_frontmerge_old, struct request_queue *q, struct request *rq, struct bio *bio)
{
	return merged(bio);
}

SEC("tp_btf/block_rq_complete")
int COUNTING(on_complete, struct request *rq, int error, unsigned int bytes)
{
	u64 now, start = kept_start(rq);
	struct bin *b;

	if (bytes < rq->__data_len || flush_follows(rq, bytes, flushes(rq)) || !start)
		return 0; /* a part, or nothing that began: the kernel's own flush */
	now = bpf_ktime_get_ns();
	b = bin_of(request_disk(rq), now);
	if (b) {
		ADD(b->done, 1);
		ADD(b->done_ns, now > start ? now - start : 0);
	}
	return 0;
}
