//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Time that processes stall in direct reclaim and in compaction, and what comes back of what reclaim evicts. */
#include "process.bpf.h"
#include "twice.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

#include "refault.bpf.h"

enum kind { RECLAIM_HOST, RECLAIM_CGROUP, COMPACT, KINDS };

struct stall {
	u64 since[KINDS]; /* ns, 0 when not inside */
	u32 counted, pad; /* the last window that it counted in as one of its process's threads */
};
struct stalls {
	u64 ns[KINDS], count[KINDS];
	u64 pages[KINDS]; /* reclaimed */
	u32 kernel; /* a kernel thread: it works, it does not stall */
	u32 threads, window; /* that stalled in a window; which one that is */
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stall);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct stalls);
} stalls SEC(".maps");

u64 lost_tasks, lost_rows;
u32 window = 1; /* which one it is; the reader counts them */

static const struct stalls none;
static const struct stall no_stall;

FORGETS(tasks)

static __always_inline int begin(enum kind kind)
{
	struct stall *s = new_task_row(&tasks, current_task(), &no_stall);

	if (s)
		s->since[kind] = bpf_ktime_get_ns();
	else
		ADD(lost_tasks, 1);
	return 0;
}

static __always_inline int end(enum kind kind, u64 pages)
{
	struct task_struct *task = current_task();
	struct stall *s = task_row(&tasks, task);
	u32 tgid = TASK(task, tgid);
	struct stalls *row;

	if (!s || !s->since[kind])
		return 0; /* began before we looked */
	row = bpf_map_lookup_elem(&stalls, &tgid);
	if (!row) {
		bpf_map_update_elem(&stalls, &tgid, &none, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&stalls, &tgid);
		if (!row) {
			ADD(lost_rows, 1);
			return 0;
		}
		row->kernel = !!(TASK(task, flags) & PF_KTHREAD);
		note_process(task, tgid);
	}
	ADD(row->ns[kind], bpf_ktime_get_ns() - s->since[kind]);
	ADD(row->count[kind], 1);
	if (kind != COMPACT) /* 0, which the compiler would make an operation that older kernels lack */
		ADD(row->pages[kind], pages);
	s->since[kind] = 0;
	if (s->counted != window) {
		s->counted = window;
		if (row->window != window) {
			row->window = window;
			row->threads = 0;
		}
		ADD(row->threads, 1);
	}
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int COUNTING_TWICE(TWICE_RECLAIM, on_reclaim)
{
	return begin(RECLAIM_HOST);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int COUNTING_TWICE(TWICE_RECLAIM_END, on_reclaim_end, unsigned long pages)
{
	return end(RECLAIM_HOST, pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int COUNTING_TWICE(TWICE_CGROUP, on_cgroup_reclaim)
{
	return begin(RECLAIM_CGROUP);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int COUNTING_TWICE(TWICE_CGROUP_END, on_cgroup_reclaim_end, unsigned long pages)
{
	return end(RECLAIM_CGROUP, pages);
}

SEC("tp_btf/mm_compaction_begin")
int COUNTING_TWICE(TWICE_COMPACTION, on_compaction)
{
	return begin(COMPACT);
}

SEC("tp_btf/mm_compaction_end")
int COUNTING_TWICE(TWICE_COMPACTION_END, on_compaction_end)
{
	return end(COMPACT, 0);
}
