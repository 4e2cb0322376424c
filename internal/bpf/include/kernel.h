/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Only the kernel types and fields that the probes read. Offsets are found at
 * load time (CO-RE), so the order and the rest of each struct do not matter.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_kind {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_RB_NO_WAKEUP 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct qstr {
	u32 len;
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
};
struct block_device;
struct file_system_type;
struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev;
	struct file_system_type *s_type;
};
struct inode {
	u16 i_mode;
	unsigned int i_nlink;
	s64 i_size;
	unsigned long i_ino;
	u32 i_rdev;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
	struct address_space *i_mapping;
};
struct address_space {
	struct inode *host;
	unsigned long nrpages;
};
struct file {
	struct inode *f_inode;
};
struct kiocb {
	struct file *ki_filp;
	s64 ki_pos;
};
struct iov_iter {
	bool data_source;
	unsigned long count;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long memcg_data;
	unsigned int _nr_pages;
};
struct page {
	unsigned long compound_head;
};

struct kernfs_node {
	u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
};
struct css_set {
	struct cgroup_subsys_state *subsys[16];
};
struct mem_cgroup {
	struct cgroup_subsys_state css;
};
struct blkcg {
	struct cgroup_subsys_state css;
};
struct blkcg_gq {
	struct blkcg *blkcg;
};
enum cgroup_subsys_id {
	memory_cgrp_id = 0x7001,
	io_cgrp_id = 0x7002,
};

struct pt_regs___x86 {
	unsigned long orig_ax;
};
struct pt_regs___arm64 {
	s32 syscallno;
};
struct task_struct {
	unsigned int flags;
	unsigned int __state;
	int pid;
	int tgid;
	unsigned in_iowait : 1;
	struct task_struct *group_leader;
	char comm[16];
	u64 start_boottime;
	struct css_set *cgroups;
};

struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct block_device {
	u32 bd_dev;
	struct gendisk *bd_disk;
	struct request_queue *bd_queue;
	void *bd_holder;
};
struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};
struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
};
struct bio {
	struct block_device *bi_bdev;
	u32 bi_opf;
	u16 bi_flags;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
	struct blkcg_gq *bi_blkg;
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	void *part;
	void *end_io;
	u64 start_time_ns;
	u64 io_start_time_ns;
};

struct fprop_local_percpu;
struct dirty_throttle_control {
	unsigned long dirty;
	unsigned long thresh;
	unsigned long bg_thresh;
	unsigned long limit;
};

#pragma clang attribute pop

/* Values that move between kernels are looked up by name (CO-RE). */
enum pageflags {
	PG_head = 6,
	PG_slab = 9,
	PG_swapcache = 10,
	PG_swapbacked = 17,
};
enum req_flag_bits {
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_SWAP = 24,
};

#define S_IFMT 00170000
#define S_IFBLK 0060000
#define PF_IO_WORKER 0x00000010
#define PF_MEMALLOC 0x00000800
#define PF_KTHREAD 0x00200000
#define TASK_UNINTERRUPTIBLE 0x0002
#define MAPPING_FLAGS 3UL /* low bits of folio->mapping: anonymous, movable */
#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6
