package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// mark is the environment variable that a load and all that it starts carry. It
// tells them also when they have left the load's process group and their parents
// are gone, as those of a daemon are.
const mark = "IOCAUSE_LAB_LOAD"

const (
	// grace is how long those whom a load has left behind may take to end when
	// they are asked to.
	grace = 2 * time.Second
	// longestDeath is how long the kernel may need to end a process: one that
	// waits for a slow disk dies when that has answered.
	longestDeath = 30 * time.Second
)

// leader is the first process of a load.
type leader struct {
	pid   int
	start uint64 // ticks since boot, which tells it from another with its number
	mark  string // what its family carries; "": nothing
}

// family are the processes of a load that live, but for its first: those in its
// process group, those that carry its mark, and whom one of them has started. The
// group is known by its number only while the first process can still be seen,
// dead or alive: later that may be somebody else's.
func (l *leader) family(h *host.Host) ([]int, error) {
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return nil, fmt.Errorf("look for the processes of a load: %w", err)
	}
	all := map[int][]string{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if fields, err := h.StatFields(pid); err == nil { // else it has ended
				all[pid] = fields
			}
		}
	}
	known, own := map[int]bool{}, strconv.Itoa(l.pid)
	if fields := all[l.pid]; fields != nil && fields[host.StatStart] == strconv.FormatUint(l.start, 10) {
		known[l.pid] = true
	}
	for pid, fields := range all {
		if known[l.pid] && fields[host.StatGroup] == own || l.marked(h, pid) {
			known[pid] = true
		}
	}
	for more := true; more; {
		more = false
		for pid, fields := range all {
			if parent, err := strconv.Atoi(fields[host.StatParent]); err == nil && known[parent] && !known[pid] {
				known[pid], more = true, true
			}
		}
	}
	var members []int
	for pid := range known {
		// The dead stay until their parents look, and not every init does.
		if state := all[pid][host.StatState]; pid != l.pid && pid != os.Getpid() && state != "Z" && state != "X" {
			members = append(members, pid)
		}
	}
	return members, nil
}

// marked tells whether a process carries the mark. One whose environment may not
// be read was not started here.
func (l *leader) marked(h *host.Host, pid int) bool {
	if l.mark == "" {
		return false
	}
	b, err := os.ReadFile(h.Proc(strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if string(entry) == mark+"="+l.mark {
			return true
		}
	}
	return false
}

// signal sends a signal to the whole family, 0 being none.
func (l *leader) signal(h *host.Host, s unix.Signal) (members int, err error) {
	family, err := l.family(h)
	for _, pid := range family {
		if killErr := unix.Kill(pid, s); killErr != nil && !errors.Is(killErr, unix.ESRCH) {
			err = errors.Join(err, fmt.Errorf("signal %d to process %d: %w", s, pid, killErr))
		}
	}
	return len(family), err
}

// endFamily asks the family to end, ends it after patience, and returns when none
// of it lives. It looks again until then, as what dies may have forked.
func (l *leader) endFamily(h *host.Host, patience time.Duration) error {
	s := unix.SIGTERM
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		took := time.Since(begun)
		if took >= patience {
			s = unix.SIGKILL
		}
		members, err := l.signal(h, s)
		if members == 0 || err != nil {
			return err
		}
		if took > patience+longestDeath {
			return fmt.Errorf("%d processes of a load (process group %d) cannot be killed; see what they wait for in the kernel: 'ps -eo pid,pgid,stat,wchan'", members, l.pid)
		}
		s = 0 // once asked, they are only looked at
	}
}

// kill ends the load, first process and all.
func (l *leader) kill(h *host.Host) error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		members, err := l.signal(h, unix.SIGKILL)
		if err != nil {
			return err
		}
		if alive(h, l.pid, l.start) {
			members++
			if err := unix.Kill(l.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", l.pid, err)
			}
		}
		if members == 0 {
			return nil
		}
		if time.Since(begun) > longestDeath {
			return fmt.Errorf("%d processes of a load (process group %d) cannot be killed; see what they wait for in the kernel: 'ps -eo pid,pgid,stat,wchan'", members, l.pid)
		}
	}
}
