package procfile

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"iocause/internal/host"
)

// ParseIO reads /proc/PID/io (proc_pid_io(5)).
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

// ReadIO reads one.
func ReadIO(path string) (host.IO, error) {
	b, err := host.Read(path, nil)
	if err != nil {
		return host.IO{}, fmt.Errorf("reading the I/O of a process: %w", err)
	}
	x, err := ParseIO(b)
	return x, host.In(path, err)
}

// Status is what is read of /proc/PID/status (proc_pid_status(5)), in bytes. Kernel
// threads and processes that have ended have no memory: nil.
type Status struct {
	Anon, File, Shmem *uint64 // resident: its own data, mapped pages of files, shared memory and tmpfs
	Swap              *uint64
	Peak              *uint64 // most that was resident
	Processors        int     // that it may run on, those that are not online included; 0 when not known
}

// ParseStatus reads a status file.
func ParseStatus(b []byte) (Status, error) {
	var s Status
	err := host.Amounts(b, func(key []byte) **uint64 {
		switch string(key) {
		case "RssAnon":
			return &s.Anon
		case "RssFile":
			return &s.File
		case "RssShmem":
			return &s.Shmem
		case "VmSwap":
			return &s.Swap
		case "VmHWM":
			return &s.Peak
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if mask, ok := host.StatusField(b, "Cpus_allowed"); ok {
		if s.Processors, ok = ones(mask); !ok {
			return s, fmt.Errorf("the mask of Cpus_allowed, %.40q, is not a mask", mask)
		}
	}
	return s, nil
}

// ones counts the bits of a mask as the kernel prints it: "ff,ffffffff".
func ones(mask string) (n int, ok bool) {
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

// ReadCgroups reads such a file.
func ReadCgroups(path string) (Cgroups, error) {
	b, err := host.Read(path, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the cgroups of a process: %w", err)
	}
	c, err := ParseCgroups(b)
	return c, host.In(path, err)
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
