/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How long the reads and syncs took that a task waited in, from its first wait in
 * the call to the end of its last. A program at the end of each system call would
 * cost all calls too much, so a wait must tell by itself whether it is in the same
 * call as the one before. The task's own counters do: each read(2) and write(2)
 * that ends is one more in its account of I/O. Between two syncs a program mostly
 * writes, faults in a page that was written back, or goes to sleep for more work.
 */
#pragma once

#include "served.bpf.h"

#define O_DSYNC 00010000
#define EXT4_MAGIC 0xef53
#define XFS_MAGIC 0x58465342

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct file___flags {
	unsigned int f_flags;
};
struct task_io_accounting___calls {
	u64 syscr, syscw;
};
struct task_struct___calls {
	unsigned long nvcsw, min_flt, maj_flt;
	struct task_io_accounting___calls ioac;
};
#pragma clang attribute pop

/* The call is over: it goes to its process. */
static __noinline int close_call(struct task_struct *task, struct task *t)
{
	struct timed_key key = {};
	struct timed_calls *row;
	u64 from, ns;

	if (!t || !t->timed.from)
		return 0;
	from = EXCHANGE(&t->timed.from, 0); /* or the end of a window on another processor has it, too */
	if (!from || from == NO_CALL || t->timed.until <= from)
		return 0;
	ns = t->timed.until - from;
	key.tgid = TASK(task, tgid);
	key.kind = t->timed.kind;
	row = bpf_map_lookup_elem(&timed, &key);
	if (!row) {
		bpf_map_update_elem(&timed, &key, &no_timed_calls, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&timed, &key);
	}
	if (row) {
		ADD(row->ns, ns);
		ADD(row->slots[hist_slot(ns)], 1);
	} else {
		ADD(lost_timed, 1);
	}
	return 0;
}

/* Whether the call that it waits in is timed: a read, a sync, or a write to a file that is open so. */
static __always_inline bool is_timed(struct task_struct *task, u32 class, struct file *file)
{
	u64 nr;

	if (class != WAIT_READ)
		return class == WAIT_SYNC || (class == WAIT_WRITE && file && READ(struct file___flags, file, f_flags) & O_DSYNC);
	nr = task_syscall(task);
	if (nr >= SYSCALLS)
		return false;
	asm volatile("" : "+r"(nr));
	/* of splice(2) and its kin the account of I/O has no number */
	return syscall_way[nr & (SYSCALLS - 1)] == WAY_READ;
}

/*
 * Whether what a sync waits for next is the begin of another one: these file systems
 * first write the file's pages, and then the journal, or have the device flush.
 */
static __always_inline bool begins_anew(struct task *t, struct inode *inode)
{
	u32 before = t->timed.what, magic;

	if (t->off_for != FOR_WRITEBACK || (before != FOR_COMMIT && before != FOR_FLUSH))
		return false;
	magic = READ(struct inode, inode, i_sb, s_magic);
	return magic == EXT4_MAGIC || magic == XFS_MAGIC;
}

/*
 * A task begins to wait, for t->off_for in a call of t->off_class: as numbers of the
 * map, of which the verifier looks at all values at once. now is 0 where it waits since
 * before it was looked at. Inside a sync each sleep is a wait that is counted, so that
 * another sleep shows that a call ended.
 */
static __noinline int wait_in_call(struct task_struct *task, struct task *t, u64 now)
{
	struct task_struct___calls *of = LOOSE(struct task_struct___calls, (struct task_struct___calls *)task);
	u64 mark, sleeps, slept = 0;
	struct file *file = 0;
	struct inode *inode;
	u32 class;

	if (!t || !bpf_core_field_exists(of->ioac.syscr))
		return 0;
	class = t->off_class;
	if (class == WAIT_SYNC || class == WAIT_WRITE)
		file = file_called_on(task);
	sleeps = of->nvcsw;
	mark = of->ioac.syscr + of->ioac.syscw + class;
	if (class == WAIT_SYNC) {
		slept = sleeps - t->timed.sleeps - 1;
		mark += of->min_flt + of->maj_flt + (first_argument(task) << 40);
		inode = file ? READ(struct file, file, f_inode) : 0;
		if (inode) {
			mark += as_number((u64)inode);
			if (begins_anew(t, inode))
				slept = mark;
		}
	}
	mark = is_timed(task, class, file) ? mark << 1 | 1 : 0;
	if (!slept && mark == t->timed.mark && t->timed.from) {
		t->timed.sleeps = sleeps;
		t->timed.what = t->off_for;
		return 0;
	}
	t->timed.mark = mark;
	t->timed.sleeps = sleeps;
	t->timed.what = t->off_for;
	close_call(task, t);
	if (!t->timed.mark)
		return 0;
	t->timed.kind = t->off_class == WAIT_READ ? TIMED_READ : TIMED_SYNC;
	t->timed.until = 0;
	t->timed.from = now ? now : NO_CALL;
	return 0;
}
