//go:build ignore
/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Block I/O: what was asked of each device, by whom, for which file, how long
 * it queued and how long the device took. docs/blockio.md says how it counts.
 */
#include "bios.bpf.h"
#include "sums.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A request begins; id is what it can be found by. */
static __always_inline int begun(u64 id, struct gendisk *disk, u32 flags, u64 sector, u32 size, struct bio *bio, u64 start)
{
	u32 dev = disk_dev(disk), op = request_op(flags, size);
	struct task_struct *task = current_task();
	struct layer_bio *layer = 0;
	struct direct direct = {};
	struct file_key file = {};
	struct request_info *info;
	struct owner_key owner = {};
	u64 end, *last, before, seen, reached;
	struct disk *row;

	if (!dev)
		return 0;
	owner.tgid = TASK(task, tgid);
	if (!at_queue && bio) {
		note_throttled(task, bio, dev);
		file.dev = dev;
		file.op = op;
		if (size && op <= OP_WRITE)
			moved(bio, &file, size, owner.tgid, &direct);
	}
	info = keep(id);
	if (!info)
		return 0;
	if (follows() && bio)
		layer = layer_of(bio);
	if (layer) { /* the thread here may be a layer's */
		owner.tgid = layer->from.thread >> 32;
		owner.cgroup = layer_cgroup(layer->from.cgroup);
	} else {
		owner.cgroup = group_cgroup(bio_group(bio));
	}
	owner.dev = dev;
	owner.op = op;
	info->start = start;
	info->issue = 0;
	info->cgroup = owner.cgroup;
	info->bytes = 0;
	info->tgid = owner.tgid;
	info->dev = dev;
	info->op = op;
	info->direct = direct.bytes;
	info->again = direct.again;
	info->depth = 0;
	info->nth = 0;
	info->near = 0;
	row = new_disk(dev);
	if (row) {
		info->near = row->near;
		before = fetch_add(&row->flights, BEGUN + 1);
		info->depth = before % BEGUN + 1;
		info->nth = before / BEGUN + 1;
		reached = (u64)window << 32 | info->depth;
		if (row->most < reached)
			row->most = reached;
	}
	last = end_of((u64)owner.tgid << 32 | dev);
	if (!last)
		return 0;
	seen = *last;
	info->sequential = seen && (seen & STREAM_END) == sector;
	end = sector + (size >> SECTOR_SHIFT);
	*last = end | (seen & ~STREAM_END) | STREAM_OP(op);
	if (!seen && !layer)
		note_process(task, owner.tgid);
	/* now, and not in the interrupt in which it completes, with many others and no memory for new rows */
	if (!(seen & STREAM_OP(op)) && !near_io(&owner))
		bpf_map_update_elem(&by_owner, &owner, &no_io, BPF_NOEXIST);
	return 0;
}

/* The kernel's own time, which it may take once for a whole batch, so that it can lie before ours; 0 where nobody keeps one. */
static __always_inline u64 start_of(struct request *rq, struct request_info *info)
{
	u64 start = kept_start(rq);

	return start && (!info->start || start < info->start) ? start : info->start;
}

SEC("tp_btf/block_io_start")
int COUNTING_UNLESS(!enabled || left_by_layers() || left_to_other(TWICE_START, ctx[0]), on_start, struct request *rq)
{
	if (follows())
		layers_cloned((u64)LOOSE(struct request, rq)->bio, disk_dev(request_disk(rq)), request_op(rq->cmd_flags, rq->__data_len), add_clone);
	return begun(as_number(ctx[0]), request_disk(rq), rq->cmd_flags, rq->__sector, rq->__data_len, LOOSE(struct request, rq)->bio,
		     want_start || request_op(rq->cmd_flags, 0) == OP_OTHER ? bpf_ktime_get_ns() : 0);
}

/*
 * Before block_io_start (6.5): the submitter has just been given a request, of
 * which this does not tell. It is found by its first bio until it is issued.
 */
SEC("tp_btf/block_getrq")
int COUNTING_UNLESS(!enabled || left_by_layers(), on_getrq, struct bio *bio)
{
	return begun(as_number(ctx[0]), bio_disk(bio), bio->bi_opf, bio->bi_iter.bi_sector, bio->bi_iter.bi_size, bio, bpf_ktime_get_ns());
}

/* Before e8a676d61c07 (5.11) the queue came first. */
SEC("tp_btf/block_getrq")
int COUNTING_UNLESS(!enabled || left_by_layers(), on_getrq_old, struct request_queue *q, struct bio *bio)
{
	if (!bio) /* a command of its own */
		return 0;
	return begun(as_number(ctx[1]), bio_disk(bio), bio->bi_opf, bio->bi_iter.bi_sector, bio->bi_iter.bi_size, bio, bpf_ktime_get_ns());
}

/* Finds a request by its bios, of which more may have come before the first, and lets it be found by itself. */
static __always_inline void claim(struct request *rq, u64 id)
{
	struct bio___next *bio = (struct bio___next *)rq->bio;
	struct request_info *found, *info;
	struct spot at;
	int i;

	if (in_flight(id, &at))
		return;
	for (i = 0; i < FRONT_MERGES && bio; i++) {
		found = in_flight(as_number((u64)bio), &at);
		if (found) {
			info = keep(id);
			if (info)
				*info = *found;
			release(&at);
			return;
		}
		bio = bio->bi_next;
	}
}

SEC("tp_btf/block_rq_issue")
int COUNTING(on_issue, struct request *rq)
{
	struct request_info *info;
	struct spot at;
	u64 id = as_number(ctx[0]);

	if (by_bio)
		claim(rq, id);
	if (!want_issue)
		return 0;
	info = in_flight(id, &at);
	if (info)
		info->issue = bpf_ktime_get_ns();
	return 0;
}

/* Two requests became one: this one will not complete. */
SEC("tp_btf/block_rq_merge")
int COUNTING(on_merge, struct request *rq)
{
	struct request_info *info;
	struct direct direct = {};
	struct disk *disk;
	struct spot at;
	u64 id = as_number(ctx[0]);

	if (by_bio)
		claim(rq, id);
	info = in_flight(id, &at);
	if (!info)
		return 0;
	disk = disk_of(info->dev);
	if (disk)
		ADD(disk->flights, -1);
	direct.bytes = info->direct;
	direct.again = info->again;
	add_direct(info->tgid, &direct);
	release(&at);
	return 0;
}

/* A bio became part of a request. */
SEC("tp_btf/block_bio_backmerge")
int COUNTING_TWICE(TWICE_BACK, on_backmerge, struct bio *bio)
{
	return taken_in(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int COUNTING_TWICE(TWICE_FRONT, on_frontmerge, struct bio *bio)
{
	return taken_in(bio);
}

/* Before e8a676d61c07 (5.11). */
SEC("tp_btf/block_bio_backmerge")
int COUNTING(on_backmerge_old, struct request_queue *q, struct request *rq, struct bio *bio)
{
	return taken_in(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int COUNTING(on_frontmerge_old, struct request_queue *q, struct request *rq, struct bio *bio)
{
	return taken_in(bio);
}

/* Back into the queue: the device was busy, or is to try again. */
SEC("tp_btf/block_rq_requeue")
int COUNTING(on_requeue, struct request *rq)
{
	struct request_info *info;
	struct spot at;
	u64 id = as_number(ctx[0]), start;

	info = in_flight(id, &at);
	if (!info)
		return 0;
	start = start_of(rq, info);
	add_failure(id, STATUS_REQUEUED, start ? bpf_ktime_get_ns() - start : 0);
	return 0;
}

/*
 * Some requests complete in an interrupt and others in a softirq, which the interrupt may
 * come in while this program runs: then the kernel passes over it. So there may be two of
 * it in a row (twice.go).
 */
SEC("tp_btf/block_rq_complete")
int COUNTING_UNLESS(!enabled || left_by_layers(), on_complete, struct request *rq, int error, unsigned int bytes)
{
	u64 id = as_number(ctx[0]), now = 0, start, issue, queue, device_ns, before;
	struct owner_key owner = {};
	u32 size_slot, row, done, place, beside, nth = 0;
	bool again = is_second_of_two();
	u64 flush = flushes(rq);
	struct near_device *near;
	struct request_info *info;
	struct bin *b = 0;
	struct disk *disk;
	struct spot at;
	struct io *io;

	if (by_bio) /* a flush may end without having been issued by itself */
		claim(rq, id);
	if (again && !in_flight(id, &at))
		return 0; /* the first program has counted it */
	if (flush_follows(rq, bytes, flush)) {
		info = in_flight(id, &at);
		if (info && !info->bytes)
			info->bytes = bytes;
		return 0;
	}
	if (follows() && !(again && bytes < rq->__data_len)) { /* of a part nothing tells whether that one has */
		now = bpf_ktime_get_ns();
		layers_done(rq, bytes, now);
	}
	info = in_flight(id, &at);
	if (!info)
		return 0;
	if (bytes < rq->__data_len) { /* a part; the rest is still to come */
		if (!info->bytes)
			info->bytes = rq->__data_len;
		return 0;
	}
	done = info->bytes;
	done += bytes & (u32)(((u64)done - 1) >> 32); /* where no part has completed; a branch would double what the verifier looks at */
	if (!now)
		now = bpf_ktime_get_ns();
	start = start_of(rq, info);
	/* what goes before its data is the device's work as well */
	issue = (start & -flush) | (rq->io_start_time_ns & (flush - 1));
	if (!start) {
		want_start = 1;
		start = now;
	}
	disk = disk_of(info->dev);
	if (disk) {
		before = fetch_add(&disk->flights, -1ULL);
		nth = before / BEGUN;
	}
	beside = (info->depth ^ 1) | (info->nth ^ nth); /* 0: it came to an idle device, and none came after it */
	if (!issue && info->op <= OP_WRITE) {
		issue = info->issue;
		want_issue = 1;
		if (!issue && disk)
			ADD(disk->untimed, 1);
	} else if (!timed) {
		timed = 1;
	}
	if (issue < start)
		issue = start;
	queue = issue - start;
	device_ns = now > issue ? now - issue : 0;

	size_slot = hist_slot(done);
	row = size_row(size_slot);
	owner_of(info, &owner);
	io = near_io(&owner);
	if (io)
		add_io(io, info, done, row, queue, device_ns, error != 0);
	else
		far_io(id, done, queue, device_ns, error != 0);
	if (error)
		add_failure(id, request_status(error), queue + device_ns);
	place = info->near - 1U;
	near = bpf_map_lookup_elem(&near_devices, &place);
	if (near) {
		add_device(&near->device, info, done, size_slot, row, queue, device_ns, beside);
		if (owner.op <= OP_WRITE)
			b = near_bin(near, now / BIN_NS);
	} else {
		far_device(id, done, queue, device_ns, beside);
	}
	if (owner.op <= OP_WRITE) {
		if (b)
			add_bin(b, done, queue + device_ns, owner.tgid);
		else
			far_bin(owner.dev, now / BIN_NS, done, queue + device_ns, owner.tgid);
	}
	release(&at);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int COUNTING_TWICE(TWICE_BIO, on_bio, struct bio *bio)
{
	return queued(bio, ctx[0]);
}

/* Before e8a676d61c07 (5.11). */
SEC("tp_btf/block_bio_queue")
int COUNTING(on_bio_old, struct request_queue *q, struct bio *bio)
{
	return queued(bio, ctx[1]);
}

SEC("tp_btf/block_bio_remap")
int COUNTING_TWICE(TWICE_REMAP, on_remap, struct bio *bio, u32 dev, u64 from)
{
	struct layer_bio *layer;

	if (!follow)
		return 0;
	layer = layer_remapped(bio, ctx[0], dev, from, request_op(bio->bi_opf, bio->bi_iter.bi_size));
	if (layer)
		add_lower(bio->bi_iter.bi_size, bio->bi_opf & REQ_OP_MASK, layer);
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
