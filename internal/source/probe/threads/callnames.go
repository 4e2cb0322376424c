package threads

import (
	"strconv"
	"strings"
)

// firstLater is the number of the first of laterCalls.
const firstLater = 424

// Since firstLater the numbers are the same on all architectures.
const laterCalls = "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen " +
	"fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 " +
	"process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule " +
	"landlock_restrict_self memfd_secret process_mrelease futex_waitv set_mempolicy_home_node cachestat " +
	"fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount " +
	"lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat " +
	"removexattrat open_tree_attr file_getattr file_setattr listns rseq_slice_yield"

// CallNames are the names of the system calls by their number.
func CallNames() map[int]string {
	names := map[int]string{}
	for first, all := range map[int]string{0: firstCalls, firstLater: laterCalls} {
		for i, name := range strings.Fields(all) {
			if name != "-" {
				names[first+i] = name
			}
		}
	}
	return names
}

// CallNumber is the number of a system call, given by its name or its number.
func CallNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, n >= 0 && n < maxCalls
	}
	for n, known := range CallNames() {
		if known == name {
			return n, true
		}
	}
	return 0, false
}
