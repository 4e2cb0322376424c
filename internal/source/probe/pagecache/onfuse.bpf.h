/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Whether a thread sleeps in a call on an open file that a FUSE daemon serves. */
#pragma once

#include "compat.bpf.h"

#define FUSE_SUPER_MAGIC 0x65735546

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_struct___files {
	struct files_struct *files;
};
struct pt_regs___x86first {
	unsigned long di;
};
struct pt_regs___arm64first {
	u64 regs[1];
};
#pragma clang attribute pop

/* The first argument of the system call that a thread is in. */
static __always_inline u64 first_argument(struct task_struct *t)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86first) &&
	    bpf_core_field_exists(((struct pt_regs___x86first *)0)->di))
		return REG(struct pt_regs___x86first, regs, di);
	return BPF_CORE_READ((struct pt_regs___arm64first *)regs, regs[0]);
}

/*
 * Who waits for an answer of a FUSE daemon sleeps interruptibly, as who waits for
 * a pipe or a socket does: the kind of file tells them apart. Only asked of calls
 * whose first argument is a file.
 */
static __always_inline bool on_fuse(struct task_struct *t)
{
	struct files_struct *files = LOOSE(struct task_struct___files, (struct task_struct___files *)t)->files;
	u64 fd = first_argument(t);
	struct fdtable *table;
	struct file *file = 0;

	if (!files)
		return false;
	table = files->fdt;
	if (!table || fd >= table->max_fds)
		return false;
	bpf_probe_read_kernel(&file, sizeof(file), &table->fd[fd]);
	return file && READ(struct file, file, f_inode, i_sb, s_magic) == FUSE_SUPER_MAGIC;
}
