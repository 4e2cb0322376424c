/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a blocked thread waits for. docs/threads.md has the rules in words. */
#pragma once
#include "futex.bpf.h"
#include "rules.bpf.h"
#include "thread.bpf.h"

/* What a thread waits for that reads or writes such a file. */
static __always_inline u32 state_of_inode(struct file___threads *file, struct inode *inode)
{
	u16 type = BPF_CORE_READ(inode, i_mode) & S_IFMT, family;
	struct socket *socket;

	if (type == S_IFIFO)
		return IPC;
	if (type == S_IFSOCK) {
		socket = BPF_CORE_READ(file, private_data);
		family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);
		return family == AF_INET || family == AF_INET6 || family == AF_VSOCK ? NETWORK : IPC;
	}
	/* eventfd, timerfd, signalfd and inotify look like regular files since 6.16 */
	if (BPF_CORE_READ(inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC)
		return IDLE;
	if (type == S_IFREG || type == S_IFDIR || type == S_IFBLK)
		return FILESYSTEM; /* of FUSE: others sleep uninterruptibly */
	return IDLE; /* a terminal or another device */
}

/*
 * The open file behind a descriptor. It is remembered for a while, because a
 * thread often waits for the same one, and each look costs five reads.
 */
#define REMEMBER_NS 100000000ULL
static __always_inline u32 state_of_file(struct task_struct *t, struct thread *s, const struct call *c, u64 now)
{
	struct files_struct *files = LOOSE(struct task_struct___threads, (struct task_struct___threads *)t)->files;
	u64 call = (u64)c->nr << 32 | (u32)c->arg[0];
	struct file___threads *file = 0;
	struct inode *inode;
	struct fdtable *table;
	struct file **all;

	if (s->file_call == call && now - s->file_at < REMEMBER_NS)
		return s->file_state;
	if (!files)
		return OTHER;
	table = files->fdt;
	if (!table || c->arg[0] >= table->max_fds)
		return OTHER;
	all = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), &all[c->arg[0]]);
	if (!file)
		return OTHER;
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode)
		return OTHER;
	s->file_call = call;
	s->file_at = now;
	s->file_state = state_of_inode(file, inode);
	return s->file_state;
}

static __always_inline u32 state_of_futex(const struct call *c)
{
	return contended_mutex(c->arg[1], c->arg[2]) ? MUTEX : FUTEX;
}

static __always_inline u32 class_of(s32 nr)
{
	u64 slot = nr;

	if (nr < 0 || nr >= CALLS)
		return CALL_OTHER;
	/* else the compiler drops the bound that the verifier wants */
	asm volatile("" : "+r"(slot));
	return call_class[slot & (CALLS - 1)];
}

/*
 * What a thread that is blocked waits for. how is its __state. The stack is
 * taken of those that sleep uninterruptibly for no other known reason; ctx is 0
 * when it is another thread's.
 */
static __always_inline u32 state_of_wait(void *ctx, struct task_struct *t, struct thread *s, u32 how, u64 now)
{
	struct call c = { .nr = 0 };
	bool kernel = t->flags & PF_KTHREAD, io;
	u32 state, zero = 0;
	struct stack *k;
	long n;

	if (how & (STATE_STOPPED | STATE_TRACED | STATE_FROZEN))
		return STOPPED;
	if (s->pausing)
		return DIRTY_PAUSE;
	if (s->reclaim)
		return RECLAIM;
	if (s->lock)
		return s->lock;
	if (how & (STATE_NOLOAD | STATE_PARKED))
		return IDLE;
	io = BPF_CORE_READ_BITFIELD(t, in_iowait);
	if (!kernel) {
		read_call(t, &c);
		if (c.nr < 0 && io)
			return FAULT_DISK;
	}
	if (io)
		return DISK;
	if (how & STATE_UNINTERRUPTIBLE) {
		k = bpf_map_lookup_elem(&stacks, &zero);
		if (k) {
			n = ctx ? bpf_get_stack(ctx, k, sizeof(*k), 0) : bpf_get_task_stack(t, k, sizeof(*k), 0);
			state = n > 0 ? class_of_stack(n / 8) : UNSEEN;
			if (state)
				return state;
		}
		return c.nr < 0 ? FAULT : OTHER;
	}
	if (kernel)
		return IDLE;
	if (((struct task_struct___threads *)t)->jobctl & JOBCTL_TRAP_FREEZE)
		return STOPPED;
	if (c.nr < 0)
		return FAULT;
	switch (class_of(c.nr)) {
	case CALL_IDLE:
		return IDLE;
	case CALL_FUTEX:
		return state_of_futex(&c);
	case CALL_FUTEX_NEW: /* its arguments are other ones */
		return FUTEX;
	case CALL_LOCK:
		return MUTEX;
	case CALL_DISK:
		return DISK;
	case CALL_IPC:
		return IPC;
	case CALL_FILE:
		return state_of_file(t, s, &c, now);
	}
	return OTHER;
}
