package pagecache

import (
	"strings"
	"testing"

	"iocause/internal/sample"
)

// What threads slept in while an OSD of Ceph, or its metadata server, was stopped, as
// /proc/PID/stack of Linux 6.12 had it, innermost first: what they wait for.
func TestStacksOfAHungCephServer(t *testing.T) {
	classes := map[string]string{}
	for class, names := range waitIn() {
		for _, name := range names {
			classes[name] = class
		}
	}
	for stack, want := range map[string]string{
		"folio_wait_bit_common filemap_get_pages filemap_read ceph_read_iter vfs_read":                                       sample.ClassPage, // whose file it is tells which server
		"wait_request_timeout ceph_direct_read_write ceph_read_iter vfs_read":                                                sample.ClassNetwork,
		"wait_woken __ceph_get_caps ceph_read_iter vfs_read":                                                                 sample.ClassNetwork,
		"wait_woken __ceph_get_caps ceph_write_iter vfs_write":                                                               sample.ClassNetwork,
		"ceph_mdsc_wait_request ceph_mdsc_do_request ceph_atomic_open path_openat":                                           sample.ClassNetwork,   // of the metadata server
		"folio_wait_bit_common folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range ceph_fsync do_fsync": sample.ClassWriteback, // so does it here
	} {
		got := ""
		for _, name := range strings.Fields(stack) {
			if got == "" {
				got = classes[name]
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", stack, got, want)
		}
	}
}
