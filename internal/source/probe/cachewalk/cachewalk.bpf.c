//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Which files have pages in the cache: a walk over the inodes of every super
 * block, closed and deleted files included. Nothing is locked. The reader calls
 * the walk again and again, a few thousand inodes at a time, so that no
 * processor is held for longer than about a millisecond; in between, the place
 * may be lost, and that is noticed and told.
 */
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CHUNK 2048
#define BATCH 64
#define PATH_BYTES 4096
#define PATH_LEVELS 128

enum outcome {
	MORE = 0,
	ALL = 1,
	LOST_INODE = 2, /* it left its list: begin this super block again */
	LOST_SUPER = 3, /* it left its list: begin everything again */
};

void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct list_head {
	struct list_head *next, *prev;
};
struct super_block___walk {
	struct list_head s_list;
	u32 s_dev;
	unsigned long s_magic;
	struct list_head s_inodes;
};
struct rb_node;
struct rb_root {
	struct rb_node *rb_node;
};
struct rb_root_cached {
	struct rb_root rb_root;
};
struct address_space___walk {
	struct inode *host;
	struct rb_root_cached i_mmap;
	unsigned long nrpages;
};
struct inode___walk {
	struct super_block___walk *i_sb;
	struct list_head i_sb_list;
	struct address_space___walk i_data;
};
struct file___walk {
	struct address_space___walk *f_mapping;
};
struct vfsmount {
	struct super_block___walk *mnt_sb;
};
struct path {
	struct vfsmount *mnt;
};
struct fs_struct {
	struct path root;
};
struct task_struct___walk {
	struct fs_struct *fs;
};
struct bpf_iter_meta {
	u64 session_id;
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
#pragma clang attribute pop

/* Where the walk is. Addresses are those of list entries. */
struct place {
	u64 first;  /* the super block that it began with, 0 to begin */
	u64 super;  /* the one that it is in */
	u64 inode;  /* the next one, 0 to enter the super block */
	u64 inodes; /* looked at by this call */
	u32 supers; /* entered by this call */
	u32 found;  /* records written by this call */
	u32 dev;
	u32 outcome;
	u64 ns; /* that this call kept its processor */
};

struct record {
	u64 address;
	u64 ino, size, pages;
	u64 magic;
	u32 dev, rdev;
	u32 mode, links;
	u32 mapped;
	u32 pid; /* of one process that has it open, 0 for none */
};

struct name {
	u64 address, ino;
	u32 dev;
	u32 length;
	u32 same;    /* it is still the same file */
	u32 partial; /* the way to the root is longer than there is room */
	u8 names[PATH_BYTES + 256];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1024 /* BPF_F_MMAPABLE */);
	__uint(max_entries, CHUNK);
	__type(key, u32);
	__type(value, struct record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1024 /* BPF_F_MMAPABLE */);
	__uint(max_entries, BATCH);
	__type(key, u32);
	__type(value, struct name);
} names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u32);
} openers SEC(".maps");

struct place at; /* between calls it is the reader's */
u64 lost_openers;

static __always_inline u64 next_of(u64 node)
{
	u64 next = 0;

	bpf_probe_read_kernel(&next, sizeof(next), (void *)(node + bpf_core_field_offset(struct list_head, next)));
	return next;
}

static __always_inline u64 prev_of(u64 node)
{
	u64 prev = 0;

	bpf_probe_read_kernel(&prev, sizeof(prev), (void *)(node + bpf_core_field_offset(struct list_head, prev)));
	return prev;
}

static __always_inline struct super_block___walk *super_of(u64 node)
{
	return (void *)(node - bpf_core_field_offset(struct super_block___walk, s_list));
}

static __always_inline u64 inodes_of(u64 node)
{
	return (u64)super_of(node) + bpf_core_field_offset(struct super_block___walk, s_inodes);
}

static __always_inline u64 inode_of(u64 node)
{
	return node - bpf_core_field_offset(struct inode___walk, i_sb_list);
}

/*
 * BPF_CORE_READ takes every member access in its arguments for one of the
 * kernel's, ours included: those come first, into variables.
 */
static __always_inline void note(u64 address, u64 pages)
{
	struct inode___walk *w = (void *)address;
	struct inode *inode = (void *)address;
	u32 key = at.found, *pid;
	struct super_block___walk *super = super_of(at.super);
	struct record *r = bpf_map_lookup_elem(&records, &key);

	if (!r)
		return;
	r->address = address;
	r->pages = pages;
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->size = BPF_CORE_READ(inode, i_size);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->links = BPF_CORE_READ(inode, i_nlink);
	r->rdev = BPF_CORE_READ(inode, i_rdev);
	r->dev = at.dev;
	r->magic = BPF_CORE_READ(super, s_magic);
	r->mapped = !!BPF_CORE_READ(w, i_data.i_mmap.rb_root.rb_node);
	pid = bpf_map_lookup_elem(&openers, &address);
	r->pid = pid ? *pid : 0;
	at.found++;
}

static long step(u32 i, void *none)
{
	struct super_block___walk *super = super_of(at.super);
	u64 head, next, address, pages;

	if (!at.inode) {
		head = inodes_of(at.super);
		next = next_of(head);
		/* the head of the list of super blocks is none itself */
		if (next && prev_of(next) == head) {
			at.supers++;
			at.dev = BPF_CORE_READ(super, s_dev);
			at.inode = next;
			return 0;
		}
	} else if (at.inode != inodes_of(at.super)) {
		address = inode_of(at.inode);
		pages = BPF_CORE_READ((struct inode___walk *)address, i_data.nrpages);
		next = next_of(at.inode);
		if (!next || next == at.inode) {
			at.outcome = LOST_INODE;
			return 1;
		}
		at.inodes++;
		if (pages)
			note(address, pages);
		at.inode = next;
		return 0;
	}
	next = next_of(at.super);
	if (!next || next == at.super) {
		at.outcome = LOST_SUPER;
		return 1;
	}
	at.super = next;
	at.inode = 0;
	if (next == at.first) {
		at.outcome = ALL;
		return 1;
	}
	return 0;
}

/* Whether the list entries that the last call ended at are still in their lists. */
static __always_inline u32 still_there(void)
{
	struct super_block___walk *super = super_of(at.super);
	struct inode___walk *inode = (void *)inode_of(at.inode);
	u64 next = next_of(at.super);

	if (!next || prev_of(next) != at.super)
		return LOST_SUPER;
	if (!at.inode || at.inode == inodes_of(at.super))
		return MORE;
	if (BPF_CORE_READ(super, s_dev) != at.dev)
		return LOST_SUPER;
	next = next_of(at.inode);
	if (!next || prev_of(next) != at.inode || BPF_CORE_READ(inode, i_sb) != super)
		return LOST_INODE;
	return MORE;
}

SEC("syscall")
int walk(void *none)
{
	struct task_struct___walk *t;
	u64 began = bpf_ktime_get_ns();

	at.inodes = at.supers = at.found = at.outcome = 0;
	bpf_rcu_read_lock();
	if (!at.first) {
		t = (void *)bpf_get_current_task();
		at.first = (u64)BPF_CORE_READ(t, fs, root.mnt, mnt_sb) +
			   bpf_core_field_offset(struct super_block___walk, s_list);
		at.super = at.first;
		at.inode = 0;
	} else {
		at.outcome = still_there();
	}
	if (at.outcome == MORE)
		bpf_loop(CHUNK, step, 0, 0);
	bpf_rcu_read_unlock();
	at.ns = bpf_ktime_get_ns() - began;
	return 0;
}

struct climb {
	struct name *name;
	struct dentry *at;
};

static long climb_step(u32 i, struct climb *c)
{
	struct dentry *at = c->at, *parent;
	struct name *n = c->name;
	u32 length = n->length;
	long got;

	if (!at)
		return 1;
	parent = BPF_CORE_READ(at, d_parent);
	if (!parent || (parent == at && length)) {
		c->at = 0;
		return 1;
	}
	if (length >= PATH_BYTES)
		return 1;
	/* a file that is its own root (memfd, System V shared memory) has a name */
	got = bpf_probe_read_kernel_str(&n->names[length], 256, BPF_CORE_READ(at, d_name.name));
	if (got > 0)
		n->length = length + got;
	c->at = parent == at ? 0 : parent;
	return 0;
}

static long name_step(u32 i, void *none)
{
	struct name *n = bpf_map_lookup_elem(&names, &i);
	struct climb c = {};
	struct inode *inode;

	if (!n || !n->address)
		return 1;
	inode = (void *)n->address;
	n->length = 0;
	n->partial = 0;
	n->same = BPF_CORE_READ(inode, i_ino) == n->ino && BPF_CORE_READ(inode, i_sb, s_dev) == n->dev;
	if (!n->same)
		return 0;
	c.name = n;
	c.at = inode_dentry(inode);
	if (c.at)
		bpf_loop(PATH_LEVELS, climb_step, &c, 0);
	n->partial = !!c.at;
	return 0;
}

SEC("syscall")
int find_names(void *none)
{
	bpf_rcu_read_lock();
	bpf_loop(BATCH, name_step, 0, 0);
	bpf_rcu_read_unlock();
	return 0;
}

SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct file___walk *file = (void *)ctx->file;
	struct task_struct *task = ctx->task;
	u64 address;
	u32 pid;

	if (!file || !task)
		return 0;
	address = (u64)BPF_CORE_READ(file, f_mapping, host);
	pid = BPF_CORE_READ(task, tgid);
	if (address && bpf_map_update_elem(&openers, &address, &pid, BPF_ANY))
		__sync_fetch_and_add(&lost_openers, 1);
	return 0;
}
