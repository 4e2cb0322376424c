//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What every thread has used since it began, one record each. */
#include "compat.bpf.h"
#include "iter.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_io_accounting {
	u64 rchar, wchar;
	u64 read_bytes, write_bytes;
};
struct sched_entity {
	u64 sum_exec_runtime;
};
struct sched_info {
	u64 run_delay;
};
struct task_delay_info {
	u64 blkio_delay;
};
struct signal_struct {
	u64 utime, stime;
	unsigned long long sum_sched_runtime;
	unsigned long maj_flt;
	struct task_io_accounting ioac;
};
struct task_struct___tasks {
	struct sched_entity se;
	struct sched_info sched_info;
	u64 utime, stime;
	unsigned long maj_flt;
	struct signal_struct *signal;
	struct task_struct *real_parent;
	struct task_io_accounting ioac;
	struct task_delay_info *delays;
	int on_cpu;
	unsigned in_iowait : 1;
};
enum cgroup_subsys_id___cpu {
	cpu_cgrp_id = 0x7001,
};

#pragma clang attribute pop

/* What a record has figures of. */
enum {
	HAS_CHARS = 1,
	HAS_BYTES = 2,
	HAS_RUN_DELAY = 4,
	HAS_BLKIO_DELAY = 8,
	KERNEL_THREAD = 16,
	RUNNING = 32, /* on a processor: what it runs is counted at its next tick or switch */
	BLOCKED = 64, /* it sleeps and no signal but a deadly one wakes it: for I/O, a lock of the kernel, a commit */
	FOR_IO = 128, /* the kernel takes that for a wait for I/O (io_schedule) */
};

/* The record of a process's first thread has what its ended threads did, too,
   where the kernel keeps that: not of the delays. And what the children that it
   waited for ever read and wrote. */
struct row {
	u32 tid, tgid;
	u64 start; /* ns since boot */
	u64 read_chars, write_chars, read_bytes, write_bytes;
	u64 user, system; /* ns, as the timer's ticks share out */
	u64 runtime;      /* ns, the scheduler's exact account */
	u64 major_faults;
	u64 run_delay, blkio_delay; /* ns, of this thread alone */
	u64 memory_cgroup, io_cgroup, cpu_cgroup; /* kernfs ids, 0 unknown; of first threads */
	u8 comm[16];
	u32 flags;
	u32 parent; /* process that waits for this one, of first threads */
};

/* Threads alone: what the record of a process's first thread has of those that
   ended before is left out. */
const volatile bool alone;

struct thread {
	u32 tid, tgid;
	u64 start;
};

/* Threads that ended, until the reader takes them out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct thread);
	__type(value, struct row);
} ended SEC(".maps");

u64 lost_ended; /* threads that ended while the map was full */

/* State D of ps(1). What is frozen sleeps so too and waits for nothing: it has a
   state of its own since f5d39b020809 (6.1), a flag before. */
static __always_inline bool blocks(struct task_struct *t)
{
	enum { NOLOAD = 0x400, FROZEN = 0x8000, PF_FROZEN = 0x10000 };
	u32 state = task_state(t);

	return state & TASK_UNINTERRUPTIBLE && !(state & (NOLOAD | FROZEN)) && !(t->flags & (PF_KTHREAD | PF_FROZEN));
}

static __always_inline void fill(struct row *r, struct task_struct *t)
{
	struct task_struct___tasks *x = (void *)t;

	r->tid = t->pid;
	r->tgid = t->tgid;
	r->start = t->start_boottime;
	r->user = x->utime;
	r->system = x->stime;
	r->runtime = x->se.sum_exec_runtime;
	r->major_faults = x->maj_flt;
	if (t->flags & PF_KTHREAD)
		r->flags |= KERNEL_THREAD;
	if (bpf_core_field_exists(x->on_cpu) && BPF_CORE_READ_BITFIELD(x, on_cpu)) /* CONFIG_SMP; of one byte since 7.2 */
		r->flags |= RUNNING;
	if (blocks(t)) {
		r->flags |= BLOCKED;
		if (BPF_CORE_READ_BITFIELD(x, in_iowait))
			r->flags |= FOR_IO;
	}
	if (bpf_core_field_exists(x->ioac.rchar)) { /* CONFIG_TASK_XACCT */
		r->flags |= HAS_CHARS;
		r->read_chars = x->ioac.rchar;
		r->write_chars = x->ioac.wchar;
	}
	if (bpf_core_field_exists(x->ioac.read_bytes)) { /* CONFIG_TASK_IO_ACCOUNTING */
		r->flags |= HAS_BYTES;
		r->read_bytes = x->ioac.read_bytes;
		r->write_bytes = x->ioac.write_bytes;
	}
	if (bpf_core_field_exists(x->sched_info.run_delay)) { /* CONFIG_SCHED_INFO */
		r->flags |= HAS_RUN_DELAY;
		r->run_delay = x->sched_info.run_delay;
	}
	if (t->pid != t->tgid)
		return;
	r->memory_cgroup = task_cgroup(t, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	r->io_cgroup = task_cgroup(t, bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id));
	r->cpu_cgroup = task_cgroup(t, bpf_core_enum_value(enum cgroup_subsys_id___cpu, cpu_cgrp_id));
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), t->comm);
}

SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct___tasks *x;
	struct task_struct *t = ctx->task;
	struct signal_struct *dead;
	struct task_struct *parent;
	struct row r = {};

	if (!t || !t->pid)
		return 0;
	x = LOOSE(struct task_struct___tasks, (void *)t);
	fill(&r, t);
	if (bpf_core_field_exists(x->delays)) { /* CONFIG_TASK_DELAY_ACCT */
		struct task_delay_info *d = x->delays;

		if (d) {
			r.flags |= HAS_BLKIO_DELAY;
			r.blkio_delay = d->blkio_delay;
		}
	}
	dead = t->pid == t->tgid && !alone ? x->signal : 0;
	if (dead) {
		r.user += dead->utime;
		r.system += dead->stime;
		r.runtime += dead->sum_sched_runtime;
		r.major_faults += dead->maj_flt;
		if (bpf_core_field_exists(x->ioac.rchar)) {
			r.read_chars += dead->ioac.rchar;
			r.write_chars += dead->ioac.wchar;
		}
		if (bpf_core_field_exists(x->ioac.read_bytes)) {
			r.read_bytes += dead->ioac.read_bytes;
			r.write_bytes += dead->ioac.write_bytes;
		}
		parent = x->real_parent;
		if (parent)
			r.parent = parent->tgid;
	}
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/*
 * When the last time on the processor is counted: at sched_process_exit a short
 * process still lacks most of it, and has its memory to give back. Its delays are
 * freed by now, and its signal_struct is not its own any more.
 */
SEC("tp_btf/sched_process_free")
int COUNTING(on_free, struct task_struct *t)
{
	struct thread k = {};
	struct row r = {};

	fill(&r, t);
	k.tid = r.tid;
	k.tgid = r.tgid;
	k.start = r.start;
	if (bpf_map_update_elem(&ended, &k, &r, BPF_ANY))
		__sync_fetch_and_add(&lost_ended, 1);
	return 0;
}
