/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Time that tasks are blocked in I/O, by what they wait in. */
#pragma once

#include "calls.bpf.h"
#include "chunks.bpf.h"
#include "rules.bpf.h"
#include "served.bpf.h"
#include "spans.bpf.h"

static __always_inline struct wait_times *waits_of(struct task_struct *task, u32 tgid)
{
	struct wait_times *w = bpf_map_lookup_elem(&waits, &tgid);

	if (w)
		return w;
	bpf_map_update_elem(&waits, &tgid, &no_waits, BPF_NOEXIST);
	w = bpf_map_lookup_elem(&waits, &tgid);
	if (!w) {
		ADD(lost_waits, 1);
		return 0;
	}
	w->window = window;
	note(task, tgid);
	return w;
}

/*
 * What a task waits for, FOR_CALL where its stack does not tell. ctx is of the event
 * that it goes to sleep, 0 for a task that sleeps already. Whoever waits for the
 * journal inside a sync of its own waits for its own commit.
 */
static __always_inline u32 waits_for(void *ctx, struct task_struct *t, u32 class)
{
	u32 zero = 0, what;
	struct stack *k = bpf_map_lookup_elem(&stacks, &zero);
	long n;

	if (!k)
		return FOR_CALL;
	n = ctx ? bpf_get_stack(ctx, k, sizeof(*k), 0) : bpf_get_task_stack(t, k, sizeof(*k), 0);
	what = n > 0 ? class_of_stack(n / 8) : FOR_CALL;
	return what == FOR_JOURNAL && class == WAIT_SYNC ? FOR_COMMIT : what;
}

/* Whether the first argument of such calls is a file. */
static __always_inline bool takes_file(u32 class)
{
	return class == WAIT_READ || class == WAIT_WRITE || class == WAIT_SYNC;
}

#define TASK_NOLOAD 0x0400

/*
 * The class of the wait that a task is about to enter, or is in where ctx is 0;
 * WAIT_CLASSES for none. what is what it waits for.
 */
static __always_inline u32 wait_class(void *ctx, struct task_struct *t, u32 *what)
{
	u32 class = WAIT_OTHER, state, served;
	s32 nr;

	/* the registers of a worker of io_uring are those of who started it */
	if (!(t->flags & (PF_KTHREAD | PF_IO_WORKER))) {
		nr = task_syscall(t);
		if (nr < 0) {
			class = WAIT_FAULT;
		} else if (nr < SYSCALLS) {
			u64 slot = nr;

			/* else the compiler drops the bound that the verifier wants */
			asm volatile("" : "+r"(slot));
			class = syscall_class[slot & (SYSCALLS - 1)];
		}
	}
	*what = FOR_CALL;
	if (BPF_CORE_READ_BITFIELD_PROBED(t, in_iowait)) {
		*what = waits_for(ctx, t, class);
		if (*what == RULE_NONE)
			*what = FOR_CALL;
		if (*what == FOR_WRITEBACK && takes_file(class)) { /* of a file of a server it is an answer */
			served = served_by(called_on(t));
			if (served)
				*what = served;
		}
		return class;
	}
	/* nor are completions, except by io_uring in newer kernels */
	if (class == WAIT_ASYNC)
		return WAIT_DOZE;
	if (class == WAIT_FLOCK)
		return class;
	/*
	 * A journal commit is waited for without the I/O wait flag, and so is an
	 * answer of a server, of FUSE first of all interruptibly. Who sleeps
	 * uninterruptibly in a call for files waits for its file system, whose
	 * functions need not be known, unless the stack names something else;
	 * in fsync and its kin for I/O in any case. In other calls the stack must tell.
	 */
	state = task_state(t);
	if (!(state & TASK_UNINTERRUPTIBLE) && class != WAIT_NAMES) {
		/* as who waits for a pipe or a socket does, which the kind of file tells */
		served = takes_file(class) ? served_by(called_on(t)) : FOR_CALL;
		if (served == FOR_CALL)
			return WAIT_CLASSES;
		if (served == FOR_FUSE) {
			*what = FOR_FUSE;
			return class;
		}
	}
	if (state & TASK_NOLOAD || t->flags & PF_KTHREAD)
		return WAIT_CLASSES;
	*what = waits_for(ctx, t, class);
	if (*what != FOR_CALL && *what != RULE_NONE)
		return class;
	if (!(state & TASK_UNINTERRUPTIBLE) || (class != WAIT_SYNC && (*what == RULE_NONE || !rule_count)))
		return WAIT_CLASSES;
	*what = FOR_CALL;
	return takes_file(class) || class == WAIT_NAMES ? class : WAIT_UNNAMED;
}

/* Counts time that a task has waited for an answer. */
static __always_inline void count_asked(struct task_struct *task, u32 dev, u64 ns)
{
	struct asked_key key = { .tgid = task->tgid, .dev = dev };
	u64 *sum = bpf_map_lookup_elem(&asked, &key), none = 0;

	if (!sum) {
		bpf_map_update_elem(&asked, &key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&asked, &key);
	}
	if (sum)
		ADD(*sum, ns);
	else
		ADD(lost_waits, 1);
}

/* Counts time that a task has waited, and whether the wait is over. */
static __always_inline void count_wait(struct task_struct *task, struct task *t, u64 ns, bool over)
{
	u32 class = t->off_class;
	struct wait_times *w;
	u64 what;
	struct span *s;

	w = waits_of(task, task->tgid);
	if (class >= WAIT_DOZE) {
		if (w && class < WAIT_CLASSES) {
			ADD(w->ns[class], ns);
			if (class == WAIT_FLOCK && over)
				ADD(w->flocks, 1);
		}
		return;
	}
	if (w) {
		s = span_of(task);
		if (s)
			s->wait += ns;
		if (!t->waited) {
			t->waited = 1;
			ADD(w->threads, 1);
		}
		if (t->pausing) {
			ADD(w->pause_ns, ns);
			if (over)
				ADD(w->pauses, 1);
		} else {
			ADD(w->ns[class], ns);
			what = t->off_for;
			asm volatile("" : "+r"(what));
			if (what < FORS)
				ADD(w->for_ns[what], ns);
			if (t->off_dev)
				count_asked(task, t->off_dev, ns);
		}
	}
	if (!t->pausing && (class == WAIT_READ || class == WAIT_FAULT || class == WAIT_WRITE || class == WAIT_OTHER))
		t->pending += ns;
}

/* seen tells that it was not waiting already. */
static __always_inline void begin_wait(struct task_struct *task, struct task *t, u64 now, u32 class, u32 what, bool seen)
{
	struct inode *inode;

	t->off_class = class;
	t->off_for = what;
	t->off_dev = 0;
	if ((what == FOR_NETWORK || what == FOR_FUSE) && takes_file(class)) {
		inode = called_on(task);
		if (served_by(inode))
			t->off_dev = READ(struct inode, inode, i_sb, s_dev);
	}
	t->off_queued = queued_of(task);
	wait_in_call(task, t, seen ? now : 0);
	t->off = now;
}

/* How long a task has queued for a processor since it began to wait. */
static __always_inline u64 queued_since(struct task_struct *task, struct task *t)
{
	return queued_of(task) - t->off_queued;
}

/*
 * Counts a wait up to now. It ended when the task was woken: that it then queued for
 * a processor is no wait for I/O. The clocks are two, read at slightly different instants.
 */
static __always_inline void count_until(struct task_struct *task, struct task *t, u64 off, u64 queued, u64 now, bool over)
{
	count_wait(task, t, off + queued < now ? now - off - queued : 0, over);
	if (over) {
		t->pausing = 0;
		t->timed.until = now;
	}
}

/* The task has a processor again. */
static __always_inline void end_wait(struct task_struct *task, struct task *t, u64 now)
{
	u64 off = EXCHANGE(&t->off, 0);

	if (off)
		count_until(task, t, off, queued_since(task, t), now, true);
}

/*
 * A thread waits for a page of a file that a server or a daemon has when a window ends: so
 * far that is charged now, and not when it goes on. Where the server hangs it never does.
 */
static __always_inline void charge_so_far(struct task_struct *task, struct task *t)
{
	struct file_key key = { .tgid = task->tgid };
	struct inode *inode;
	struct account *a;

	if (t->off_for != FOR_PAGE || !takes_file(t->off_class) || t->pending <= t->charged)
		return;
	inode = called_on(task);
	if (!served_by(inode))
		return;
	key.ino = READ(struct inode, inode, i_ino);
	key.dev = READ(struct inode, inode, i_sb, s_dev);
	a = account_at(&key, inode, task);
	if (!a)
		return;
	ADD(a->wait, t->pending - t->charged);
	t->charged = t->pending;
}

/* A window ends: the wait goes on, unless the task was just woken. */
static __always_inline void settle_wait(struct task_struct *task, struct task *t, u64 now)
{
	u64 off = t->off, queued = queued_since(task, t);
	bool over = settle_mode == SETTLE_END || queued;

	if (off && off < now && COMPARE_AND_SWAP(&t->off, off, over ? 0 : now) == off) {
		count_until(task, t, off, queued, now, over);
		if (!queued)
			charge_so_far(task, t);
	}
}

SEC("tp_btf/sched_switch")
int COUNTING(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task *t;
	u32 class, state, what;

	state = preempt || !prev->pid ? 0 : task_state(prev);
	if (state & TASK_DEAD) {
		end_span(prev);
		forget_task(&spans, prev);
		forget_task(&tasks, prev);
	} else if (state) {
		class = wait_class(ctx, prev, &what);
		if (class != WAIT_CLASSES) {
			t = task_state_of(prev);
			if (t)
				begin_wait(prev, t, bpf_ktime_get_ns(), class, what, true);
			else
				ADD(lost_tasks, 1);
		}
	}
	if (!next->pid)
		return 0;
	t = task_row(&tasks, next);
	if (t && t->off)
		end_wait(next, t, bpf_ktime_get_ns());
	return 0;
}
