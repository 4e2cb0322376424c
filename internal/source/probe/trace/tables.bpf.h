/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What the programs of trace are asked for, what they keep, and what they hand over. */
#pragma once

#include "path.bpf.h"
#include "types.bpf.h"

#define FRONT_MERGES 8 /* bios that may have come before a request's first */
#define CHAINED 4 /* splits of one bio that are followed */

enum kind { KIND_IO = 1, KIND_PATH };

/* What the I/O is for. */
enum owner { OWNER_UNKNOWN, OWNER_FILE, OWNER_SWAP, OWNER_DEVICE };

/* One I/O, while it is in flight and as it is handed over. */
struct event {
	u32 kind; /* 0: none is in flight */
	u32 dev;
	u64 start, issue, end; /* ns, CLOCK_MONOTONIC; issue 0 where nobody knows */
	u64 sector;
	u64 cgroup;
	u64 ino;
	u32 sdev; /* of ino's file system; for OWNER_DEVICE the device */
	u32 tgid, tid;
	u32 bytes; /* completed in the end */
	u32 flags; /* operation and enum flag */
	u8 status; /* blk_status_t */
	u8 owner;
	u16 requeues;
	u8 comm[16];
};

/*
 * Drivers use the same few requests again and again: their rows stay, so that
 * neither start nor completion takes a lock of the table. No more than KEPT
 * stay, for requests of devices that are gone do, too.
 */
#define KEPT 16384
#define IN_FLIGHT 32768
struct row {
	struct event e;
	u32 stays, pad;
};

struct path_event {
	u32 kind;
	u32 sdev;
	u64 ino;
	struct path path;
};

struct inode_key {
	u64 ino;
	u64 sdev;
};

/* What is asked for; 0 asks for all. */
const volatile u32 self; /* the observer */
const volatile u32 only_tgid, only_dev;
const volatile u64 only_ino;
const volatile u32 only_sdev;
const volatile u64 only_cgroup;
const volatile u32 only_level; /* of that cgroup below its root */
const volatile u32 only_by_task; /* it is of the memory controller's tree, not of the I/O's */
const volatile u32 only_comm;
const volatile u8 comm_wanted[16];
const volatile u64 min_ns; /* start to completion */
/* A request is found by its first bio until it is issued: it began with block_getrq. */
const volatile bool by_bio;
/* Where direct I/O ends; 0 where the symbol is hidden. */
const volatile u64 iomap_end, chain_end, device_end, device_async_end, wait_end;

/* Files that the observer writes its output to: not recorded. */
struct inode_key own_files[2];

u64 dropped; /* records that the ring buffer had no room for */
u64 lost_requests; /* not followed: too many in flight */
u64 lost_paths;
u64 missed_completions;
u64 own; /* left out: the observer's */
u64 below_min; /* left out: faster than asked */
u32 want_issue;
u32 kept; /* rows that stay */
u32 naming; /* raised when the reader has forgotten the paths */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IN_FLIGHT + KEPT);
	__type(key, u64);
	__type(value, struct row);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* Files whose path was handed over, with the generation of the inode, of which a new one may have its number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct inode_key);
	__type(value, u32);
} named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_event);
} scratch SEC(".maps");
