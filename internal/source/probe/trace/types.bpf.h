/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What only this probe reads of the kernel's types, and small steps on it. */
#pragma once

#include "compat.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct bio___end {
	void *bi_end_io; /* a function */
	void *bi_private;
};
struct inode___generation {
	u32 i_generation;
};
struct cgroup___tree {
	int level;
	struct cgroup *ancestors[0]; /* since 7f203bc89eb6 (6.2) */
};
struct cgroup___ids { /* before that */
	u64 ancestor_ids[0];
};
struct bio___next {
	struct bio___next *bi_next;
};
struct iomap_dio {
	struct kiocb *iocb;
};
#pragma clang attribute pop

enum req_flag_bits___all {
	__REQ_SYNC___all = 11,
	__REQ_META___all = 12,
	__REQ_FUA___all = 17,
	__REQ_PREFLUSH___all = 18,
	__REQ_RAHEAD___all = 19,
	__REQ_BACKGROUND___all = 20,
	__REQ_POLLED___all = 22,
	__REQ_SWAP___all = 24,
};

#define REQ_OP_MASK 0xff

/* Flags that keep their value, whatever the kernel's numbers are. */
enum flag {
	FLAG_PREFLUSH = 1 << 8,
	FLAG_FUA = 1 << 9,
	FLAG_RAHEAD = 1 << 10,
	FLAG_SYNC = 1 << 11,
	FLAG_META = 1 << 12,
	FLAG_BACKGROUND = 1 << 13,
	FLAG_SWAP = 1 << 14,
	FLAG_POLLED = 1 << 15,
	FLAG_DIRECT = 1 << 16,
	FLAG_TASK_CGROUP = 1 << 17, /* event.cgroup is the task's, of the memory controller */
};

#define REQ_FLAG(name) (1U << bpf_core_enum_value(enum req_flag_bits___all, __REQ_##name##___all))

/* Before 6ce913fe3eee (5.16) there is no such flag. */
static __always_inline u32 flag_polled(void)
{
	u32 bit;

	if (!bpf_core_enum_value_exists(enum req_flag_bits___all, __REQ_POLLED___all))
		return 0;
	bit = bpf_core_enum_value(enum req_flag_bits___all, __REQ_POLLED___all);
	asm volatile("" : "+r"(bit)); /* else it is looked up in any case */
	return 1U << bit;
}

static __always_inline u32 flags_of(u32 from)
{
	u32 to = from & REQ_OP_MASK;

	if (from & REQ_FLAG(PREFLUSH))
		to |= FLAG_PREFLUSH;
	if (from & REQ_FLAG(FUA))
		to |= FLAG_FUA;
	if (from & REQ_FLAG(RAHEAD))
		to |= FLAG_RAHEAD;
	if (from & REQ_FLAG(SYNC))
		to |= FLAG_SYNC;
	if (from & REQ_FLAG(META))
		to |= FLAG_META;
	if (from & REQ_FLAG(BACKGROUND))
		to |= FLAG_BACKGROUND;
	if (from & REQ_FLAG(SWAP))
		to |= FLAG_SWAP;
	if (from & flag_polled())
		to |= FLAG_POLLED;
	return to;
}

static __always_inline int cgroup_level(struct cgroup *at)
{
	return BPF_CORE_READ((struct cgroup___tree *)at, level);
}

/* Whether a cgroup is the one of that level and id, or lies below it. */
static __always_inline bool cgroup_below(struct cgroup *at, u32 level, u64 id)
{
	struct cgroup *up = 0;
	u64 up_id = 0;

	if (!at || BPF_CORE_READ((struct cgroup___tree *)at, level) < (int)level)
		return false;
	if (bpf_core_field_exists(((struct cgroup___ids *)at)->ancestor_ids)) {
		bpf_probe_read_kernel(&up_id, sizeof(up_id),
				      (void *)at + bpf_core_field_offset(struct cgroup___ids, ancestor_ids) + 8ULL * level);
		return up_id == id;
	}
	bpf_probe_read_kernel(&up, sizeof(up),
			      (void *)at + bpf_core_field_offset(struct cgroup___tree, ancestors) + 8ULL * level);
	return up && BPF_CORE_READ(up, kn, id) == id;
}

static __always_inline struct cgroup *memory_cgroup(struct task_struct *t)
{
	u32 subsys = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = 0;
	struct css_set *set = BPF_CORE_READ(t, cgroups);

	if (!set || subsys >= 16)
		return 0;
	bpf_core_read(&css, sizeof(css), &set->subsys[subsys]);
	return css ? BPF_CORE_READ(css, cgroup) : 0;
}

