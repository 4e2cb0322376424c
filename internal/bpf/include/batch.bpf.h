/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a read call's look-up in the page cache found, a batch of folios of a file, and what a fault wants of one. */
#pragma once

#include "kprobe.bpf.h"
#include "twice.bpf.h"

/* Of the page cache's pages, which have 4 KiB, and with some kernels of arm64 16 or 64: bytes, as a power of two. */
const volatile u32 page_shift = 12;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct folio_batch {
	unsigned char nr;
	struct folio *folios[15]; /* or 31 */
};
struct pagevec { /* before 25d6a23e8d28 (5.17) */
	unsigned char nr;
	struct page *pages[15];
};
/* Apart from struct file, so that programs without use for it stay as they are. */
struct file___mapping {
	struct address_space *f_mapping;
};
struct vm_area_struct {
	struct file *vm_file;
};
struct readahead_control {
	struct address_space *mapping;
	unsigned long _index;
};
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	void *pte;
};

#pragma clang attribute pop

static __always_inline struct inode *inode_of(struct kiocb *iocb)
{
	struct file___mapping *file = (void *)OF(iocb, ki_filp);

	return OF(file, f_mapping, host);
}

static __always_inline struct inode *faulting(struct vm_fault *vmf)
{
	struct file___mapping *file = (void *)OF(vmf, vma, vm_file);

	return OF(file, f_mapping, host);
}

/*
 * The programs that see faults of mapped files: faulted(inode, index) is called of each,
 * at the tracepoint (unless it does not count there) or at the function that it was put
 * into, which is called for what lies beyond the end of the file, too.
 */
#define FAULT_PROGRAMS(counts, faulted)						\
	SEC("tp_btf/mm_filemap_fault")						\
	int COUNTING(on_fault, struct address_space *mapping, unsigned long index) \
	{									\
		struct inode *inode = LOOSE(struct address_space, mapping)->host; \
										\
		return counts(inode, index) ? faulted(inode, index) : 0;	\
	}									\
	static __always_inline int faults(struct vm_fault *vmf)			\
	{									\
		struct inode *inode = faulting(vmf);				\
		u64 size = OF(inode, i_size), index = OF(vmf, pgoff);		\
										\
		return size && index <= (size - 1) >> page_shift ? faulted(inode, index) : 0; \
	}									\
	SEC("fentry/filemap_fault")						\
	int COUNTING_TWICE(TWICE_FAULT, fault, struct vm_fault *vmf)		\
	{									\
		return faults(vmf);						\
	}									\
	SEC("kprobe")								\
	int COUNTING_CALL(fault_called)						\
	{									\
		return faults((void *)ARGUMENT0(ctx));				\
	}

/*
 * The programs that see what a read has to have now, with what is read ahead for it:
 * needed(file_hash, index, pages) is called of each, at the tracepoint, at its event, or
 * at the function that it was put into (6.15). Who includes this has a file_hash.
 */
#define READAHEAD_PROGRAMS(needed)						\
	SEC("tp_btf/page_cache_sync_ra")					\
	int COUNTING(on_sync_readahead, struct inode *inode, unsigned long index, void *ra, unsigned long request) \
	{									\
		inode = LOOSE(struct inode, inode);				\
		return needed(file_hash(inode->i_ino, inode->i_sb->s_dev), index, request); \
	}									\
	SEC("tracepoint/readahead/page_cache_sync_ra")				\
	int COUNTING_EVENT(event_sync_readahead, trace_event_raw_page_cache_ra_op) \
	{									\
		return needed(file_hash(event->i_ino, event->s_dev), event->index, event->req_count); \
	}									\
	static __always_inline int needs(struct readahead_control *control, u64 request) \
	{									\
		struct inode *inode = OF(control, mapping, host);		\
										\
		return needed(file_hash(OF(inode, i_ino), OF(inode, i_sb, s_dev)), OF(control, _index), request); \
	}									\
	SEC("fentry/page_cache_sync_ra")					\
	int COUNTING_TWICE(TWICE_NEED, sync_readahead, struct readahead_control *control, unsigned long request) \
	{									\
		return needs(LOOSE(struct readahead_control, control), request); \
	}									\
	/* Before fcd9ae4f7f3b (5.12) with a file's own state between. */	\
	SEC("fentry/page_cache_sync_ra")					\
	int COUNTING(sync_readahead_old, struct readahead_control *control, void *state, unsigned long request) \
	{									\
		return needs(LOOSE(struct readahead_control, control), request); \
	}									\
	SEC("kprobe")								\
	int COUNTING_CALL(sync_readahead_called)				\
	{									\
		return needs((void *)ARGUMENT0(ctx), ARGUMENT1(ctx));		\
	}									\
	SEC("kprobe")								\
	int COUNTING_CALL(sync_readahead_old_called)				\
	{									\
		return needs((void *)ARGUMENT0(ctx), ARGUMENT2(ctx));		\
	}

static __always_inline u32 batch_size(struct folio_batch *batch)
{
	return bpf_core_type_exists(struct folio_batch) ? OF(batch, nr) : OF((struct pagevec *)batch, nr);
}

/*
 * The last page of a batch, whose address lies at an address: it is read as a
 * number, since verifiers refuse arithmetic on the pointer itself.
 */
static __always_inline u64 batch_end(const void *at, u32 nr)
{
	u64 batch, folio = 0, flags = 0, pages = 1;
	struct folio *f;

	bpf_probe_read_kernel(&batch, sizeof(batch), at);
	batch += (bpf_core_type_exists(struct folio_batch) ? bpf_core_field_offset(struct folio_batch, folios)
							    : bpf_core_field_offset(struct pagevec, pages)) + (nr - 1) * sizeof(u64);
	bpf_probe_read_kernel(&folio, sizeof(folio), (void *)batch);
	f = (void *)folio;
	bpf_probe_read_kernel(&flags, sizeof(flags), f);
	if (flags & 1ULL << bpf_core_enum_value(enum pageflags, PG_head))
		pages = large_pages(f);
	return READ_FOLIO(f, index) + pages - 1;
}

/*
 * Whether a look-up at index, of a call up to end, may be the rest of a call of as many
 * pages as the one before, which it follows at once: the kernel tells nothing of a batch
 * whose last folio is being read. Of one page none is left out. That the thread has
 * waited for that folio is for who asks to know.
 */
static __always_inline bool may_follow(u64 last, u64 request, u64 index, u64 end)
{
	return request > 1 && index > last + 1 && end - last - request <= 1;
}
