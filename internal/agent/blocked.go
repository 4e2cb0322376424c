package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// What a thread waits for, as far as /proc shows it without a kernel program.
const (
	waitsNot    = iota // it runs, or waits for work, for a client, for time
	waitsMutex         // for a lock of its program
	waitsFile          // for a lock of a file
	waitsKernel        // for a lock of the kernel
	waitsIO            // for a disk, a network file system: it cannot be disturbed
)

// blockedThread is a thread that waits for a lock or for I/O.
type blockedThread struct {
	pid, tid int
	waits    int
	file     int    // of a lock of a file: the number that it is open by
	switches uint64 // how often it went off its processor by itself
}

// mostThreads of a group are looked at: of more it is known what the first do.
const mostThreads = 256

// blockedThreads are the threads of processes that wait for a lock or for I/O,
// and how many threads were looked at. What has ended, is frozen, or may not be
// looked at, does not wait.
func blockedThreads(h *host.Host, pids []int) (all []blockedThread, threads int) {
	frozen := newFreezer(h)
	for _, pid := range pids {
		if frozen.has(pid) {
			continue
		}
		tasks, err := os.ReadDir(h.Proc(strconv.Itoa(pid), "task"))
		if err != nil {
			continue
		}
		for _, t := range tasks {
			if threads++; threads > mostThreads {
				return all, mostThreads
			}
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			dir := h.Proc(strconv.Itoa(pid), "task", t.Name())
			b := blockedThread{pid: pid, tid: tid}
			if b.waits, b.file = waitOf(dir); b.waits != waitsNot {
				b.switches = switchesOf(dir)
				all = append(all, b)
			}
		}
	}
	return all, threads
}

// waitOf tells what a thread waits for, from proc_pid_syscall(5), its state and
// the function of the kernel that it sleeps in.
func waitOf(dir string) (waits, file int) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return waitsNot, 0
	}
	rest := bytes.TrimLeft(host.BehindName(stat), " ")
	if len(rest) == 0 || rest[0] != 'S' && rest[0] != 'D' {
		return waitsNot, 0
	}
	call, err := os.ReadFile(filepath.Join(dir, "syscall"))
	if err != nil {
		call = nil // without the right to look, what the kernel's function says is left
	}
	f := strings.Fields(string(call))
	argument := func(n int) uint64 {
		if len(f) <= n {
			return 0
		}
		v, _ := strconv.ParseUint(strings.TrimPrefix(f[n], "0x"), 16, 64) // "running" has none
		return v
	}
	number := -1
	if len(f) > 3 {
		number, _ = strconv.Atoi(f[0])
	}
	switch {
	case number == unix.SYS_FLOCK, number == unix.SYS_FCNTL && (argument(2) == unix.F_SETLKW || argument(2) == unix.F_OFD_SETLKW):
		return waitsFile, int(argument(1))
	case number == unix.SYS_FUTEX && rest[0] == 'S' && contended(uint32(argument(2)), uint32(argument(3))):
		return waitsMutex, 0
	case rest[0] == 'S':
		return waitsNot, 0
	}
	in, err := os.ReadFile(filepath.Join(dir, "wchan"))
	if err == nil && (strings.Contains(string(in), "mutex") || strings.Contains(string(in), "rwsem") || strings.Contains(string(in), "down_")) {
		return waitsKernel, 0
	}
	return waitsIO, 0
}

// contended tells a wait for a mutex that another thread has from one for work,
// as futex.bpf.h does: by the values that the C library, Rust and those that
// follow them give to a lock with waiters.
func contended(op, value uint32) bool {
	const (
		command               = 0x7f // without the flags
		wait, waitBits        = 0, 9
		lockPI, lockPI2       = 6, 13
		waiters, owner, limit = 1 << 31, 1<<30 - 1, 4 << 20
	)
	switch op & command {
	case lockPI, lockPI2:
		return true
	case wait, waitBits:
		return value == 2 || value&waiters != 0 && value&owner < limit
	}
	return false
}

// switchesOf is how often a thread gave up its processor by itself: a thread in
// which that stands still has not run.
func switchesOf(dir string) uint64 {
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	switches, _ := host.StatusField(b, "voluntary_ctxt_switches")
	n, _ := strconv.ParseUint(switches, 10, 64)
	return n
}

// holderOf is the process that holds the lock of a file that another one waits
// for, 0 when /proc/locks does not say: one line for each lock, and behind it
// one with an arrow for each that waits.
func holderOf(h *host.Host, waiting int) int {
	b, err := os.ReadFile(h.Proc("locks"))
	if err != nil {
		return 0
	}
	holder, of := 0, ""
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		arrow := len(f) > 1 && f[1] == "->"
		if arrow {
			f = append(f[:1], f[2:]...)
		}
		if len(f) < 5 {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		switch {
		case err != nil:
		case !arrow:
			holder, of = pid, f[0]
		case pid == waiting && f[0] == of:
			return holder
		}
	}
	return 0
}
