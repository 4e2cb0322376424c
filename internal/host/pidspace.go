package host

import "os"

// firstPIDs is the PID namespace of the machine (PROC_PID_INIT_INO in
// include/linux/proc_ns.h), whose numbers the kernel's programs tell.
const firstPIDs = "pid:[4026531836]"

// NumbersApart says that numbers of processes here are others than the kernel's.
const NumbersApart = "iocause has a PID namespace of its own, as in a container: the kernel's programs tell the machine's numbers of processes, and /proc others"

// SharePIDs is what to do about that.
const SharePIDs = "start the container in the machine's (--pid=host; Kubernetes: hostPID: true)"

// HasOwnPIDs tells whether they are.
func (h *Host) HasOwnPIDs() bool {
	is, err := os.Readlink(h.Proc("self/ns/pid"))
	return err == nil && h.IsLive && is != firstPIDs
}
