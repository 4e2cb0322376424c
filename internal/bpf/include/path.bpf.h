/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The name of a file, from its inode up to its file system's root. */
#pragma once

#include "compat.bpf.h"

#define PATH_BYTES 768
#define PATH_LEVELS 20

struct path {
	u32 length; /* of names: leaf first, each ended by a NUL */
	u32 links;
	u32 partial; /* deeper or longer than what fits */
	u32 kind; /* i_mode's type bits */
	u32 busy; /* of a scratch copy: somebody was interrupted in it */
	u32 pad;
	u64 rdev;
	u8 names[PATH_BYTES + 256];
};

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

/* Fills in what is known of an inode's name. */
static __always_inline void path_of(struct path *p, struct inode *inode)
{
	struct walk w = { .path = p };

	p->length = 0;
	p->links = BPF_CORE_READ(inode, i_nlink);
	p->kind = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	p->rdev = BPF_CORE_READ(inode, i_rdev);
	w.at = inode_dentry(inode);
	if (w.at)
		LOOP(PATH_LEVELS, PATH_LEVELS, path_step, path_step, &w);
	p->partial = !!w.at;
}
