package procfile

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// CPUStat is /proc/stat (proc_stat(5)). Times are in clock ticks, summed over
// all processors since boot.
type CPUStat struct {
	// Times are user, nice, system, idle, iowait, irq, softirq, steal, guest
	// and guest_nice. Guest time is part of user time.
	Times  [10]uint64
	Fields int // how many of Times the kernel has
	CPUs   int // online
	Each   []CPU
	// Running and Blocked are runnable threads and threads that wait for
	// I/O; nil when the kernel lacks the line.
	Running, Blocked *uint64
}

// CPU is the idle time of one processor that is online.
type CPU struct {
	Number       uint64
	Idle, IOWait uint64 // clock ticks since boot
}

// Places in CPUStat.Times.
const (
	CPUUser = iota
	CPUNice
	CPUSystem
	CPUIdle
	CPUIOWait
	CPUIRQ
	CPUSoftIRQ
	CPUSteal
)

// ParseCPUStat parses /proc/stat. The processors are in the memory of into.
func ParseCPUStat(b []byte, into []CPU) (CPUStat, error) {
	s := CPUStat{Each: into[:0]}
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		switch {
		case string(key) == "cpu":
			for s.Fields = 0; s.Fields < len(s.Times); s.Fields++ {
				var f []byte
				if f, rest = host.Field(rest); len(f) == 0 {
					break
				}
				v, ok := host.Uint(f)
				if !ok {
					return s, &host.LineError{Line: n, What: fmt.Sprintf("time %.40q is not a number", f)}
				}
				s.Times[s.Fields] = v
			}
		case bytes.HasPrefix(key, []byte("cpu")):
			s.CPUs++
			if c, ok := parseCPU(key, rest); ok {
				s.Each = append(s.Each, c)
			}
		case string(key) == "procs_running" || string(key) == "procs_blocked":
			f, _ := host.Field(rest)
			v, ok := host.Uint(f)
			if !ok {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
			}
			if string(key) == "procs_running" {
				s.Running = &v
			} else {
				s.Blocked = &v
			}
		}
	}
	if s.Fields <= CPUIdle {
		return s, &host.LineError{Line: 1, What: "the line of all processors is missing or short"}
	}
	return s, nil
}

// parseCPU reads the line of one processor, if it has the fields.
func parseCPU(key, rest []byte) (c CPU, ok bool) {
	if c.Number, ok = host.Uint(key[len("cpu"):]); !ok {
		return c, false
	}
	for i := range CPUIOWait + 1 {
		var f []byte
		f, rest = host.Field(rest)
		v, ok := host.Uint(f)
		if !ok {
			return c, false
		}
		switch i {
		case CPUIdle:
			c.Idle = v
		case CPUIOWait:
			c.IOWait = v
		}
	}
	return c, true
}
