package pagecache

import (
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// What a thread waits for, in the order of enum wait_for in account.bpf.h. They
// are the Class of wait.for; the first is what no stack told.
func waitsFor() [15]string {
	return [15]string{sample.ClassUnknown, sample.ClassPage, sample.ClassMetadata, sample.ClassWriteback, sample.ClassCommit, sample.ClassFlush,
		sample.ClassQueue, sample.ClassDirect, sample.ClassNetwork, sample.ClassFUSE, sample.ClassSwap, sample.ClassJournal, sample.ClassLimit, sample.ClassSpace, sample.ClassPermit}
}

// waitIn names kernel functions in which a thread sleeps, and what it then waits
// for. The innermost function of the stack that is named here counts, so those
// that wait for anything (folio_wait_bit_common, submit_bio_wait) are left to who
// calls them. Names of functions that a kernel lacks do no harm.
func waitIn() map[string][]string {
	return map[string][]string{
		// data of a file that is to be in the page cache
		sample.ClassPage: {
			"filemap_read_folio", "filemap_update_page", "filemap_get_pages", "filemap_read", "filemap_fault", "filemap_splice_read",
			"generic_file_buffered_read", "do_read_cache_folio", "do_read_cache_page", "read_cache_folio", "page_cache_ra_unbounded",
			"page_cache_ra_order", "iomap_write_begin", "block_write_begin", "__block_write_begin_int", "ext4_block_write_begin",
			"prepare_one_folio", "netfs_read_folio", "squashfs_readpage_block",
		},
		// blocks of the file system's own: inodes, directories, maps of blocks
		sample.ClassMetadata: {
			"__wait_on_buffer", "__bread_gfp", "bh_read", "__bh_read", "ext4_bread", "ext4_sb_bread_nofail", "__ext4_get_inode_loc",
			"ext4_wait_block_bitmap", "ext4_read_inode_bitmap", "xfs_buf_iowait", "xfs_buf_read_map", "read_extent_buffer_pages",
			"read_extent_buffer_pages_nowait", "wait_on_extent_buffer", "btrfs_read_extent_buffer", "f2fs_get_meta_page",
		},
		// what the kernel writes from the page cache
		sample.ClassWriteback: {
			"folio_wait_writeback", "folio_wait_writeback_killable", "folio_wait_stable", "wait_on_page_writeback", "__filemap_fdatawait_range",
			"sync_inodes_sb", "sync_filesystem", "inode_wait_for_writeback", "__inode_wait_for_writeback", "file_write_and_wait_range",
			"btrfs_wait_ordered_range", "btrfs_start_ordered_extent", "btrfs_start_ordered_extent_nowriteback", "btrfs_wait_ordered_extents",
			// room for the metadata of what is written: given back when data before it is on the disk
			"__reserve_bytes", "handle_reserve_ticket", "wait_reserve_ticket",
		},
		// free space: what was written must get its place on the disk before more is taken
		sample.ClassSpace: {"try_to_writeback_inodes_sb"},
		// a commit of the journal, as a sync wants it
		sample.ClassCommit: {
			"jbd2_log_wait_commit", "ext4_fc_commit", "jbd2_fc_begin_commit",
			"jbd2_fc_wait_bufs", "xlog_wait_on_iclog", "xlog_wait_on_iclog_lsn", "xlog_cil_force_seq",
			"xfs_log_force", "xfs_log_force_seq", "btrfs_commit_transaction", "btrfs_wait_for_commit",
			"wait_for_commit", "btrfs_sync_log", "wait_log_commit", "wait_for_writer", "f2fs_issue_checkpoint",
		},
		// room in the journal, or what a commit of others holds, by who changes a file system
		sample.ClassJournal: {
			"__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint", "add_transaction_credits", "start_this_handle",
			"wait_transaction_locked", "wait_transaction_switching", "do_get_write_access",
			"xlog_grant_head_wait", "xlog_state_get_iclog_space", "wait_current_trans",
		},
		// the device's own cache, to be brought onto its medium
		sample.ClassFlush: {"blkdev_issue_flush", "__blkdev_issue_flush", "f2fs_issue_flush"},
		// room in a queue on the way to the device
		sample.ClassQueue: {
			"blk_mq_get_tag", "wbt_wait", "__bio_queue_enter", "blk_queue_enter", "md_write_start",
			"raid5_get_active_stripe", "wait_barrier",
		},
		// what io.cost or io.latency grants its cgroup, before its request or, for what
		// was done without a look at that, at the end of the system call
		sample.ClassLimit: {"ioc_rqos_throttle", "blkcg_iolatency_throttle", "blkcg_maybe_throttle_blkg", "blkcg_maybe_throttle_current"},
		// I/O past the page cache
		sample.ClassDirect: {
			"__iomap_dio_rw", "iomap_dio_rw", "__blockdev_direct_IO", "__blkdev_direct_IO_simple", "blkdev_direct_IO", "btrfs_direct_read",
			"btrfs_direct_write", "inode_dio_wait", "__inode_dio_wait",
		},
		sample.ClassNetwork: bpf.ServerWaits(),
		sample.ClassFUSE:    bpf.DaemonWaits(),
		sample.ClassPermit:  bpf.PermitWaits(),
		sample.ClassSwap:    {"do_swap_page", "swap_read_folio", "swap_readpage", "shmem_swapin_folio"},
	}
}

// noIO names functions in which a thread sleeps uninterruptibly, and not for I/O: for
// locks and memory, which other probes count, and for other processes. Unless a
// function further out says what it waits for.
func noIO() []string {
	return slices.Concat(bpf.LockSleeps(), bpf.MappingSleeps(), bpf.ReclaimSleeps(), bpf.ForkSleeps(), bpf.StoppedSleeps(), []string{
		"__mutex_lock_killable_slowpath", "mutex_lock_killable", "percpu_down_write", "__down_killable", "__down_common", "__lock_sock",
		// files of the kernel's own: no file system is waited for
		"kernfs_fop_write_iter", "proc_sys_call_handler",
	})
}

// readRules looks the functions of waitIn and noIO up.
func readRules(h *host.Host) ([]bpf.Rule, error) {
	classes := map[string]uint32{}
	for _, name := range noIO() {
		classes[name] = bpf.None
	}
	for n, what := range waitsFor() {
		class := uint32(n)
		switch what {
		case sample.ClassMetadata, sample.ClassCommit, sample.ClassFlush: // to make room, these are waited for, too
			class |= bpf.Inner
		case sample.ClassJournal:
			class |= bpf.Outer
		}
		for _, name := range waitIn()[what] {
			classes[name] = class
		}
	}
	return bpf.ReadRules(h, classes)
}
