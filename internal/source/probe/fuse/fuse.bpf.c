//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Requests to the daemons of FUSE file systems, from the moment the kernel puts
 * one into the daemon's queue to the daemon's answer.
 */
#include "process.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))
#define PF_KTHREAD 0x00200000
#define ECONNABORTED 103

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct list_head {
	struct list_head *next;
};
struct fuse_iqueue {
	struct list_head pending;
};
struct fuse_conn {
	struct fuse_iqueue iq; /* until it went into fuse_chan, between 6.18 and 7.2 */
	u32 dev;
};
struct fuse_chan {
	struct fuse_conn *conn;
	struct fuse_iqueue iq;
};
struct fuse_mount {
	struct fuse_conn *fc;
	struct super_block *sb;
};
struct fuse_in_header {
	u32 opcode;
};
struct fuse_out_header {
	s32 error;
};
struct fuse_req {
	struct list_head list;
	unsigned long flags;
	struct {
		struct fuse_in_header h;
	} in;
	struct {
		struct fuse_out_header h;
	} out;
	struct fuse_mount *fm; /* until then */
	struct fuse_chan *chan;
};
enum fuse_req_flag {
	FR_BACKGROUND = 0x7003,
};
#pragma clang attribute pop

/* In the order of ops in fuse.go. The numbers are those of include/uapi/linux/fuse.h. */
enum op { OP_OTHER, OP_READ, OP_WRITE, OP_SYNC, OP_NAMES, OP_LOCK };

static __always_inline u32 op_of(u32 opcode)
{
	switch (opcode) {
	case 15: /* READ */
		return OP_READ;
	case 16: /* WRITE */
		return OP_WRITE;
	case 20: /* FSYNC */
	case 25: /* FLUSH */
	case 30: /* FSYNCDIR */
	case 50: /* SYNCFS */
		return OP_SYNC;
	case 1: /* LOOKUP */
	case 3: /* GETATTR */
	case 14: /* OPEN */
	case 27: /* OPENDIR */
	case 28: /* READDIR */
	case 34: /* ACCESS */
	case 35: /* CREATE */
	case 44: /* READDIRPLUS */
	case 52: /* STATX */
		return OP_NAMES;
	case 33: /* SETLKW: answered when another program lets go of its lock */
		return OP_LOCK;
	}
	return OP_OTHER;
}

struct key {
	u32 dev, tgid; /* of the file system; of who asks */
	u32 op, pad;
};
struct row {
	u64 count, queue_ns, daemon_ns;
};
struct server_key {
	u32 dev, tgid;
};
/* The queue, as it was when an answer was given. */
struct look {
	u64 at;
	u64 oldest; /* the number of the request that had been in it longest; none: the largest there is */
};
#define LOOKS 64 /* a power of two; of a daemon that has more requests in hand the queue may count as its work */
struct server {
	u64 answers, ns;
	struct look looks[LOOKS]; /* the last ones, by number of the answer */
};
struct open {
	u64 since, seq;
	struct key key;
	u32 tid; /* that waits for the answer, 0: it need not */
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct open);
} opens SEC(".maps"); /* by struct fuse_req */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key);
	__type(value, struct row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct server_key);
	__type(value, struct server);
} servers SEC(".maps");

u64 lost_requests, lost_rows;
u64 sent; /* requests so far: their order */

static const struct row no_row;
static const struct server no_server;

/* The file system of a request, 0 while it is being mounted. */
static __always_inline u32 dev_of(struct fuse_req *req)
{
	return bpf_core_field_exists(req->fm) ? BPF_CORE_READ(req, fm, sb, s_dev) : BPF_CORE_READ(req, chan, conn, dev);
}

/* Where the queue of a request begins. */
static __always_inline u64 queue_of(struct fuse_req *req)
{
	u64 pending = bpf_core_field_offset(struct fuse_iqueue, pending);

	if (bpf_core_field_exists(req->fm))
		return (u64)BPF_CORE_READ(req, fm, fc) + bpf_core_field_offset(struct fuse_conn, iq) + pending;
	return (u64)BPF_CORE_READ(req, chan) + bpf_core_field_offset(struct fuse_chan, iq) + pending;
}

SEC("tp_btf/fuse_request_send")
int COUNTING(on_send, struct fuse_req *req)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct open o = {};
	u64 id = (u64)req;

	o.since = bpf_ktime_get_ns();
	o.seq = __sync_fetch_and_add(&sent, 1) + 1;
	o.key.dev = dev_of(req);
	o.key.tgid = t->tgid;
	o.key.op = op_of(req->in.h.opcode);
	if (!(req->flags & 1UL << bpf_core_enum_value(enum fuse_req_flag, FR_BACKGROUND)))
		o.tid = t->pid;
	if (bpf_map_update_elem(&opens, &id, &o, BPF_ANY))
		ADD(lost_requests, 1);
	return 0;
}

/* The number of the request that has been in the queue longest: 0 for one from before this was counted. */
static __always_inline u64 oldest(u64 head)
{
	u64 first = (u64)BPF_CORE_READ((struct list_head *)head, next);
	struct open *o;

	if (!first || first == head)
		return ~0ULL;
	first -= bpf_core_field_offset(struct fuse_req, list);
	o = bpf_map_lookup_elem(&opens, &first);
	return o ? o->seq : 0;
}

/*
 * For how long a request lay in the queue: while all threads of the daemon were
 * busy. Nothing tells when one takes it. But the queue is first in, first out, so
 * a request was still there when an answer was given if the queue's oldest one
 * then was no younger, and a thread took it soon after the last such answer. Of a
 * request that had left the queue by then, all of the time is
 * the daemon's.
 */
static __always_inline u64 queued(struct server *s, struct open *o)
{
	u64 answers = s->answers;
	int i;

	for (i = 1; i <= LOOKS; i++) {
		struct look *l = &s->looks[(answers - i) & (LOOKS - 1)];

		if (l->at <= o->since)
			return 0;
		if (l->oldest <= o->seq)
			return l->at - o->since;
	}
	return 0;
}

static __always_inline struct server *server_of(struct task_struct *t, u32 dev)
{
	struct server_key k = {.dev = dev, .tgid = t->tgid};
	struct server *s = bpf_map_lookup_elem(&servers, &k);

	if (s)
		return s;
	bpf_map_update_elem(&servers, &k, &no_server, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&servers, &k);
	if (s)
		note_process(t, k.tgid);
	else
		ADD(lost_rows, 1);
	return s;
}

static __always_inline void account(struct open *o, u64 queue, u64 daemon)
{
	struct row *r = bpf_map_lookup_elem(&rows, &o->key);

	if (!r) {
		bpf_map_update_elem(&rows, &o->key, &no_row, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&rows, &o->key);
		if (!r) {
			ADD(lost_rows, 1);
			return;
		}
	}
	ADD(r->count, 1);
	ADD(r->queue_ns, queue);
	ADD(r->daemon_ns, daemon);
}

SEC("tp_btf/fuse_request_end")
int COUNTING(on_end, struct fuse_req *req)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u64 id = (u64)req, now, queue = 0, all;
	struct server *s = 0;
	struct open o, *met;
	struct look *l;

	met = bpf_map_lookup_elem(&opens, &id);
	if (!met)
		return 0; /* sent before this was counted */
	o = *met;
	bpf_map_delete_elem(&opens, &id);
	now = bpf_ktime_get_ns();
	all = now - o.since;
	/* A kernel thread answers for virtiofs; and whoever takes the file system down ends all requests. */
	if (!(t->flags & PF_KTHREAD) && BPF_CORE_READ(req, out.h.error) != -ECONNABORTED)
		s = server_of(t, o.key.dev);
	if (s)
		queue = queued(s, &o);
	account(&o, queue, all - queue);
	if (!s)
		return 0;
	ADD(s->ns, all - queue);
	l = &s->looks[__sync_fetch_and_add(&s->answers, 1) & (LOOKS - 1)];
	l->oldest = oldest(queue_of(req));
	l->at = now;
	return 0;
}
