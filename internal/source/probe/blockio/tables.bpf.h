/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What is counted of block I/O, and where it is kept. */
#pragma once

#include "compat.bpf.h"
#include "hist.bpf.h"
#include "layers.bpf.h"
#include "process.bpf.h"
#include "sets.bpf.h"
#include "twice.bpf.h"

#define SECTOR_SHIFT 9
#define BIN_NS 10000000ULL /* 10 ms */
#define SIZE_SLOTS 16
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_DISCARD 3

#define FRONT_MERGES 8 /* bios that may have come before a request's first */
#define STATUS_REQUEUED 256 /* above every blk_status_t */

enum op { OP_READ, OP_WRITE, OP_FLUSH, OP_OTHER, OP_DISCARD };

struct bio___next {
	struct bio___next *bi_next;
} __attribute__((preserve_access_index));

/* A request is found by its first bio until it is issued: it began with block_getrq. */
const volatile bool by_bio;

#define REQUEST_SETS 4096
struct request_info {
	u64 start, issue; /* ns; each only where the kernel keeps no time of its own, 0 else */
	u64 cgroup;
	u32 bytes; /* of all of it, once a part has completed */
	u32 nth; /* of the device's requests, as far as 32 bits go */
	u32 tgid, dev, depth;
	u32 direct, again; /* bytes read with O_DIRECT; of these, read before */
	u8 op, sequential, near, pad; /* near: its device's row of near_devices, from 1 on */
};
/* One line of the processor's cache, which goes from that of the submitter to that of the completion, and back. */
struct request_row {
	u64 id;
	struct request_info info;
};
struct request_set {
	struct request_row rows[WAYS];
};

struct io {
	u64 bytes;
	u64 queue_ns, device_ns;
	u64 size[SIZE_SLOTS]; /* operations, by powers of two from 512 bytes on */
	u64 sequential, errors;
	u64 direct_bytes, direct_again; /* read with O_DIRECT; of these, read before */
};
struct owner_key {
	u64 cgroup;
	u32 tgid, dev, op, pad;
};
struct file_key {
	u64 ino;
	u32 sdev, dev, op;
	u32 lower; /* the file system lies on a device above this one */
};
struct bios {
	u64 ops, bytes;
};
struct hist_key {
	u32 dev, op;
};
/* Of one operation of a device. The sizes of reads and writes are in its depths. */
struct hists {
	u64 queue[HIST_SLOTS], device[HIST_SLOTS], size[HIST_SLOTS];
	u64 queue_sum, device_sum, size_sum;
};
struct depth_io {
	u64 ops, ns; /* ns: start to completion */
	u64 alone_ops, alone_ns; /* of these: no other was in flight from start to completion */
};
/* What is changed when a request begins and when it completes. A device keeps its row. */
#define BEGUN (1ULL << 24) /* more than can be in flight */
#define DISK_SETS 256
struct disk {
	u64 flights; /* requests ever begun * BEGUN + those in flight */
	u64 most; /* in flight at a time: which window << 32 | how many */
	u64 untimed; /* completions without the kernel's own issue time */
	u64 near; /* its row of near_devices, from 1 on; 0, NOT_NEAR: it has one of devices, or none yet */
	u64 apart[4]; /* another line of the processor's cache for the next one */
};
struct disk_set {
	u64 ids[WAYS];
	struct disk rows[WAYS];
};
/* What is changed at completions only. */
#define DEPTH_SLOTS 16
struct device {
	struct hists hists[4]; /* by operation */
	struct depth_io depths[2][SIZE_SLOTS][DEPTH_SLOTS]; /* of reads and writes, by size and by depth at their start, in powers of two */
};
struct bin_key {
	u64 bin; /* since the boot: 32 bits would begin anew after 497 days */
	u32 dev, pad;
};
struct bin {
	u64 ops, bytes, ns; /* ns: start to completion */
	/* who has most of ns, if anybody has more than half of it: the majority
	 * vote of Boyer and Moore, each request weighing its time */
	s64 lead;
	u32 leader, pad;
};
/*
 * What a device has, and what an owner, is found without a call where there is a place
 * left for it, and else in hash tables. The reader adds up both, and empties bins that are
 * over, and the places of owners who have ended.
 */
#define NEAR_DEVICES 8
#define NOT_NEAR (NEAR_DEVICES + 1)
#define NEAR_BINS 256 /* of the last 2.56 s */
struct near_bin {
	u64 id; /* of which bin; 0: free */
	struct bin bin;
};
struct near_device {
	struct device device;
	struct near_bin bins[NEAR_BINS];
};
#define NEAR_OWNERS_BITS 8
struct near_owner {
	u64 id; /* of the key; 0: free */
	struct owner_key key;
	struct io io;
};
struct failure_key {
	u32 tgid, dev, op, status;
};
struct failure {
	u64 ops, ns; /* ns: start to failure */
};
struct process_bios {
	u64 direct_bytes, direct_again; /* as of struct io, of bios that no request tells of */
	u64 swap_in, swap_out;
};
struct throttle_key {
	u64 cgroup;
	u32 dev, op;
};
/* A chunk is of so many pages that reads near each other find it in the processor's cache. */
#define CHUNK_WORDS 8
struct chunk_key {
	u64 chunk; /* of CHUNK_WORDS * 64 pages */
	u32 dev, pad;
};
struct chunk {
	u64 pages[CHUNK_WORDS]; /* a bit each */
};
/*
 * A chunk has one place where it is found without a call. Where another has that place,
 * it is in a hash table: for good, since no chunk leaves.
 */
#define NEAR_SETS 512
struct near_set {
	u64 ids[WAYS]; /* device << 32 | chunk */
	struct chunk rows[WAYS];
};
/*
 * Where the last request of a process on a device ended (a sector), and above it a
 * bit for each operation that it has had. Those of late are found in recent, which
 * costs less to search; those that had to leave it, in streams.
 */
#define STREAM_END ((1ULL << 56) - 1)
#define STREAM_OP(op) (1ULL << (56 + (op)))
#define RECENT_SETS 512
struct recent_set {
	u64 ids[WAYS]; /* process << 32 | device */
	u64 ends[WAYS];
};

#define TABLE(name, kind, flags, entries, K, V)          \
	struct {                                         \
		__uint(type, kind);                      \
		__uint(max_entries, entries);            \
		__uint(map_flags, flags);                \
		__type(key, K);                          \
		__type(value, V);                        \
	} name SEC(".maps")

SET_TABLE(requests, REQUEST_SETS, struct request_set);
TABLE(by_owner, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 16384, struct owner_key, struct io);
TABLE(near_owners, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1 << NEAR_OWNERS_BITS, u32, struct near_owner);
TABLE(by_file, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 32768, struct file_key, struct bios);
TABLE(process_io, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 16384, u32, struct process_bios);
SET_TABLE(disks, DISK_SETS, struct disk_set);
TABLE(devices, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 1024, u32, struct device);
TABLE(near_devices, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, NEAR_DEVICES, u32, struct near_device);
TABLE(bins, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 16384, struct bin_key, struct bin);
TABLE(failures, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 4096, struct failure_key, struct failure);
TABLE(throttled, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 4096, struct throttle_key, struct bios);
TABLE(no_origin, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 1024, struct hist_key, struct bios);
SET_TABLE(near_seen, NEAR_SETS, struct near_set);
TABLE(direct_seen, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 1 << 17, struct chunk_key, struct chunk);
SET_TABLE(recent, RECENT_SETS, struct recent_set);
TABLE(streams, BPF_MAP_TYPE_LRU_HASH, 0, 4096, u64, u64);
TABLE(no_device, BPF_MAP_TYPE_ARRAY, 0, 1, u32, struct device); /* zeros, to begin a row with */

/* What could not be kept because a map was full. */
u64 lost_requests, lost_rows, lost_bins, lost_direct;
/* Requests that are not in the first of their ways, now. */
u64 displaced;
/* How many devices have a row of near_devices, or would have. */
u64 taken_devices;
/* Completions that no program was run for (docs/blockio.md). */
u64 missed_completions;
/*
 * Some disk has no requests: bios are counted where they are queued. Else they are
 * where a request begins or takes in another bio, and on_bio is not attached.
 */
u32 at_queue;
/* Set when a device was seen for which the kernel keeps no issue time. */
u32 want_issue;
u32 timed; /* set when a request has completed for which it does */
u32 window = 1; /* which one it is; the reader counts them */
/* Set when a request was seen whose start the kernel does not keep. */
u32 want_start;

static const struct io no_io;
static const struct bios no_bios;
static const struct bin no_bin;
static const struct failure no_failure;
static const struct process_bios no_process;
static const struct chunk no_chunk;

/* The row of a key, made on first sight. */
#define ROW(map, key, zero, lost)                                            \
	({                                                                   \
		void *row_ = bpf_map_lookup_elem(&map, key);                 \
		if (!row_) {                                                 \
			bpf_map_update_elem(&map, key, zero, BPF_NOEXIST);   \
			row_ = bpf_map_lookup_elem(&map, key);               \
			if (!row_)                                           \
				ADD(lost, 1);                                \
		}                                                            \
		row_;                                                        \
	})
