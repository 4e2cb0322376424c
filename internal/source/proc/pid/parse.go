package pid

import (
	"bytes"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

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
		var parent, flags uint64
		switch n {
		case 3:
			s.State = f[0]
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
		case fieldBlkio:
			return s, nil
		}
	}
}

// ParseIO reads an io file.
func ParseIO(b []byte) (host.IO, error) {
	var x host.IO
	found := 0
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		var to *uint64
		switch string(key) {
		case "rchar:":
			to = &x.ReadChars
		case "wchar:":
			to = &x.WriteChars
		case "syscr:":
			to = &x.ReadCalls
		case "syscw:":
			to = &x.WriteCalls
		case "read_bytes:":
			to = &x.ReadBytes
		case "write_bytes:":
			to = &x.WriteBytes
		case "cancelled_write_bytes:":
			to = &x.CancelledWriteBytes
		default:
			continue
		}
		f, _ := host.Field(rest)
		v, ok := host.Uint(f)
		if !ok {
			return x, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
		*to = v
		found++
	}
	if found < 6 {
		return x, &host.LineError{Line: 1, What: "figures are missing"}
	}
	return x, nil
}

// Schedstat is /proc/PID/schedstat, or a thread's (Documentation/scheduler/
// sched-stats.rst). The process's file is of its first thread alone.
type Schedstat struct {
	OnCPU  uint64 // nanoseconds
	Delay  uint64 // nanoseconds waited for a processor
	Slices uint64 // times that it ran
}

// ParseSchedstat reads a schedstat file.
func ParseSchedstat(b []byte) (Schedstat, error) {
	line, _ := host.Line(b)
	var v [3]uint64
	for i := range v {
		var f []byte
		f, line = host.Field(line)
		var ok bool
		if v[i], ok = host.Uint(f); !ok {
			return Schedstat{}, &host.LineError{Line: 1, What: fmt.Sprintf("figure %d, %.40q, is not a number", i+1, f)}
		}
	}
	return Schedstat{v[0], v[1], v[2]}, nil
}

// Status is what is read of /proc/PID/status (proc_pid_status(5)).
type Status struct {
	Swap       *uint64 // VmSwap, bytes; nil for kernel threads and the dead
	Processors int     // Cpus_allowed: how many, those that are not online included; 0 when not known
}

// ParseStatus reads a status file.
func ParseStatus(b []byte) (Status, error) {
	var s Status
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		f, _ := host.Field(rest)
		if string(key) == "Cpus_allowed:" {
			processors, ok := ones(f)
			if !ok {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("Cpus_allowed %.40q is no mask", f)}
			}
			s.Processors = processors
		}
		if string(key) != "VmSwap:" {
			continue
		}
		v, ok := host.Uint(f)
		if !ok || v >= 1<<54 {
			return s, &host.LineError{Line: n, What: fmt.Sprintf("VmSwap %.40q is not an amount in kB", f)}
		}
		v *= 1024
		s.Swap = &v
	}
	return s, nil
}

// ones counts the bits of a mask as the kernel prints it: "ff,ffffffff".
func ones(mask []byte) (n int, ok bool) {
	for _, c := range mask {
		if c == ',' {
			continue
		}
		v, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			return 0, false
		}
		n += bits.OnesCount64(v)
	}
	return n, len(mask) > 0
}

// Cgroups are the cgroups of a process, by controller; "" is version 2.
type Cgroups map[string]string

// ParseCgroups reads /proc/PID/cgroup (cgroups(7)): "4:memory:/a" and
// "0::/a". A path may hold blanks and colons, and cannot hold a line's end.
func ParseCgroups(b []byte) (Cgroups, error) {
	c := Cgroups{}
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		if len(line) == 0 {
			continue
		}
		part := strings.SplitN(string(line), ":", 3)
		if len(part) < 3 || !strings.HasPrefix(part[2], "/") {
			return c, &host.LineError{Line: n, What: fmt.Sprintf("%.60q is not a cgroup", line)}
		}
		for _, controller := range strings.Split(part[1], ",") {
			c[controller] = part[2]
		}
	}
	return c, nil
}

// Memory is the path in the hierarchy of the memory controller, "" when there
// is none.
func (c Cgroups) Memory() string { return c.of("memory") }

// IO is the path in the hierarchy of the block I/O controller.
func (c Cgroups) IO() string { return c.of("blkio") }

// CPU is the path in the hierarchy of the processor controller.
func (c Cgroups) CPU() string { return c.of("cpu") }

func (c Cgroups) of(v1 string) string {
	if p, ok := c[v1]; ok {
		return p
	}
	return c[""]
}
