package host

import "cmp"

// nameVariable has the host's name where the kernel tells another: in a pod, the
// pod's.
const nameVariable = "IOCAUSE_HOST"

// Name is the host's name, "" where it cannot be read.
func (h *Host) Name() string { return cmp.Or(h.called, h.kernelSetting("hostname")) }

// Release is the release of the kernel, "" where it cannot be read.
func (h *Host) Release() string { return h.kernelSetting("osrelease") }

// DelayAccounting tells whether the kernel accounts waits for I/O; known is false
// before Linux 5.14, where no file tells.
func (h *Host) DelayAccounting() (on, known bool) {
	s, err := readString(h.Proc("sys", "kernel", "task_delayacct"))
	return s == "1", err == nil
}

// kernelSetting is a line of /proc/sys/kernel, "" where it cannot be read.
func (h *Host) kernelSetting(name string) string {
	s, _ := readString(h.Proc("sys", "kernel", name))
	return s
}
