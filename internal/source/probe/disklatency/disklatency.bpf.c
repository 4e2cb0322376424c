//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How long reads and writes of each disk took, and how large they were, for whoever
 * watches all the time: one program, and no table of requests. The kernel itself
 * keeps when a request began.
 */
#include "compat.bpf.h"
#include "hist.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1
#define DISKS 256

struct disk_key {
	u32 dev, op; /* op: 0 reads, 1 writes */
};

/* Slot i counts values above 2^i and up to 2^(i+1): of time in parts of a second of which there are 2^30. */
struct disk_row {
	u64 latency[HIST_SLOTS], size[HIST_SLOTS];
	u64 latency_sum, size_sum; /* ns, bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * DISKS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct disk_key);
	__type(value, struct disk_row);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct disk_row);
} no_row SEC(".maps"); /* zeros, to begin a row with */

u64 seen; /* completions, of which the program was told */
u64 lost_disks; /* of disks that there was no room for */
u64 untimed; /* of which the kernel kept no start */

SEC("tp_btf/block_rq_complete")
int COUNTING(on_complete, struct request *rq, int error, unsigned int bytes)
{
	struct disk_key key = {};
	struct gendisk *disk;
	struct disk_row *row;
	u64 ns, start, flush, later;
	u32 first = 0;

	ADD(seen, 1);
	key.op = rq->cmd_flags & REQ_OP_MASK;
	if (key.op > REQ_OP_WRITE || bytes < rq->__data_len)
		return 0; /* another operation, or a part */
	flush = flushes(rq);
	later = flush_follows(rq, bytes, flush);
	if (!bytes && !(flush && rq->bio->bi_io_vec))
		return 0; /* a flush without data */
	start = kept_start(rq);
	ns = bpf_ktime_get_ns();
	if (!start || start > ns) {
		if (!later)
			ADD(untimed, 1);
		return 0;
	}
	ns -= start;
	disk = request_disk(rq);
	if (!disk)
		return 0;
	key.dev = (u32)disk->major << 20 | disk->first_minor;
	row = bpf_map_lookup_elem(&disks, &key);
	if (!row) {
		row = bpf_map_lookup_elem(&no_row, &first);
		if (!row)
			return 0;
		bpf_map_update_elem(&disks, &key, row, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&disks, &key);
		if (!row) {
			ADD(lost_disks, 1);
			return 0;
		}
	}
	if (bytes) { /* of a write with a flush after it, when its data are written */
		ADD(row->size[hist_slot(bytes - 1)], 1);
		ADD(row->size_sum, bytes);
	}
	if (later)
		return 0;
	/* 1125900 / 2^20 = 2^30 / 10^9; no request takes 2^43 ns, two hours */
	ADD(row->latency[hist_slot(((ns & ((1ULL << 43) - 1)) * 1125900 >> 20) - 1)], 1);
	ADD(row->latency_sum, ns);
	return 0;
}
