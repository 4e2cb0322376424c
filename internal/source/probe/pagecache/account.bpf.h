/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What is counted, where it is kept, and the small arithmetic on it. */
#pragma once

#include "event.bpf.h"
#include "hist.bpf.h"
#include "kprobe.bpf.h"
#include "path.bpf.h"

#define FOLIO_PAGES 512 /* in the largest folio that is mapped at once, with pages of 4 KiB */
#define CHUNK_SHIFT 6 /* 64 pages share one bitmap */
#define SCAN_PAGES 512 /* pages ahead of a batch that are looked at with it; the rest later */
#define MAX_CHUNKS 512 /* bitmaps in one walk: 128 MiB */
#define MOST_WALKS 17 /* of a call: the kernel reads 2 GiB at most at a time */
#define FLUSH_CALLS 256 /* calls kept in the task before they are published */
#define FLUSH_TICKS 64 /* ... or that many jiffies */
#define NO_SCAN (~0ULL)
#define NO_CALL (~0ULL)

/* What a task waits in, told by its system call (filled in by the loader). */
enum wait_class {
	WAIT_OTHER,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_SYNC,
	WAIT_FAULT,
	WAIT_ASYNC, /* for I/O that was submitted before, and is in flight */
	WAIT_NAMES, /* a call that looks files up by name, or lists them */
	WAIT_DOZE, /* as WAIT_ASYNC, and whether any is in flight the kernel does not say: no wait for sure */
	WAIT_FLOCK, /* for a lock of a file: no wait for I/O */
	WAIT_UNNAMED, /* uninterruptibly, in functions that no rule names: for I/O, or for anything else */
	WAIT_CLASSES
};

/* What a task waits for, told by the kernel functions it sleeps in (rules.bpf.h). */
enum wait_for { FOR_CALL, FOR_PAGE, FOR_METADATA, FOR_WRITEBACK, FOR_COMMIT, FOR_FLUSH, FOR_QUEUE, FOR_DIRECT, FOR_NETWORK, FOR_FUSE, FOR_SWAP, FOR_JOURNAL, FOR_LIMIT, FOR_SPACE, FOR_PERMIT, FORS };
#define SYSCALLS 512
const volatile u8 syscall_class[SYSCALLS];

/* The way that data is read through the cache, by system call too. */
enum way { WAY_READ, WAY_SPLICE, WAY_COPY, WAY_AIO, WAY_URING, WAY_KERNEL, WAYS };
const volatile u8 syscall_way[SYSCALLS];

struct file_key {
	u64 ino;
	u32 dev;
	u32 tgid;
};

/* One process and file. All but wait and bytes are pages or events. */
struct account {
	u64 accesses, calls; /* pages asked of the cache by read calls, and the calls */
	u64 misses; /* of the accesses: the page had come from disk since it was last used */
	u64 mapped_misses; /* the same, first used through a mapping */
	u64 demand; /* inserted because a read had to have them */
	u64 inserted, write_alloc; /* pages put in; of these, for a write */
	u64 wasted; /* dropped before anybody used them */
	u64 evicted; /* dropped by this process's reclaim */
	u64 dropped; /* by its request: the file has them still, and nobody needed the memory */
	u64 reread; /* inserted again after an eviction that we saw */
	u64 faults, major;
	u64 dirtied;
	u64 wait; /* ns blocked in the kernel's I/O wait for this file */
	u64 slow; /* accesses that waited slow_ns or longer */
	u64 longest, longest_window; /* ns; and the window that it was in */
	u64 direct_reads, direct_read_bytes, direct_writes, direct_write_bytes;
	u64 size; /* bytes, the newest seen */
	u64 way_accesses[WAYS], way_misses[WAYS];
};

struct sums {
	u64 accesses, calls, misses, mapped_misses, inserted, write_alloc, wasted, evicted, reread;
};

/* The calls that are timed, see calls.bpf.h. */
enum timed { TIMED_READ, TIMED_SYNC };

/* The one that a task waits in, or waited in last. */
struct timed_call {
	u64 from; /* ns: when its first wait began; 0 for none, NO_CALL where that was not seen */
	u64 until; /* ns: when its last one ended */
	u64 mark; /* tells it from other calls, 0 for one that is not timed */
	u64 sleeps; /* of the task in its life, up to the last wait in it */
	u32 kind, what;
};

/* What is not published yet of the file that a task reads, and where it stands. */
struct task {
	u64 file; /* file_hash, 0 before the first read */
	u64 index, last; /* the range of the newest event, unclamped */
	u64 come; /* where that call is known to have come to, or the next, which ends at silent and made no event yet */
	u64 silent;
	u64 scan; /* first page of that call not looked at for cold pages */
	u64 call_from, call_misses; /* its first page, and its cold ones so far */
	u64 eof; /* last page of the file */
	u64 request; /* length of that call in pages */
	u64 end; /* last page that it asks for, and reads that it stands for, where got_pages counts */
	u64 each;
	u64 ra_file, ra_index, ra_last; /* newest synchronous read-ahead */
	u64 need_file, need_index, need_end; /* what that read-ahead had to fetch */
	u64 fault_file, fault_index; /* newest fault that may turn out major */
	u64 mapped_file, mapped_next; /* the page behind those that were mapped last */
	u64 accesses, misses, calls, jiffies;
	u64 size;
	u64 off; /* when it began to wait, 0 when it does not */
	u64 off_queued; /* how long it had queued for processors in its life then */
	u64 pending, charged; /* waited since the last event that told of a file; of that, charged to one already */
	u64 found; /* where a walk over bitmaps counts */
	u32 off_class, off_for;
	u32 pausing; /* inside balance_dirty_pages */
	u32 waited; /* counted in waits.threads */
	u32 way; /* of what is not published */
	u32 off_dev; /* of the file system whose answer it waits for, 0 where that is not known */
	struct file_key key;
	/* while reads are sampled, see sampled.bpf.h; calls are the kernel's count */
	u64 seen; /* calls that are counted or owed, with the one under way */
	u64 debt; /* calls that nobody looked at, to be counted yet */
	u64 extra; /* that each call pays of it */
	u64 slice; /* number of the slice that it was last seen in; 0 when all are counted */
	u64 watched; /* calls in that slice */
	u64 all_watched, all_reads, all_pages; /* calls, of them reads of the cache, and pages, of late */
	u64 by_time; /* in this slice: what it called before is not known */
	struct called called; /* by kprobes, and where buffered reads end */
	u64 wanted, dropped; /* bytes that such a read asked for, and pages dropped that it had copied */
	struct noted noted; /* by events only */
	struct timed_call timed;
};

struct chunk_key {
	u64 file, chunk;
};
struct chunk {
	u64 fresh; /* inserted and not used since */
	u64 evicted; /* reclaimed and not inserted since */
};

struct wait_times {
	u64 ns[WAIT_CLASSES];
	u64 for_ns[FORS]; /* of that, by what is waited for */
	u64 flocks; /* waits for locks of files */
	u64 pause_ns, pauses; /* dirty throttling */
	u64 threads; /* that waited at least once */
	/* of its threads, from spans.bpf.h: added to when a window or a thread ends */
	u64 awake_ns; /* on a processor, queueing for one, or waiting */
	u64 weighted_ns; /* waiting, each thread's times the share of its awake time that it is */
	u64 held, ran; /* in the window: threads held up, and that did anything */
	u64 worst_ns; /* in the window: waiting of the thread with most of it */
	u64 spans_window; /* that window */
	u64 window; /* the last window that ended with the process alive */
};

struct timed_key {
	u32 tgid, kind;
};
struct timed_calls {
	u64 ns; /* together */
	u64 slots[HIST_SLOTS];
};

struct inode_key {
	u64 ino;
	u64 dev;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, struct account);
} accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 18);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct chunk_key);
	__type(value, struct chunk);
} chunks SEC(".maps");

/* Fresh pages per hash of the file: lets reads of a cached file skip the bitmaps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, u64);
} fresh_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct wait_times);
} waits SEC(".maps");

/* Only processes that read from devices or sync have rows. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct timed_key);
	__type(value, struct timed_calls);
} timed SEC(".maps");

/* How long processes waited for answers in calls on files of a server or a daemon, ns. */
struct asked_key {
	u32 tgid, dev;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct asked_key);
	__type(value, u64);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct inode_key);
	__type(value, struct path);
} paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path);
} path_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sums);
} totals SEC(".maps");

/* What could not be kept because a map was full; shown, never hidden. */
u64 lost_accounts, lost_chunks, lost_tasks, lost_waits, lost_paths, lost_spans, lost_timed;
u64 slow_ns;
u64 window; /* number of the window */
/* What the iterator does with the accounts of all tasks. */
enum settle { SETTLE_BEGIN = 1, SETTLE_LAP, SETTLE_END, SETTLE_SAMPLED, SETTLE_EXACT, SETTLE_FORGET };
u32 settle_mode;
/* Time for one of it that is looked at; 1 except while reads are sampled. */
u64 weight = 1;
u64 sampled_since; /* ns since boot */
u64 sampled_from; /* slice_number then */
u64 slice_number = 1;
u64 slice_until; /* ns; 0 begins a slice with the next read */
u64 slice_ns;
/*
 * A look ends by itself so many jiffies after its first event, whatever became
 * of the program that began it; 0: it is ended from outside.
 */
const volatile u64 look_ticks;
u64 look_until; /* jiffies; 0 begins with the next event */
u64 look_from, look_to; /* ns; look_to: it ended by itself */

static __noinline int begin_look(u64 now)
{
	look_from = bpf_ktime_get_ns();
	look_until = now + look_ticks;
	return 0;
}

static __noinline int end_look(void)
{
	enabled = 0;
	look_to = bpf_ktime_get_ns();
	return 0;
}

/* now is in jiffies. */
static __always_inline bool look_is_over(u64 now)
{
	u64 until = look_until;

	if (!until) {
		begin_look(now);
		return false;
	}
	if (now <= until)
		return false;
	end_look();
	return true;
}

#define LOOK_IS_OVER(now) (look_ticks && look_is_over(now))

static const struct account no_account;
static const struct task no_task;
static const struct wait_times no_waits;
static const struct timed_calls no_timed_calls;

static __always_inline u64 file_hash(u64 ino, u32 dev)
{
	return ino + (u64)dev * 0x9E3779B97F4A7C15ULL;
}

static __always_inline u64 *fresh_count(u64 file)
{
	u32 slot = (file * 0x9E3779B97F4A7C15ULL) >> 48;

	return bpf_map_lookup_elem(&fresh_of, &slot);
}

static __always_inline u64 bits(u32 from, u32 to)
{
	return (~0ULL >> (63 - ((to - from) & 63))) << (from & 63);
}

static __always_inline u32 popcount(u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

static __always_inline u32 this_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

static __always_inline struct sums *total(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
/* totals are per CPU, but a program may be preempted: keep the adds atomic. */
#define TOTAL(field, n)                                      \
	do {                                                 \
		struct sums *all_ = total();               \
		if (all_)                                    \
			ADD(all_->field, (n));               \
	} while (0)

static __always_inline struct task *task_state_of(struct task_struct *t)
{
	return new_task_row(&tasks, t, &no_task);
}
