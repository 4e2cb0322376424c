/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The path of a file: noted once, on first sight. */
#pragma once

#include "account.bpf.h"
#include "process.bpf.h"
#include "twice.bpf.h"

/*
 * As note_process does, of an address: functions that are not static the verifier looks at
 * once in a program, and not once for each way to them.
 */
__noinline int note_leader_once(u64 leader, u32 tgid)
{
	return note_leader((struct task_struct *)leader, tgid);
}

static __always_inline void note(struct task_struct *t, u32 tgid)
{
	note_leader_once((u64)BPF_CORE_READ(t, group_leader), tgid);
}

/* The names on the way from an inode up to its file system's root. */
__noinline int note_path(u64 inode, u64 ino, u64 dev)
{
	struct inode_key key = { .ino = ino, .dev = dev };
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
	path_of(p, (struct inode *)inode);
	if (bpf_map_update_elem(&paths, &key, p, BPF_NOEXIST))
		ADD(lost_paths, 1);
	p->busy = 0;
	return 0;
}
