package host

import (
	"bytes"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// crowd is how many runnable threads a processor must have for Hurry: among fewer we
// get our turn soon enough.
const crowd = 4

// Hurry gives us precedence on a machine whose processors are crowded, until undo:
// among hundreds of runnable threads the second of processor time that a diagnosis
// takes would else last minutes. It does nothing where that is not allowed. What is
// started meanwhile inherits it.
func (h *Host) Hurry() (undo func()) {
	none := func() {}
	if !h.IsLive || h.runnable() < crowd*runtime.NumCPU() {
		return none
	}
	old, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return none
	}
	h.prioritize(-20)
	return func() { h.prioritize(20 - old) } // the system call returns 20 less the nice value
}

// runnable is how many threads of the machine run or want to; 0 if not known.
func (h *Host) runnable() int {
	b, err := os.ReadFile(h.Proc("loadavg"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b) // "0.42 0.31 0.20 3/512 1234"
	if len(fields) < 4 {
		return 0
	}
	running, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(running))
	if err != nil {
		return 0
	}
	return n
}

// prioritize sets the nice value of all our threads: the kernel has one for each. It
// goes over them twice, for those that were started meanwhile.
func (h *Host) prioritize(nice int) {
	for range 2 {
		threads, err := os.ReadDir(h.Proc("self", "task"))
		if err != nil {
			return
		}
		for _, t := range threads {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, tid, nice) // not allowed, or it has ended: then as it was
			}
		}
	}
}
