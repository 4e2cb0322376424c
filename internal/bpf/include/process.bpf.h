/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Who a process is: noted once, on first sight, since it may end any time. */
#pragma once

#include "compat.bpf.h"

struct process {
	u64 start; /* ns since boot */
	u64 memory_cgroup, io_cgroup; /* kernfs ids, 0 unknown */
	u32 kernel;
	u8 comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct process);
} processes SEC(".maps");

u64 lost_processes;

static __always_inline int note_leader(struct task_struct *leader, u32 tgid)
{
	struct process p = {}, *met;

	if (!leader)
		return 0;
	p.start = BPF_CORE_READ(leader, start_boottime);
	met = bpf_map_lookup_elem(&processes, &tgid);
	if (met && met->start == p.start) /* else one that ended, with the same id */
		return 0;
	p.kernel = !!(BPF_CORE_READ(leader, flags) & PF_KTHREAD);
	p.memory_cgroup = task_cgroup(leader, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	p.io_cgroup = task_cgroup(leader, bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id));
	bpf_core_read(&p.comm, sizeof(p.comm), &leader->comm);
	if (bpf_map_update_elem(&processes, &tgid, &p, BPF_ANY))
		__sync_fetch_and_add(&lost_processes, 1);
	return 0;
}

static __noinline __attribute__((unused)) int note_process(struct task_struct *t, u32 tgid)
{
	return note_leader(BPF_CORE_READ(t, group_leader), tgid);
}

/*
 * A process that was met goes by another name from here on: it executes
 * another program, or says so itself. A shell's child reads the program that
 * it is about to be while it is still called as the shell is.
 */
SEC("tp_btf/task_rename")
int COUNTING(on_rename, struct task_struct *task, const char *comm)
{
	struct process *p;
	u32 tgid = task->tgid;

	if (task->pid != tgid)
		return 0;
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (p)
		bpf_probe_read_kernel_str(p->comm, sizeof(p->comm), comm);
	return 0;
}
