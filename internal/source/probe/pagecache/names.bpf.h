/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Who and what: noted once, on first sight of a process or a file. */
#pragma once

#include "account.bpf.h"

static __noinline int note_process(struct task_struct *t, u32 tgid)
{
	struct process p = {};
	struct task_struct *leader;

	if (!t)
		return 0;
	if (bpf_map_lookup_elem(&processes, &tgid))
		return 0;
	leader = BPF_CORE_READ(t, group_leader);
	if (!leader)
		return 0;
	p.start = BPF_CORE_READ(leader, start_boottime);
	p.kernel = !!(BPF_CORE_READ(leader, flags) & PF_KTHREAD);
	p.memory_cgroup = task_cgroup(leader, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	p.io_cgroup = task_cgroup(leader, bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id));
	bpf_core_read(&p.comm, sizeof(p.comm), &leader->comm);
	if (bpf_map_update_elem(&processes, &tgid, &p, BPF_ANY))
		ADD(lost_accounts, 1);
	return 0;
}

struct walk {
	struct path *path;
	struct dentry *at;
};

static long path_step(u32 i, struct walk *w)
{
	struct dentry *at = w->at, *parent;
	struct path *p = w->path;
	const unsigned char *name;
	u32 length = p->length;
	long n;

	if (!at)
		return 1;
	parent = BPF_CORE_READ(at, d_parent);
	if (!parent || parent == at) {
		w->at = 0;
		return 1;
	}
	if (length >= PATH_BYTES)
		return 1;
	name = BPF_CORE_READ(at, d_name.name);
	n = bpf_probe_read_kernel_str(&p->names[length], 256, name);
	if (n > 0)
		p->length = length + n;
	w->at = parent;
	return 0;
}

/* The names on the way from an inode up to its file system's root. */
static __noinline int note_path(struct inode *inode, u64 ino, u64 dev)
{
	struct inode_key key = { .ino = ino, .dev = dev };
	struct walk w = {};
	struct path *p;
	u32 zero = 0;

	if (!inode)
		return 0;
	if (bpf_map_lookup_elem(&paths, &key))
		return 0;
	p = bpf_map_lookup_elem(&path_scratch, &zero);
	if (!p)
		return 0;
	if (__sync_lock_test_and_set(&p->busy, 1)) {
		ADD(lost_paths, 1);
		return 0;
	}
	p->length = 0;
	p->links = BPF_CORE_READ(inode, i_nlink);
	p->kind = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	p->rdev = BPF_CORE_READ(inode, i_rdev);
	w.path = p;
	w.at = inode_dentry(inode);
	if (w.at)
		bpf_loop(PATH_LEVELS, path_step, &w, 0);
	p->partial = !!w.at;
	if (bpf_map_update_elem(&paths, &key, p, BPF_NOEXIST))
		ADD(lost_paths, 1);
	p->busy = 0;
	return 0;
}
