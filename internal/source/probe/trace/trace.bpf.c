//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One record for every I/O that a device completed: who asked, for which
 * file, how long it queued and how long the device took. docs/trace.md says
 * how it works and what it costs.
 */
#include "layers.bpf.h"
#include "tables.bpf.h"
#include "twice.bpf.h"
#include "types.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static const struct row no_row;

static __always_inline struct event *row_of(u64 id)
{
	struct row *r = bpf_map_lookup_elem(&requests, &id);

	if (!r) {
		bpf_map_update_elem(&requests, &id, &no_row, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&requests, &id);
		if (!r) {
			ADD(lost_requests, 1);
			return 0;
		}
		if (!by_bio && kept < KEPT) {
			ADD(kept, 1);
			r->stays = 1;
		}
	}
	if (r->e.kind)
		ADD(missed_completions, 1);
	__builtin_memset(&r->e, 0, sizeof(r->e));
	return &r->e;
}

static __always_inline struct event *in_flight(u64 id)
{
	struct row *r = bpf_map_lookup_elem(&requests, &id);

	return r && r->e.kind ? &r->e : 0;
}

static __always_inline void release(struct event *e, u64 id)
{
	e->kind = 0;
	if (!((struct row *)e)->stays)
		bpf_map_delete_elem(&requests, &id);
}

/* The file behind direct I/O, found by the function that the bio ends in. */
static __always_inline u64 direct_inode(struct event *e, struct bio *bio)
{
	u64 at = (u64)bio, end = (u64)((struct bio___end *)bio)->bi_end_io;
	u64 private = (u64)((struct bio___end *)bio)->bi_private;
	struct iomap_dio *dio;
	int i;

	e->flags |= FLAG_DIRECT;
	if (!end)
		return 0;
	for (i = 0; i < CHAINED && end == chain_end; i++) {
		at = private;
		end = (u64)READ(struct bio___end, at, bi_end_io);
		private = (u64)READ(struct bio___end, at, bi_private);
	}
	if (end == iomap_end && bpf_core_type_exists(struct iomap_dio)) {
		dio = (void *)private;
		at = (u64)BPF_CORE_READ(dio, iocb);
		return (u64)READ(struct kiocb, at, ki_filp, f_inode);
	}
	if (end == device_end || end == device_async_end || end == wait_end) {
		e->owner = OWNER_DEVICE;
		if (bpf_core_field_exists(bio->bi_bdev))
			e->sdev = READ(struct bio, at, bi_bdev, bd_dev);
		else
			e->sdev = e->dev;
	}
	return 0;
}

/* What the first page of a request belongs to: an inode, or 0. */
static __always_inline u64 find_owner(struct event *e, struct bio *bio)
{
	u64 bits, flags, end, folio, inode;
	struct page *page;

	if (e->flags & FLAG_SWAP)
		goto swap;
	/* nothing else ends so, whatever the buffer's pages belong to */
	end = (u64)((struct bio___end *)bio)->bi_end_io;
	if (end && (end == iomap_end || end == device_end || end == device_async_end))
		return direct_inode(e, bio);
	page = bio->bi_iter.bi_idx || !bio->bi_io_vec ? bio_page(bio) : bio->bi_io_vec->bv_page;
	if (!page)
		return 0;
	folio = (u64)page_folio(page);
	bpf_core_read(&flags, sizeof(flags), (void *)folio);
	bits = (u64)READ_FOLIO((struct folio *)folio, mapping); /* as a number, for its low bits */
	/* a page on its way in from swap: the request itself does not tell */
	if (flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_swapbacked) &&
	    (!bits || flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_swapcache)))
		goto swap;
	if (!bits || bits & MAPPING_FLAGS)
		return direct_inode(e, bio);
	inode = (u64)READ(struct address_space, bits, host);
	bits = READ(struct inode, inode, i_sb, s_magic);
	if (bits == TMPFS_MAGIC || bits == HUGETLBFS_MAGIC)
		return direct_inode(e, bio); /* shared memory as the buffer */
	return inode;
swap:
	e->owner = OWNER_SWAP;
	return 0;
}

/* Hands over the path of a file that was not seen before. */
static __noinline int note_path(u64 inode, u64 ino, u32 sdev)
{
	struct inode_key key = { .ino = ino, .sdev = sdev };
	struct path_event *p;
	u32 zero = 0, generation, *before, length;

	generation = READ(struct inode___generation, inode, i_generation) ^ naming;
	before = bpf_map_lookup_elem(&named, &key);
	if (before && *before == generation)
		return 0;
	p = bpf_map_lookup_elem(&scratch, &zero);
	if (!p)
		return 0;
	if (EXCHANGE(&p->path.busy, 1)) {
		ADD(lost_paths, 1);
		return 0;
	}
	p->kind = KIND_PATH;
	p->sdev = sdev;
	p->ino = ino;
	path_of(&p->path, (struct inode *)inode);
	length = p->path.length;
	if (length > sizeof(p->path.names))
		length = sizeof(p->path.names);
	if (bpf_ringbuf_output(&events, p, sizeof(*p) - sizeof(p->path.names) + length, BPF_RB_NO_WAKEUP))
		ADD(lost_paths, 1);
	else
		bpf_map_update_elem(&named, &key, &generation, BPF_ANY);
	p->path.busy = 0;
	return 0;
}

static __always_inline void comm_of(u8 *comm, struct task_struct *task)
{
	if (lacks & LACKS_TASK) {
		bpf_get_current_comm(comm, 16);
	} else {
		*(u64 *)comm = *(u64 *)task->comm;
		*(u64 *)(comm + 8) = *(u64 *)(task->comm + 8);
	}
}

static __always_inline bool comm_is_wanted(struct event *e)
{
	int i;

	for (i = 0; i < 16; i++) {
		if (e->comm[i] != comm_wanted[i])
			return false;
		if (!e->comm[i])
			return true;
	}
	return true;
}

/*
 * The cgroup that a request is charged to; where that is the root, as for all
 * who are in no cgroup of the I/O controller's tree, the one that limits the
 * task's memory.
 */
static __always_inline void note_cgroup(struct event *e, struct cgroup *charged, struct cgroup *own)
{
	if (!cgroup_level(charged) && own) {
		charged = own;
		e->flags |= FLAG_TASK_CGROUP;
	}
	e->cgroup = BPF_CORE_READ(charged, kn, id);
}

/* An I/O begins; id is what it can be found by. */
static __always_inline int begun(u64 id, struct gendisk *disk, u32 flags, u32 size, struct bio *bio)
{
	u64 thread = bpf_get_current_pid_tgid(), inode = 0;
	struct layer_bio *layer = 0;
	struct cgroup *cgroup = 0, *of_task;
	u32 tgid, dev;
	struct task_struct *task;
	struct event *e;
	int i;

	if (!disk)
		return 0;
	dev = disk_dev(disk);
	if (follow && bio)
		layer = layer_of(bio);
	if (layer) /* the thread here may be a layer's */
		thread = layer->from.thread;
	tgid = thread >> 32;
	if ((only_dev && dev != only_dev) || (only_tgid && tgid != only_tgid))
		return 0;
	if (self && tgid == self) {
		ADD(own, 1);
		return 0;
	}
	e = row_of(id);
	if (!e)
		return 0;
	task = current_task();
	if (layer) {
		__builtin_memcpy(e->comm, layer->from.comm, sizeof(e->comm));
		cgroup = (void *)layer->from.cgroup;
		of_task = (void *)layer->from.own_cgroup;
	} else {
		comm_of(e->comm, task);
		if (bio)
			cgroup = bio->bi_blkg->blkcg->css.cgroup;
		of_task = 0;
	}
	if (only_comm && !comm_is_wanted(e))
		goto unwanted;
	if (!layer && (only_by_task || (cgroup && !cgroup_level(cgroup))))
		of_task = memory_cgroup(task);
	if (only_cgroup && !cgroup_below(only_by_task ? of_task : cgroup, only_level, only_cgroup))
		goto unwanted;
	e->dev = dev;
	e->tgid = tgid;
	e->tid = thread;
	e->flags = flags_of(flags);
	if (bio) {
		note_cgroup(e, cgroup, of_task);
		if (layer) {
			inode = size ? layer->from.inode : 0;
			e->owner = layer->from.owner;
			e->sdev = layer->from.sdev;
			e->flags |= layer->from.flags;
		} else if (size) {
			inode = find_owner(e, bio);
		}
		if (inode) {
			e->owner = OWNER_FILE;
			e->ino = READ(struct inode, inode, i_ino);
			e->sdev = READ(struct inode, inode, i_sb, s_dev);
			for (i = 0; i < 2; i++) {
				if (own_files[i].ino && own_files[i].ino == e->ino && own_files[i].sdev == e->sdev) {
					ADD(own, 1);
					goto unwanted;
				}
			}
		}
	}
	if (only_ino && (e->ino != only_ino || e->sdev != only_sdev))
		goto unwanted;
	if (inode)
		note_path(inode, e->ino, e->sdev);
	e->start = bpf_ktime_get_ns();
	e->kind = KIND_IO;
	return 0;
unwanted:
	release(e, id);
	return 0;
}

SEC("tp_btf/block_io_start")
int COUNTING_TWICE(TWICE_START, on_start, struct request *rq)
{
	if (follow)
		layers_cloned((u64)rq->bio, disk_dev(request_disk(rq)), rq->cmd_flags & REQ_OP_MASK, 0);
	return begun(ctx[0], request_disk(rq), rq->cmd_flags, rq->__data_len, rq->bio);
}

/*
 * Before that tracepoint (6.5): the submitter has just been given a request, of
 * which this does not tell. It is found by its first bio until it is issued.
 */
SEC("tp_btf/block_getrq")
int COUNTING(on_getrq, struct bio *bio)
{
	return begun(ctx[0], bio_disk(bio), bio->bi_opf, bio->bi_iter.bi_size, bio);
}

/* Before e8a676d61c07 (5.11) the queue came first. */
SEC("tp_btf/block_getrq")
int COUNTING(on_getrq_old, struct request_queue *q, struct bio *bio)
{
	if (!bio) /* a command of its own */
		return 0;
	return begun(ctx[1], bio_disk(bio), bio->bi_opf, bio->bi_iter.bi_size, bio);
}

/* Finds a request by its bios, of which more may have come before the first, and lets it be found by itself. */
static __always_inline void claim(struct request *rq, u64 id)
{
	struct bio___next *bio = (struct bio___next *)rq->bio;
	struct event *found, *e;
	u64 at;
	int i;

	if (in_flight(id))
		return;
	for (i = 0; i < FRONT_MERGES && bio; i++) {
		at = (u64)bio;
		found = in_flight(at);
		if (found) {
			e = row_of(id);
			if (e)
				__builtin_memcpy(e, found, sizeof(*e));
			release(found, at);
			return;
		}
		bio = bio->bi_next;
	}
}

SEC("tp_btf/block_rq_issue")
int COUNTING(on_issue, struct request *rq)
{
	struct event *e;
	u64 id = ctx[0];

	if (by_bio)
		claim(rq, id);
	if (!want_issue)
		return 0;
	e = in_flight(id);
	if (e)
		e->issue = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int COUNTING(on_requeue, struct request *rq)
{
	struct event *e;
	u64 id = ctx[0];

	e = in_flight(id);
	if (e && e->requeues < 0xffff)
		e->requeues++;
	return 0;
}

/* Two requests became one: this one will not complete. */
SEC("tp_btf/block_rq_merge")
int COUNTING(on_merge, struct request *rq)
{
	struct event *e;
	u64 id = ctx[0];

	if (by_bio)
		claim(rq, id);
	e = in_flight(id);
	if (e)
		release(e, id);
	return 0;
}

/*
 * An interrupt may come while this program runs in a softirq; what completes in it the
 * kernel does not run it for. So there may be two of it in a row (twice.go).
 */
SEC("tp_btf/block_rq_complete")
int COUNTING(on_complete, struct request *rq, int error, unsigned int bytes)
{
	bool again = is_second_of_two();
	u64 flush = flushes(rq), later;
	struct event *e;
	u64 id = ctx[0], start, issue, now = 0;

	if (by_bio) /* a flush may end without having been issued by itself */
		claim(rq, id);
	if (again && !in_flight(id))
		return 0; /* the first program has told of it */
	later = flush_follows(rq, bytes, flush);
	if (follow && !later && !(again && bytes < rq->__data_len)) { /* of a part nothing tells whether that one has */
		now = bpf_ktime_get_ns();
		layers_done(rq, bytes, now);
	}
	e = in_flight(id);
	if (!e)
		return 0;
	if (!e->end) { /* its first part: merges in front moved where it begins */
		e->sector = rq->__sector;
		e->bytes = bytes < rq->__data_len ? rq->__data_len : bytes; /* of all of it */
		e->end = 1;
	}
	if (!e->status)
		e->status = request_status(error);
	if (bytes < rq->__data_len || later)
		return 0; /* a part; the rest is still to come, or a flush */
	e->end = now ? now : bpf_ktime_get_ns();
	/* the kernel's own times, which it may take once for a whole batch, so
	 * that they can lie before ours */
	start = kept_start(rq);
	if (!start || start > e->start)
		start = e->start;
	e->start = start;
	issue = (start & -flush) | (rq->io_start_time_ns & (flush - 1)); /* what goes before its data is the device's work as well */
	if (!issue) {
		want_issue = 1;
		issue = e->issue;
	}
	if (issue && issue < e->start)
		issue = e->start;
	e->issue = issue;
	if (e->end - e->start < min_ns)
		ADD(below_min, 1);
	else if (bpf_ringbuf_output(&events, e, sizeof(*e), BPF_RB_NO_WAKEUP))
		ADD(dropped, 1);
	release(e, id);
	return 0;
}

/* What comes to the first layer: for whom, and for which file. */
SEC("tp_btf/block_bio_queue")
int COUNTING_TWICE(TWICE_BIO, on_bio, struct bio *bio)
{
	struct task_struct *task = current_task();
	struct origin from = {};
	struct layer_bio *b;
	struct event e = {};
	bool first = false;

	b = follow ? layer_queued(task, bio, ctx[0], bio->bi_opf & REQ_OP_MASK, &first) : 0;
	if (!b || !first)
		return 0;
	e.dev = disk_dev(bio_disk(bio));
	e.flags = flags_of(bio->bi_opf);
	from.inode = bio->bi_iter.bi_size ? find_owner(&e, bio) : 0;
	from.owner = e.owner;
	from.sdev = e.sdev;
	from.flags = e.flags & FLAG_DIRECT;
	from.cgroup = (u64)bio->bi_blkg->blkcg->css.cgroup;
	from.own_cgroup = (u64)memory_cgroup(task);
	from.thread = bpf_get_current_pid_tgid();
	comm_of(from.comm, task);
	b->from = from;
	return 0;
}

SEC("tp_btf/block_bio_remap")
int COUNTING_TWICE(TWICE_REMAP, on_remap, struct bio *bio, u32 dev, u64 from)
{
	if (follow)
		layer_remapped(bio, ctx[0], dev, from, bio->bi_opf & REQ_OP_MASK);
	return 0;
}

SEC("tp_btf/block_split")
int COUNTING_TWICE(TWICE_SPLIT, on_split, struct bio *bio)
{
	return follow ? layer_split(bio, ctx[0]) : 0;
}

SEC("tp_btf/block_bio_complete")
int COUNTING(on_bio_done, struct request_queue *q, struct bio *bio)
{
	return follow ? layers_of_bio_done(ctx[1], 0, is_second_of_two()) : 0;
}
