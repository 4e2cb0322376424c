package pid

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// Stat is what is read of /proc/PID/stat (proc_pid_stat(5)). Times are clock
// ticks. All but BlkioDelay are of the whole process; that is of its first
// thread alone.
type Stat struct {
	PID           int
	Comm          string // any bytes, even line ends and ")"
	State         byte   // 'R', 'S', 'D', 'Z' ...
	Kernel        bool   // a kernel thread
	Parent        int    // the process that it is a child of; 0 for none
	MajorFaults   uint64
	User, System  uint64
	Children      uint64 // processor time of the children that it waited for, and of theirs
	Nice          int    // of its first thread: -20 to 19, the lowest priority
	Threads       uint64
	Start         uint64 // since boot
	RSS           uint64 // pages
	BlkioDelay    uint64 // 0 unless the kernel accounts delays
	HasBlkioDelay bool
}

// kthread is PF_KTHREAD of include/linux/sched.h.
const kthread = 0x00200000

// Places of the fields behind the name; "state" is field 3 of proc_pid_stat(5).
const (
	fieldParent     = 4
	fieldFlags      = 9
	fieldMajorFault = 12
	fieldUser       = 14
	fieldSystem     = 15
	fieldChildUser  = 16
	fieldChildSys   = 17
	fieldNice       = 19
	fieldThreads    = 20
	fieldStart      = 22
	fieldRSS        = 24
	fieldBlkio      = 42
)

// ParseStat reads a stat file. The name is between the first "(" and the last
// ")": nothing behind it can hold one.
func ParseStat(b []byte) (Stat, error) {
	s, err := parseStat(b)
	if err != nil {
		return Stat{}, err
	}
	s.Comm = string(comm(b))
	return s, nil
}

// comm is the name in a stat file that parseStat accepts.
func comm(b []byte) []byte {
	return b[bytes.IndexByte(b, '(')+1 : bytes.LastIndexByte(b, ')')]
}

// parseStat is ParseStat without the name, which few readers need.
func parseStat(b []byte) (Stat, error) {
	var s Stat
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return s, &host.LineError{Line: 1, What: "the name in brackets is missing"}
	}
	pid, ok := host.Uint(bytes.TrimSpace(b[:open]))
	if !ok || pid == 0 || pid > 1<<31-1 {
		return s, &host.LineError{Line: 1, What: fmt.Sprintf("%.40q is not a process id", b[:open])}
	}
	s.PID = int(pid)
	rest, _ := host.Line(host.BehindName(b))
	var f []byte
	for n := 3; ; n++ {
		if f, rest = host.Field(rest); len(f) == 0 {
			if n <= fieldRSS {
				return s, &host.LineError{Line: 1, What: fmt.Sprintf("field %d is missing", n)}
			}
			return s, nil
		}
		var to *uint64
		var parent, flags, system uint64
		switch n {
		case 3:
			s.State = f[0]
			continue
		case fieldNice:
			if s.Nice, ok = nice(f); !ok {
				return s, &host.LineError{Line: 1, What: fmt.Sprintf("field %d, %.40q, is no nice value", n, f)}
			}
			continue
		case fieldParent:
			to = &parent
		case fieldFlags:
			to = &flags
		case fieldMajorFault:
			to = &s.MajorFaults
		case fieldUser:
			to = &s.User
		case fieldSystem:
			to = &s.System
		case fieldChildUser:
			to = &s.Children
		case fieldChildSys:
			to = &system
		case fieldThreads:
			to = &s.Threads
		case fieldStart:
			to = &s.Start
		case fieldRSS:
			to = &s.RSS
		case fieldBlkio:
			to, s.HasBlkioDelay = &s.BlkioDelay, true
		default:
			continue
		}
		if *to, ok = host.Uint(f); !ok {
			return s, &host.LineError{Line: 1, What: fmt.Sprintf("field %d, %.40q, is not a number", n, f)}
		}
		switch n {
		case fieldParent:
			s.Parent = int(min(parent, 1<<31-1))
		case fieldFlags:
			s.Kernel = flags&kthread != 0
		case fieldChildSys:
			s.Children += system
		case fieldBlkio:
			return s, nil
		}
	}
}

// nice reads "0" or "-5".
func nice(field []byte) (int, bool) {
	digits, below := bytes.CutPrefix(field, []byte("-"))
	n, ok := host.Uint(digits)
	if below {
		return -int(n), ok && n <= 20
	}
	return int(n), ok && n < 20
}
