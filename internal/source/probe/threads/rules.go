package threads

import (
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/host"
)

// waitIn names kernel functions in which a thread sleeps uninterruptibly
// without the I/O wait flag, and what it then waits for. The innermost function
// of the stack that is named here counts. Names of functions that a kernel
// lacks do no harm.
func waitIn() map[State][]string {
	return map[State][]string{
		FileSystem: slices.Concat(bpf.ServerWaits(), bpf.DaemonWaits(), bpf.PermitWaits(), []string{
			// inside of these, and where a page of a server's file is waited for
			"nfs_wait_client_init_complete", "netfs_wait_for_read", "netfs_wait_for_write", "netfs_wait_for_in_progress",
			"netfs_wait_for_in_progress_stream", "netfs_wait_for_pause", "netfs_wait_for_paused_read", "netfs_wait_for_paused_write",
			// ext4: journal commits, room in the journal, buffers that a commit holds
			"jbd2_log_wait_commit", "__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint", "add_transaction_credits",
			"start_this_handle", "wait_transaction_locked", "wait_transaction_switching", "do_get_write_access",
			"jbd2_journal_lock_updates", "jbd2_journal_wait_updates", "jbd2_fc_begin_commit", "jbd2_fc_wait_bufs",
			"jbd2_journal_commit_transaction", "ext4_fc_commit", "ext4_fc_track_inode",
			// XFS: log forces and room in the log
			"xlog_wait_on_iclog", "xlog_wait_on_iclog_lsn", "xlog_grant_head_wait", "xlog_cil_order_write", "xlog_cil_force_seq",
			"xlog_state_get_iclog_space", "xfs_log_force", "xfs_log_force_seq", "xfs_ail_push_all_sync", "xfs_buf_lock",
			// btrfs: transactions, the log tree, ordered extents, reservations
			"btrfs_commit_transaction", "btrfs_wait_for_commit", "wait_current_trans", "wait_for_commit", "btrfs_sync_log",
			"wait_log_commit", "wait_for_writer", "btrfs_wait_ordered_range", "btrfs_start_ordered_extent",
			"btrfs_start_ordered_extent_nowriteback", "__reserve_bytes", "handle_reserve_ticket", "wait_reserve_ticket", "btrfs_wait_ordered_extents",
			// f2fs
			"f2fs_issue_checkpoint", "f2fs_wait_on_all_pages", "f2fs_issue_flush", "f2fs_balance_fs",
			// all: inodes and super blocks under writeback, direct I/O in flight, frozen file systems
			"inode_wait_for_writeback", "__inode_wait_for_writeback", "wb_wait_for_completion", "sync_inodes_sb",
			"inode_dio_wait", "__inode_dio_wait", "__wait_on_freeing_inode", "freeze_super", "sb_wait_write",
		}),
		Disk: {
			"submit_bio_wait", "blk_execute_rq", "md_flush_request", "md_write_start", "raid5_get_active_stripe", "wait_barrier",
			"raid1_read_request", "raid10_read_request", "blk_mq_freeze_queue_wait", "bch_btree_node_read", "dm_wait_for_completion",
			"__blkdev_issue_flush", "read_events",
		},
		Reclaim:    bpf.ReclaimSleeps(),
		DirtyPause: {"balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"},
		MmapLock:   bpf.MappingSleeps(),
		// The tracepoints tell these; the names count for threads that waited
		// before we looked, and on kernels before 5.19.
		KernelLock: bpf.LockSleeps(),
		Idle:       bpf.ForkSleeps(),
		Stopped:    bpf.StoppedSleeps(),
		Network:    {"sk_stream_wait_memory", "wait_for_connect", "sk_wait_data", "__lock_sock"},
	}
}

// readRules looks the functions of waitIn up.
func readRules(h *host.Host) ([]bpf.Rule, error) {
	classes := map[string]uint32{}
	for s, names := range waitIn() {
		for _, name := range names {
			classes[name] = uint32(s)
		}
	}
	return bpf.ReadRules(h, classes)
}
