/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The fields of kernel structures that only the account of threads reads. */
#pragma once
#include "compat.bpf.h"
#include "iter.bpf.h"

#define MAP_RINGBUF 27 /* BPF_MAP_TYPE_RINGBUF */
#define RB_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP: nobody sleeps on the buffer */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rw_semaphore;
struct mm_struct {
	struct rw_semaphore {} mmap_lock;
};
struct sock_common {
	unsigned short skc_family;
};
struct sock {
	struct sock_common __sk_common;
};
struct socket {
	struct sock *sk;
};
struct file___threads {
	void *private_data;
	struct inode *f_inode;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct sched_entity {
	u64 sum_exec_runtime;
};
struct sched_info {
	u64 run_delay;
};
struct task_struct___threads {
	int on_cpu;
	int exit_state;
	unsigned long jobctl;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct files_struct *files;
	u64 utime;
	u64 stime;
};
struct pt_regs___x86args {
	unsigned long di, si, dx, orig_ax;
};
struct pt_regs___arm64args {
	u64 regs[8];
	s32 syscallno;
};

#pragma clang attribute pop

/* include/linux/sched.h */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_STOPPED 0x0004
#define STATE_TRACED 0x0008
#define STATE_PARKED 0x0040
#define STATE_DEAD 0x0080
#define STATE_NOLOAD 0x0400
#define STATE_FROZEN 0x8000
#define JOBCTL_TRAP_FREEZE (1UL << 23)

#define S_IFSOCK 0140000
#define S_IFIFO 0010000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define ANON_INODE_FS_MAGIC 0x09041934
#define AF_INET 2
#define AF_INET6 10
#define AF_VSOCK 40

/* What a thread in a system call gave it. */
struct call {
	s32 nr; /* -1: none, an exception */
	u64 arg[3];
};

static __always_inline void read_call(struct task_struct *t, struct call *c)
{
	void *regs = task_regs(t);

	if (bpf_core_type_exists(struct pt_regs___x86args) &&
	    bpf_core_field_exists(((struct pt_regs___x86args *)0)->orig_ax)) {
		struct pt_regs___x86args *r = regs;

		c->nr = (s32)REG(struct pt_regs___x86args, r, orig_ax);
		c->arg[0] = REG(struct pt_regs___x86args, r, di);
		c->arg[1] = REG(struct pt_regs___x86args, r, si);
		c->arg[2] = REG(struct pt_regs___x86args, r, dx);
		return;
	}
	c->nr = BPF_CORE_READ((struct pt_regs___arm64args *)regs, syscallno);
	c->arg[0] = BPF_CORE_READ((struct pt_regs___arm64args *)regs, regs[0]);
	c->arg[1] = BPF_CORE_READ((struct pt_regs___arm64args *)regs, regs[1]);
	c->arg[2] = BPF_CORE_READ((struct pt_regs___arm64args *)regs, regs[2]);
}
