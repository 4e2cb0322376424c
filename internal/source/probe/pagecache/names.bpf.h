/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The path of a file: noted once, on first sight. */
#pragma once

#include "account.bpf.h"
#include "process.bpf.h"

struct walk {
	struct path *path;
	struct dentry *at;
};

static long path_step(u32 i, struct walk *w)
{
	struct dentry *at = w->at, *parent;
	struct path *p = w->path;
	const unsigned char *name;
	u64 length;
	long n;

	if (!at)
		return 1;
	parent = BPF_CORE_READ(at, d_parent);
	if (!parent || parent == at) {
		w->at = 0;
		return 1;
	}
	name = BPF_CORE_READ(at, d_name.name);
	/* read here and again below: of a value that was kept on the stack older
	 * verifiers (6.1) forget that it was compared */
	length = p->length;
	if (length >= PATH_BYTES)
		return 1;
	n = bpf_probe_read_kernel_str(&p->names[length], 256, name);
	if (n > 0)
		p->length += n;
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
	if (EXCHANGE(&p->busy, 1)) {
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
		LOOP(PATH_LEVELS, PATH_LEVELS, path_step, path_step, &w);
	p->partial = !!w.at;
	if (bpf_map_update_elem(&paths, &key, p, BPF_NOEXIST))
		ADD(lost_paths, 1);
	p->busy = 0;
	return 0;
}
