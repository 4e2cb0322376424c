package host

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// capSysNice is the number of the capability that changes the timers of other threads.
const capSysNice = 23

// relaxed is how much later than asked sleeps may end while they are relaxed, in ns.
const relaxed = 1_000_000

// RelaxTimers lets sleeps of this process's threads last up to a millisecond longer
// until undo is called. Go's monitor thread looks every 20 µs whether a thread is in a
// system call for long, to have another one go on in its place. While kernel programs
// are loaded, which is nothing but such calls, that takes a tenth of the processor's
// time. It does nothing where that is not allowed, or done already. A command that is
// started meanwhile inherits it.
func (h *Host) RelaxTimers() (undo func()) {
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || before >= relaxed || !h.IsLive || !h.HasCapability(capSysNice) {
		return func() {}
	}
	setSlack(relaxed)
	return func() { setSlack(before) }
}

// setSlack sets how late timers of all threads may end: /proc/PID/timerslack_ns of
// fs/proc/base.c, which exists for the number of each thread. A thread has it from the
// one that started it, so they are looked for until there are no new ones.
func setSlack(ns int) {
	value, set := []byte(strconv.Itoa(ns)), map[string]bool{}
	for before := -1; before < len(set); {
		before = len(set)
		threads, _ := os.ReadDir("/proc/self/task") // without it nothing is gained or lost
		for _, t := range threads {
			if !set[t.Name()] {
				_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", value, 0) // fails of one that has ended
				set[t.Name()] = true
			}
		}
	}
}
