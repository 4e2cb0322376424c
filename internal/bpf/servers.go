package bpf

// ServerWaits are kernel functions in which a thread waits for the answer of a file
// server: NFS, SMB, 9p, Ceph.
func ServerWaits() []string {
	return []string{
		"rpc_wait_bit_killable", "nfs_wait_bit_killable", "nfs_wait_on_request", "nfs_direct_wait", "nfs_file_direct_read",
		"nfs_file_direct_write", "nfs4_wait_clnt_recover", "wait_for_response", "compound_send_recv", "wait_for_free_credits",
		"__cifs_readv", "__cifs_writev",
		// what SMB, 9p and Ceph have in common since 6.8
		"netfs_begin_read", "netfs_unbuffered_read", "netfs_unbuffered_read_iter_locked", "netfs_unbuffered_write",
		"netfs_unbuffered_write_iter_locked", "netfs_wait_for_outstanding_io",
		"p9_client_rpc", "ceph_mdsc_do_request", "ceph_mdsc_wait_request", "ceph_osdc_wait_request", "wait_request_timeout",
		"__ceph_get_caps", "ceph_fsync",
	}
}

// DaemonWaits are those in which it waits for the answer of a FUSE daemon.
func DaemonWaits() []string {
	return []string{"request_wait_answer", "fuse_get_req", "fuse_direct_IO", "fuse_wait_on_page_writeback",
		"fuse_set_nowrite"} // in fsync: before 6.16 what is written back is a copy, and the page itself is done with
}

// PermitWaits are those in which it waits until a program allows that it opens or reads
// a file (fanotify): a virus scanner, fapolicyd.
func PermitWaits() []string {
	return []string{"fanotify_get_response", "fanotify_handle_event"}
}
