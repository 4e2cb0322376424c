package host

import "os"

// firstCgroups is the cgroup namespace of the machine (PROC_CGROUP_INIT_INO in
// include/linux/proc_ns.h), in which the path of each cgroup begins at the root of all.
const firstCgroups = "cgroup:[4026531835]"

// CgroupsApart says that paths of cgroups here are others than the machine's, and what
// to do about it.
const CgroupsApart = "iocause has a cgroup namespace of its own, as in a container: / is the container's own cgroup, and limits of others cannot be read; share the machine's (podman and docker run: --cgroupns=host)"

// HasOwnCgroups tells whether they are.
func (h *Host) HasOwnCgroups() bool {
	is, err := os.Readlink(h.Proc("self/ns/cgroup"))
	return err == nil && h.IsLive && is != firstCgroups
}
