/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Whether a thread sleeps in a call on an open file that a server or a FUSE daemon has. */
#pragma once

#include "account.bpf.h"
#include "compat.bpf.h"

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

/* The open file that is the first argument of the call that a thread is in; 0 where that is none. */
static __always_inline struct file *file_called_on(struct task_struct *t)
{
	struct files_struct *files = LOOSE(struct task_struct___files, (struct task_struct___files *)t)->files;
	u64 fd = first_argument(t);
	struct fdtable *table;
	struct file *file = 0;

	if (!files)
		return 0;
	table = files->fdt;
	if (!table || fd >= table->max_fds)
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), &table->fd[fd]);
	return file;
}

static __always_inline struct inode *called_on(struct task_struct *t)
{
	struct file *file = file_called_on(t);

	return file ? READ(struct file, file, f_inode) : 0;
}

/* Whose answers a read of a file waits for, by its file system, as in mounts.Remote; FOR_CALL where it is a disk's, or none. */
static __always_inline u32 served_by(struct inode *inode)
{
	switch (inode ? (u32)READ(struct inode, inode, i_sb, s_magic) : 0) {
	case 0x65735546: /* FUSE, virtiofs */
		return FOR_FUSE;
	case 0x00006969: /* NFS */
	case 0x00c36400: /* Ceph */
	case 0x01021997: /* 9p */
	case 0x0bd00bd0: /* Lustre */
	case 0x19830326: /* BeeGFS */
	case 0x47504653: /* GPFS */
	case 0x5346414f: /* AFS */
	case 0x6b414653: /* AFS, the kernel's own */
	case 0xff534d42: /* SMB */
	case 0xfe534d42:
		return FOR_NETWORK;
	}
	return FOR_CALL;
}
